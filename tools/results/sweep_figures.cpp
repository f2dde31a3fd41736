#include "tools/results/sweep_figures.h"

#include <algorithm>
#include <array>
#include <limits>
#include <unordered_map>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"

namespace kvsim::results {
namespace {

constexpr std::array<std::string_view, 6> kNotFigures{"schema_version", "kvsim_version", "scenario",
                                                      "seed",           "engine.wall_s", "engine.events_per_s"};
constexpr std::string_view kHalfWidth = "half_width_95";

void walk(const Json& node, const std::string& path, const std::function<void(const std::string&, const Json&)>& use) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) walk(value, path.empty() ? key : path + "." + key, use);
  } else if (node.is_number() || node.is_null()) {
    if (std::find(kNotFigures.begin(), kNotFigures.end(), path) == kNotFigures.end()) use(path, node);
  }
}

bool ends_with_any(std::string_view text, std::initializer_list<std::string_view> ends) {
  return std::any_of(ends.begin(), ends.end(), [text](std::string_view end) { return text.ends_with(end); });
}

}  // namespace

std::string encoded_figures(scenario::Scenario scenario, planner::ExperimentResult result) {
  return figures_document({std::move(scenario), std::move(result), ""}).dump();
}

void for_each_figure(const Json& figures, const std::function<void(const std::string&, const Json&)>& use) {
  for (const auto& [key, value] : figures.items()) {
    if (key != "confidence") walk(value, key, use);
  }
  for (const auto& [metric, interval] : figures.at("confidence").items()) {
    use(fmt::format("{}.{}", metric, kHalfWidth), interval.at(std::string(kHalfWidth)));
  }
}

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for_each_figure(figures_document({}), [&names](const std::string& name, const Json&) { names.push_back(name); });
  return names;
}

void check_metric(const std::string& metric) {
  constexpr std::array<std::string_view, 10> kOfTheScenario{"links.", "tiers.",     "pools.", "paths.",   "prefix.",
                                                            "fetch.", "placement.", "reuse.", "answers.", "drafter."};
  if (std::any_of(kOfTheScenario.begin(), kOfTheScenario.end(),
                  [&](std::string_view object) { return metric.starts_with(object); })) {
    return;
  }
  const std::vector<std::string> names = metric_names();
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
  // "tokens_per_s" and "p99" are what people write for the whole path.
  std::string near = schema::nearest(metric, names);
  for (const std::string& name : names) {
    if (near.empty() && name.ends_with("." + metric)) near = name;
  }
  throw schema::InputError(fmt::format("--metric: no result has a figure \"{}\"; {}", metric,
                                       near.empty() ? "expected a path such as latency_s.ttft.p99 or slo.attainment"
                                                    : fmt::format("did you mean \"{}\"?", near)));
}

bool less_is_better(std::string_view metric) {
  return metric.starts_with("latency_s.") || metric.starts_with("reuse.mean_s.") ||
         ends_with_any(metric, {"_bytes",
                                "bytes_peak",
                                "wait_s",
                                "mean_s",
                                "p99_s",
                                ".idle",
                                ".refused",
                                ".running",
                                ".late_reloads",
                                "_nats",
                                ".misses",
                                ".evictions",
                                ".computed_tokens",
                                ".unstored",
                                ".drops",
                                ".apart_tokens",
                                ".recomputed_tokens",
                                ".recomputed_share",
                                ".selections_longer",
                                "unused_bytes",
                                ".two_token_cost",
                                ".verified_tokens",
                                ".whole_loads",
                                ".time_to_first_draft_s",
                                "drafter.gpu_s",
                                ".gpu_time_share",
                                kHalfWidth});
}

FigureTable::FigureTable(const Sweep& sweep) {
  std::unordered_map<std::string, std::size_t> columns;
  for (const planner::sweep::PointResult& point : sweep.points) {
    std::vector<double>& row = rows_.emplace_back(names_.size(), kNone);
    if (!point.simulated()) continue;
    for_each_figure(Json::parse(point.result), [&](const std::string& name, const Json& value) {
      const auto [known, added] = columns.emplace(name, names_.size());
      if (added) {
        names_.push_back(name);
        row.push_back(kNone);
      }
      if (value.is_number()) row[known->second] = value.get<double>();
    });
  }
}

std::optional<std::size_t> FigureTable::column(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

double FigureTable::at(std::size_t row, std::string_view name) const {
  const auto at = column(name);
  return at && *at < rows_[row].size() ? rows_[row][*at] : kNone;  // earlier rows are shorter than later ones
}

std::vector<std::size_t> FigureTable::ranked(std::string_view metric) const {
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    const double value = at(row, metric);
    if (value == value) order.emplace_back(less_is_better(metric) ? value : -value, row);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::size_t> rows;
  for (const auto& [value, row] : order) rows.push_back(row);
  return rows;
}

}  // namespace kvsim::results
