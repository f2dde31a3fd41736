#include "tools/results/metrics.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::results {
namespace {

constexpr std::string_view kInterval = ".half_width_95";
constexpr std::string_view kOfIntervals = "confidence.";

/// Where the figure of a path stands in the document: intervals stand apart from what they are of.
std::string in_document(std::string_view path) {
  const bool interval = path.ends_with(kInterval) && !path.starts_with(kOfIntervals);
  return interval ? fmt::format("{}{}", kOfIntervals, path) : std::string(path);
}

/// The other way round: what sweeps call it.
std::string in_sweeps(std::string_view path) {
  const bool interval = path.ends_with(kInterval) && path.starts_with(kOfIntervals);
  return std::string(interval ? path.substr(kOfIntervals.size()) : path);
}

bool matches(const Metric& row, std::string_view path) {
  const std::string_view key = row.key;
  const std::size_t star = key.find('*');
  if (star == std::string_view::npos) return path == key;
  return path.size() > key.size() - 1 && path.starts_with(key.substr(0, star)) && path.ends_with(key.substr(star + 1));
}

/// Name that the * of the row's key stands for in this path.
std::string_view name_in(const Metric& row, std::string_view path) {
  const std::size_t star = row.key.find('*');
  return path.substr(star, path.size() - (row.key.size() - 1));
}

Keys keys_of(const Metric& row) {
  if (row.key.starts_with("timeline.")) return Keys::timeline;
  return row.key.starts_with("details.") ? Keys::details : Keys::figures;
}

std::string_view before_star(std::string_view key) {
  return key.substr(0, key.find('*'));
}

/// The object or value at `key`, whose steps are parted by dots; * is one step, whatever its name.
Json& place(Json& document, std::string_view key, const std::string& name) {
  Json* at = &document;
  while (!key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    const std::string step(key.substr(0, dot));
    at = &(*at)[step == "*" ? name : step];
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return *at;
}

void add_figure(Json& document, Json& reasons, const Metric& row, const View& view) {
  if (!row.exists(view.outcome.scenario) || (row.only_timed && !view.timing)) return;
  Figure figure = row.figure(view);
  if (figure.value.is_null()) reasons[row.path(view.name)] = std::move(figure.reason);
  place(document, row.key, view.name) = std::move(figure.value);
}

/// Figures that wall clocks do not change and that points of sweeps keep.
bool ranks(const Metric& row) {
  return row.unit.print != nullptr && row.each.empty() && row.better != Better::neither &&
         keys_of(row) == Keys::figures && !row.key.starts_with("engine.");
}

/// The paths that results of the scenario may have.
std::vector<std::string> paths_in(const scenario::Scenario& scenario) {
  std::vector<std::string> paths;
  for (const Metric& row : all_metrics()) {
    if (!ranks(row) || !row.exists(scenario)) continue;
    if (row.names == nullptr) {
      paths.push_back(row.key);
    } else {
      for (const std::string& name : row.names->possible(scenario)) paths.push_back(in_sweeps(row.path(name)));
    }
  }
  return paths;
}

/// The nearest names, else those that end with `path`, or have it in them: "tokens_per_s" and "p99" are what
/// people write for the whole path.
std::string suggestion(const std::string& path, const std::vector<std::string>& names) {
  std::vector<std::string> near = schema::nearest(path, names);
  const auto add = [&](const auto& is_near) {
    if (!near.empty() || path.empty()) return;
    std::copy_if(names.begin(), names.end(), std::back_inserter(near), is_near);
  };
  add([&](const std::string& name) { return name.ends_with("." + path); });
  add([&](const std::string& name) { return name.find(path) != std::string::npos; });
  if (near.empty()) return "expected a path such as latency_s.ttft.p99 or slo.attainment";
  return schema::did_you_mean(near);
}

/// The keys with the name that `path` has in place of the *: "links.*.bytes" as "links.host_to_gpu.bytes".
std::vector<std::string> named_like(const std::string& path, std::vector<std::string> keys) {
  for (std::string& key : keys) {
    const std::size_t star = key.find('*');
    if (star == std::string::npos || star == 0 || !path.starts_with(key.substr(0, star))) continue;
    key.replace(star, 1, path.substr(star, path.find('.', star) - star));
  }
  return keys;
}

/// Keys of all figures that rank, * and all.
std::vector<std::string> ranking_keys() {
  std::vector<std::string> keys;
  for (const Metric& row : all_metrics()) {
    if (ranks(row)) keys.push_back(in_sweeps(row.key));
  }
  return keys;
}

}  // namespace

const Metrics& all_metrics() {
  static const Metrics all = [] {
    Metrics rows;
    for (const auto subject : {request_metrics, traffic_metrics, speculation_metrics, drafter_metrics, machine_metrics,
                               pools_metrics, fetch_metrics, placement_metrics, reuse_metrics, run_metrics,
                               timeline_metrics, detail_metrics, stated_error_metrics}) {
      append(rows, subject());
    }
    return rows;
  }();
  return all;
}

const Metric* find_metric(std::string_view path) {
  const std::string whole_path = in_document(path);
  for (const Metric& row : all_metrics()) {
    if (matches(row, whole_path)) return &row;
  }
  return nullptr;
}

void add_figures(Json& document, Json& reasons, const View& view, Keys keys) {
  const Metrics& all = all_metrics();
  for (auto row = all.begin(); row != all.end();) {
    if (row->names == nullptr || keys_of(*row) != keys) {
      if (keys_of(*row) == keys) add_figure(document, reasons, *row, view);
      ++row;
      continue;
    }
    // All figures of one name, then those of the next.
    const std::string_view object = before_star(row->key);
    const auto end = std::find_if(row, all.end(), [&](const Metric& m) { return before_star(m.key) != object; });
    if (row->exists(view.outcome.scenario)) {
      Json& all_names = place(document, object, "");
      if (all_names.is_null()) all_names = Json::object();
      for (std::string& name : row->names->of(view.outcome)) {
        const View one{view.outcome, view.timing, std::move(name), view.baseline, view.prices};
        for (auto each = row; each != end; ++each) add_figure(document, reasons, *each, one);
      }
    }
    row = end;
  }
}

double Figures::at(std::string_view key, std::string name) const {
  View view = view_;
  view.name = std::move(name);
  const Figure figure = find_metric(key)->figure(view);
  return figure.value.is_number() ? figure.value.get<double>() : kNone;
}

std::string Figures::text(std::string_view key, std::string name) const {
  return find_metric(key)->unit.print(at(key, std::move(name)));
}

std::string printed_figure(std::string_view path, double value) {
  const Metric* row = find_metric(path);
  return row == nullptr || row->unit.print == nullptr ? figure(value) : row->unit.print(value);
}

std::string checked_metric(const std::string& path) {
  const Metric* row = find_metric(path);
  if (row == nullptr || row->unit.print == nullptr) {
    throw schema::InputError(fmt::format("--metric: no point of a sweep has a figure \"{}\"; {}", path,
                                         suggestion(path, named_like(path, ranking_keys()))));
  }
  if (keys_of(*row) != Keys::figures) {
    throw schema::InputError(
        fmt::format("--metric: points of a sweep do not keep \"{}\", which results of kvsim run and "
                    "compare have; expected a figure outside details and timeline",
                    path));
  }
  if (ranks(*row)) return in_sweeps(path);
  throw schema::InputError(fmt::format(
      "--metric: \"{}\" cannot rank points: {}", path,
      row->better == Better::neither
          ? fmt::format("neither more nor less of it is better ({}); kvsim list metrics tells which have a direction",
                        row->sentence)
          : "it is a figure of the wall clock, which differs between equal runs"));
}

bool may_have(const scenario::Scenario& scenario, const std::string& path) {
  const Metric& row = *find_metric(path);
  if (!row.exists(scenario)) return false;
  if (row.names == nullptr) return true;
  const std::vector<std::string> names = row.names->possible(scenario);
  return std::find(names.begin(), names.end(), name_in(row, in_document(path))) != names.end();
}

void refuse_metric_of_others(const scenario::Scenario& scenario, const std::string& path) {
  const Metric& row = *find_metric(path);
  if (!row.exists(scenario)) {
    throw schema::InputError(
        fmt::format("--metric: no point has a figure \"{}\": it is there {}", path, row.when->words));
  }
  throw schema::InputError(fmt::format("--metric: no point has a figure \"{}\", its {} is one of {}; {}", path,
                                       row.names->words, fmt::join(row.names->possible(scenario), ", "),
                                       suggestion(path, paths_in(scenario))));
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names = ranking_keys();
  std::erase_if(names, [](const std::string& name) { return name.find('*') != std::string::npos; });
  return names;
}

KeyList keys_of(const Metrics& rows) {
  KeyList keys;
  for (const Metric& row : rows) {
    std::string there = row.when == nullptr ? "" : std::string(row.when->words);
    if (row.only_timed) there = "with --timing";
    if (row.names != nullptr)
      there = fmt::format("for each {}{}{}", row.names->words, there.empty() ? "" : ", ", there);
    const bool sometimes = row.when != nullptr || row.only_timed || keys_of(row) == Keys::timeline;
    keys.push_back(
        {row.key + std::string(row.each), {row.unit, row.better, row.sentence}, sometimes, std::move(there)});
  }
  return keys;
}

KeyList run_keys() {
  KeyList keys = keys_of(all_metrics());
  keys.push_back(
      {"details.interrupted", {kText, "which replications the result is of"}, true, "where the run was interrupted"});
  keys.push_back({"details.definitions.*", {kText, "what a word or key of the result means"}});
  keys.push_back({"details.reasons.*", {kText, "why the figure of that path is null"}});
  return keys;
}

bool less_is_better(std::string_view path) {
  const Metric* row = find_metric(path);
  return row != nullptr && row->better == Better::less;
}

}  // namespace kvsim::results
