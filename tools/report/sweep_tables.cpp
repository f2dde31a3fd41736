// Points of sweeps as tables.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/sweep_view.h"
#include "tools/results/functional.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// Why points cannot be simulated, the most frequent reasons first.
void add_reasons(Section& s, const SweepView& view) {
  std::map<std::string, std::size_t> times;
  for (const Json& point : at(view.sweep, {"points"})) {
    if (const std::string reason = text(point, {"reason"}); !reason.empty()) ++times[reason];
  }
  std::vector<std::pair<std::size_t, std::string>> reasons;
  for (const auto& [reason, count] : times) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr std::size_t most = 10;
  List list{"Points that cannot be simulated", {}};
  for (std::size_t i = 0; i < std::min(most, reasons.size()); ++i) {
    list.items.push_back(fmt::format("{}: {}", reasons[i].first, reasons[i].second));
  }
  s.add(std::move(list));
}

/// The paths of what objectives limit in some of the points' results.
std::vector<std::string> limited_figures(const std::vector<const Json*>& points) {
  std::set<std::string> keys;
  for (const Json* point : points) {
    const Json& measured = at(*point, {"result", "slo", "measured_s"});
    for (const auto& [key, value] : measured.items()) keys.insert("slo.measured_s." + key);
  }
  return {keys.begin(), keys.end()};
}

/// The points, at most so many: the chosen one first, then by the figure; by the figure alone where an axis is given,
/// so that no point is best.
void add_points(Section& s, const SweepView& view) {
  constexpr std::size_t most = 60;
  const Json& points = at(view.sweep, {"points"});
  const Json& all_axes = at(view.sweep, {"axes"});
  const bool over_given =
      std::any_of(all_axes.begin(), all_axes.end(), [](const Json& axis) { return is_given(text(axis, {"path"})); });
  std::vector<const Json*> ranked;
  std::size_t infeasible = 0, without = 0;
  const std::vector<results::Candidate>& candidates = view.contest.candidates;
  const std::vector<std::size_t> listed =
      over_given ? results::by_figure(candidates, view.contest.order) : results::ranked(candidates, view.contest.order);
  for (const std::size_t i : listed) ranked.push_back(view.points[i]);
  for (const Json& point : points) {
    if (!std::isfinite(view.figure(point))) ++(has(point, {"result"}) ? without : infeasible);
  }
  if (ranked.empty()) return;
  Table t;
  t.title = ranked.size() > most ? fmt::format("The first {} of {} points simulated", most, ranked.size())
                                 : fmt::format("{} simulated", results::counted(ranked.size(), "point"));
  if (view.best != nullptr && ranked.size() > 1) {
    t.title += ", " + results::order_words(candidates, view.contest.order, listed, metric_name(view.metric));
  }
  if (infeasible > 0) t.title += fmt::format("; {} cannot be", infeasible);
  if (without > 0) t.title += fmt::format("; {} came to no {}", without, metric_name(view.metric));
  for (const Json& axis : at(view.sweep, {"axes"})) t.add({text(axis, {"path"}), true});
  t.add({"output tokens/s", true});
  std::vector<results::TimeColumn> times = results::time_columns(limited_figures(ranked));
  for (results::TimeColumn& column : times) {
    std::replace(column.title.begin(), column.title.end(), '\n', ' ');
    t.add({column.title, true});
  }
  const bool objectives = std::any_of(ranked.begin(), ranked.end(), [](const Json* point) {
    return number(*point, {"result", "slo", "attainment"}).has_value();
  });
  if (objectives) t.add({"within SLO", true});
  const bool lossy = std::any_of(ranked.begin(), ranked.end(), [](const Json* point) { return is_lossy(*point); });
  if (lossy) {
    t.add({"quality", true});
    t.add({"functional", true});
  }
  const bool shown = std::find(t.header.begin(), t.header.end(), metric_name(view.metric)) != t.header.end();
  if (!shown) t.add({metric_name(view.metric), true});
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    const Json& result = at(*ranked[i], {"result"});
    std::vector<Cell> row;
    for (const Json& axis : at(view.sweep, {"axes"})) {
      const Json& value = at(*ranked[i], {"set", text(axis, {"path"})});
      row.push_back(value.is_number() ? Cell{scalar_text(value), value.get<double>()} : scalar_text(value));
    }
    row.push_back(cell(figure_at(result, "throughput.output_tokens_per_s"),
                       half_width(result, "throughput.output_tokens_per_s"), results::figure));
    for (const results::TimeColumn& column : times) {
      row.push_back(cell(figure_at(result, column.figure), results::seconds));
    }
    if (objectives) row.push_back(cell(figure_at(result, "slo.attainment"), results::percent));
    if (lossy) {
      const results::OutputQuality quality = results::quality_of(result);
      row.emplace_back(results::fidelity_text(quality.lossless, quality.score, quality.nats));
      row.emplace_back(results::functional_text(quality.lossless, models::least_functional(quality.functional)));
    }
    const double value = view.figure(*ranked[i]);
    if (row.size() < t.align.size()) row.push_back({printed(view.metric, value), value});
    if (i == 0 && view.marked() && !over_given) {
      for (Cell& c : row) c.strong = true;
    }
    t.rows.push_back(std::move(row));
  }
  s.add(std::move(t));
}

}  // namespace

void add_sweep_tables(Section& s, const SweepView& view) {
  add_points(s, view);
  add_reasons(s, view);
}

}  // namespace kvsim::report
