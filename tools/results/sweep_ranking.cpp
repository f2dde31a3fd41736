// The figures of a sweep side by side, and which point is the best.
#include <algorithm>
#include <cmath>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/yaml.h"
#include "tools/results/figure_rows.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/sweep.h"

namespace kvsim::results {
namespace {

using planner::sweep::Axis;

}  // namespace

FigureTable::FigureTable(const Sweep& sweep) {
  std::unordered_map<std::string, std::size_t> columns;
  for (const planner::sweep::PointResult& point : sweep.points) {
    std::vector<double>& row = rows_.emplace_back(names_.size(), kNone);
    std::string& unsteady = unsteady_.emplace_back();
    candidates_.emplace_back();
    if (!point.simulated()) continue;
    const Json result = Json::parse(point.result);
    const Json::json_pointer why("/requests/unsteady_state");
    if (result.contains(why) && result.at(why).is_string()) unsteady = result.at(why).get<std::string>();
    candidates_.back() = candidate_of(result, {sweep.steady_first, sweep.objectives_first});
    for_each_figure(result, [&](const std::string& name, const Json& value) {
      const auto [known, added] = columns.emplace(name, names_.size());
      if (added) {
        names_.push_back(name);
        row.push_back(kNone);
      }
      if (value.is_number()) row[known->second] = value.get<double>();
    });
  }
  std::vector<Json> policies;
  for (std::size_t row = 0; row < candidates_.size(); ++row) {
    measure(candidates_[row], sweep.metric, [&](std::string_view name) { return at(row, name); });
    Json& set = policies.emplace_back(Json::object());
    const std::vector<Axis>& axes = sweep.plan.design.axes();
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (is_policy(axes[a].path)) set[axes[a].path] = axes[a].values[sweep.plan.design.at(sweep.points[row].point)[a]];
    }
  }
  mark_baselines(candidates_, policies);
}

void refuse_metric_of_no_point(const Sweep& sweep) {
  const std::vector<std::string> names = FigureTable(sweep).names();
  if (names.empty() || std::find(names.begin(), names.end(), sweep.metric) != names.end()) return;
  throw schema::InputError(
      fmt::format("--metric: no point has a figure \"{}\"{}", sweep.metric, schema::suggest(sweep.metric, names)));
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

Sweep ranked_as_asked(planner::sweep::Plan plan, std::vector<planner::sweep::PointResult> points) {
  const schema::ConfigNode scenario = schema::read_yaml(plan.resolved, "");
  const bool closed = scenario.find_path("workload.closed") != nullptr;
  const schema::ConfigNode* objectives = scenario.find_path("slo");
  const schema::ConfigNode* classes = scenario.find_path("workload.classes");
  const std::vector<Axis>& axes = plan.design.axes();
  const auto any = [](const schema::ConfigNode* slo) {
    return slo != nullptr && slo->is_map() && !slo->entries().empty();
  };
  const bool of_classes =
      classes != nullptr && classes->is_sequence() &&
      std::any_of(classes->items().begin(), classes->items().end(),
                  [&any](const schema::ConfigNode& one) { return one.is_map() && any(one.find_path("slo")); });
  const bool asked = any(objectives) || of_classes ||
                     std::any_of(axes.begin(), axes.end(), [](const auto& axis) { return is_objective(axis.path); });
  return {std::move(plan), std::move(points), std::string(closed ? kThroughput : kMeanTtft), asked, !closed, true};
}

bool is_objective(std::string_view path) {
  return path == "slo" || path.starts_with("slo.") || path.find(".slo") != std::string_view::npos;
}

bool is_machine_property(std::string_view path) {
  if (!path.starts_with("cluster.")) return false;
  if (path.find(".gpu.type.") != std::string_view::npos || path.ends_with(".read") || path.ends_with(".write"))
    return true;
  while (!path.empty()) {
    const std::string_view key = path.substr(0, path.find('.'));
    if (key.ends_with("link") || key.ends_with("links") || key == "profile") return true;
    path.remove_prefix(std::min(key.size() + 1, path.size()));
  }
  return false;
}

bool is_given(std::string_view path, bool loads) {
  const bool load =
      path.ends_with("arrivals.rate") || path.ends_with("closed.concurrency") || path.ends_with("trace.speed_up");
  return is_objective(path) || is_machine_property(path) || (loads && load);
}

std::string at_value(std::string_view path, std::string_view value) {
  return fmt::format("{} = {}", path.substr(path.rfind('.') + 1), value);
}

std::string given_words(const std::vector<std::string>& paths) {
  const bool one = paths.size() == 1;
  const auto all = [&paths](bool (*is)(std::string_view)) { return std::all_of(paths.begin(), paths.end(), is); };
  const char* what = "what is given, and no choice";
  if (all([](std::string_view path) { return !is_objective(path) && !is_machine_property(path); })) {
    what = "the traffic, of which less is always easier";
  } else if (all(is_objective)) {
    what = "what is asked for, and no choice";
  } else if (all(is_machine_property)) {
    what = one ? "a property of the machine, and no choice" : "properties of the machine, and no choice";
  }
  return fmt::format("{} {} {}", fmt::join(paths, ", "), one ? "is" : "are", what);
}

bool Ranking::marked(std::size_t row) const {
  if (order.empty() || all_even() || none_steady || !given.empty()) return false;
  if (row == best.chosen) return true;
  const bool all = best.even.size() + 1 == order.size();
  return !all && std::find(best.even.begin(), best.even.end(), row) != best.even.end();
}

namespace {

/// The best row at each combination of values of the given axes; nothing where no other axis varies.
std::vector<std::pair<std::string, Ranking::GivenBest>> best_at_given(const Sweep& sweep,
                                                                      const std::vector<Candidate>& all,
                                                                      const Ranking& ranking, const Order& by) {
  const std::vector<Axis>& axes = sweep.plan.design.axes();
  std::vector<std::pair<std::string, std::vector<std::size_t>>> groups;
  for (std::size_t row = 0; row < all.size(); ++row) {
    if (!std::isfinite(all[row].value)) continue;
    const std::vector<std::uint32_t> numbers = sweep.plan.design.at(sweep.points[row].point);
    std::string at;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const bool given = std::find(ranking.given.begin(), ranking.given.end(), axes[a].path) != ranking.given.end();
      if (given) at += (at.empty() ? "" : ", ") + at_value(axes[a].path, axes[a].values[numbers[a]]);
    }
    auto own = std::find_if(groups.begin(), groups.end(), [&at](const auto& group) { return group.first == at; });
    if (own == groups.end()) own = groups.insert(own, {at, {}});
    own->second.push_back(row);
  }
  std::vector<std::pair<std::string, Ranking::GivenBest>> best;
  bool choices = false;
  for (const auto& [at, rows] : groups) {
    std::vector<Candidate> candidates;
    for (const std::size_t row : rows) candidates.push_back(all[row]);
    choices = choices || rows.size() > 1;
    const auto choice = choose(candidates, by);
    if (!choice) continue;
    Ranking::GivenBest given{choice->best, passed_over_words(candidates, by, *choice, sweep.objectives_first)};
    Best& own = best.emplace_back(at, std::move(given)).second;
    own.chosen = rows[own.chosen];
    for (std::size_t& row : own.even) row = rows[row];
  }
  if (!choices) best.clear();
  return best;
}

}  // namespace

Order point_order(const Sweep& sweep) {
  return {less_is_better(sweep.metric), sweep.quality_first};
}

Ranking ranking_of(const Sweep& sweep, const FigureTable& figures) {
  Ranking ranking;
  const std::vector<Candidate>& all = figures.candidates();
  const Order by = point_order(sweep);
  ranking.order = ranked(all, by);
  const std::optional<Choice> choice = choose(all, by);
  if (!choice) return ranking;
  ranking.best = choice->best;
  const std::size_t first = ranking.best.chosen;
  ranking.finished = passed_over(all, by, *choice).unfinished;
  ranking.none_steady = figures.behind(first).unsteady;
  if (sweep.objectives_first) {
    ranking.meeting = static_cast<std::size_t>(std::count_if(
        ranking.order.begin(), ranking.order.end(), [&](std::size_t row) { return figures.behind(row).nothing(); }));
  }
  for (const Axis& axis : sweep.plan.design.axes()) {
    if (is_given(axis.path, sweep.steady_first) && axis.values.size() > 1) ranking.given.push_back(axis.path);
  }
  if (!ranking.given.empty()) ranking.at_given = best_at_given(sweep, all, ranking, by);
  const auto lossless = [&](std::size_t row) { return figures.quality(row).lossless; };
  if (!std::all_of(ranking.order.begin(), ranking.order.end(), lossless)) {
    ranking.quality = choice->quality;
    ranking.others = other_qualities(all, by);
  }
  const auto kept = std::find_if(ranking.order.begin(), ranking.order.end(), lossless);
  if (kept != ranking.order.begin() && kept != ranking.order.end()) ranking.lossless = *kept;
  return ranking;
}

}  // namespace kvsim::results
