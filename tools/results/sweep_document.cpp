#include "tools/results/sweep.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "models/schema/yaml.h"
#include "tools/results/fields.h"
#include "tools/results/figure_rows.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::sweep::Axis;
using planner::sweep::Design;
using planner::sweep::PointResult;

std::string last_step(const std::string& path) {
  return path.substr(path.rfind('.') + 1);
}

/// A YAML value as JSON: numbers and truth values as such, quantities as text.
Json typed(const std::string& value) {
  return schema::to_json(schema::read_yaml(value, "value"));
}

/// The values of all axes, converted once.
std::vector<std::vector<Json>> typed_values(const Design& design) {
  std::vector<std::vector<Json>> all;
  for (const Axis& axis : design.axes()) {
    std::vector<Json>& values = all.emplace_back();
    for (const std::string& value : axis.values) values.push_back(typed(value));
  }
  return all;
}

Json set_of(const Design& design, const std::vector<std::vector<Json>>& values, std::size_t point) {
  Json set = Json::object();
  const std::vector<std::uint32_t> numbers = design.at(point);
  for (std::size_t a = 0; a < numbers.size(); ++a) set[design.axes()[a].path] = values[a][numbers[a]];
  return set;
}

}  // namespace

std::string encoded_figures(scenario::Scenario scenario, planner::ExperimentResult result) {
  return figures_document({std::move(scenario), std::move(result), ""}).dump();
}

std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes) {
  std::map<std::string, int> times;
  for (const planner::sweep::Axis& axis : axes) ++times[last_step(axis.path)];
  std::vector<std::string> result;
  for (const planner::sweep::Axis& axis : axes) {
    const std::string step = last_step(axis.path);
    result.push_back(times[step] == 1 ? step : axis.path);
  }
  return result;
}

namespace {

std::string point_line(const PointResult& point, const Json& set) {
  std::string line = fmt::format(R"({{"index":{},"set":{},"status":"{}",)", point.point, set.dump(),
                                 point.simulated() ? "done" : "infeasible");
  line += point.simulated() ? fmt::format(R"("result":{}}})", point.result)
                            : fmt::format(R"("reason":{}}})", Json(point.reason).dump());
  return line;
}

/// The point that its metric ranks first.
struct BestPoint {
  const Sweep* sweep;
  const Ranking* ranking;
  std::size_t point;
  double value;
  Json set;
};

const Fields<BestPoint>& best_fields() {
  static const Fields<BestPoint> fields{
      {"metric", {kText, "the figure that ranks"}, [](const BestPoint& b) { return b.sweep->metric; }},
      {"order",
       {kText, "whether the lowest or the highest of it is the best"},
       [](const BestPoint& b) { return less_is_better(b.sweep->metric) ? "lowest" : "highest"; }},
      {"objectives_first",
       {kTruth, "whether points that miss their objectives rank behind those that meet them, whatever the figure"},
       [](const BestPoint& b) { return b.sweep->objectives_first; }},
      {"steady_first",
       {kTruth,
        "whether points in no steady state (requests.unsteady_state) rank behind those in one, and meet no objectives: "
        "where requests arrive on their own, unless a metric was asked for"},
       [](const BestPoint& b) { return b.sweep->steady_first; }},
      {"quality_first",
       {kTruth,
        "whether points whose output is that of full-KV decoding, or nearly, are chosen before faster ones that lose "
        "more: unless a metric was asked for; where slo.quality_floor is set, it alone counts"},
       [](const BestPoint& b) { return b.sweep->quality_first; }},
      {"meeting_objectives?",
       {kCount,
        "points that 99 % of requests meet their objectives at, where those rank first; a mean task score below "
        "slo.quality_floor, or one that is not known, meets none"},
       [](const BestPoint& b) { return b.ranking->meeting; }},
      {"index", {kCount, "number of the best point"}, &BestPoint::point},
      Field<BestPoint>::values(
          "even[]",
          {kCount,
           "numbers of the points that are even with it: the 95 % intervals do not tell them apart, or "
           "they print alike; the cheapest of them is the best, of these the simplest"},
          [](const BestPoint& b) {
            Json even = Json::array();
            for (const std::size_t row : b.ranking->best.even) even.push_back(b.sweep->points[row].point);
            return even;
          }),
      {"lossless_index?",
       {kCount,
        "number of the first point whose output is that of full-KV decoding, where that of the best is not; "
        "whether or not it meets the objectives"},
       [](const BestPoint& b) {
         return b.ranking->lossless ? std::optional(b.sweep->points[*b.ranking->lossless].point) : std::nullopt;
       }},
      {"any_quality_index?",
       {kCount, "number of the point that would be the best whatever the quality of its output, where that is another"},
       [](const BestPoint& b) {
         const auto& others = b.ranking->others;
         return others.empty() ? std::nullopt : std::optional(b.sweep->points[others.back().second].point);
       }},
      Field<BestPoint>::values("set.*", {kAny, "value of that axis at the best point"}, &BestPoint::set),
      {"value", {kPlain, "the figure of the best point, in the metric's unit"}, &BestPoint::value}};
  return fields;
}

Json best_of(const Sweep& sweep, const std::vector<std::vector<Json>>& values) {
  const FigureTable figures(sweep);
  const Ranking ranking = ranking_of(sweep, figures);
  if (ranking.order.empty()) return nullptr;
  const std::size_t first = ranking.order.front(), point = sweep.points[first].point;
  return object(best_fields(),
                {&sweep, &ranking, point, figures.at(first, sweep.metric), set_of(sweep.plan.design, values, point)});
}

const Fields<Axis> kAxisFields{{"path", {kText, "key of the scenario that varies"}, &Axis::path},
                               Field<Axis>::values("values[]", {kAny, "what it is set to"}, [](const Axis& axis) {
                                 Json all = Json::array();
                                 for (const std::string& value : axis.values) all.push_back(typed(value));
                                 return all;
                               })};

/// In front of the points.
const Fields<Sweep>& head_fields() {
  using S = Sweep;
  using F = Field<S>;
  const auto plan = [](auto member) { return [member](const S& s) { return s.plan.*member; }; };
  using planner::sweep::Plan;
  static const Fields<S> fields{
      {"schema_version",
       {kCount, "grows when a key changes its meaning or goes"},
       [](const S&) { return kSchemaVersion; }},
      {"kvsim_version", {kText, "the version of kvsim that simulated the points"}, plan(&Plan::version)},
      {"scenario", {kText, "name of the scenario"}, plan(&Plan::scenario)},
      {"seed", {kCount, "seed of the first replication"}, plan(&Plan::seed)},
      {"replications", {kCount, "simulations of every point, with seeds of their own"}, plan(&Plan::replications)},
      {"shard?",
       {kText, "which part of the sweep it is, of how many"},
       [](const S& s) {
         return s.plan.shard.whole() ? std::nullopt : std::optional(planner::sweep::to_string(s.plan.shard));
       }},
      {"design",
       {kText, "how the points were chosen"},
       [](const S& s) { return planner::sweep::design_name(s.plan.design.kind()); }},
      F::list(
          "axes", "what varies", [](const S& s) { return s.plan.design.axes(); }, kAxisFields),
      {"resolved_scenario", {kText, "the scenario before anything varies, YAML"}, plan(&Plan::resolved)},
      F::values("assumptions[]", {kText, "what points assume"}, [](const S& s) { return Json(assumptions_of(s)); }),
      F::values("fallbacks[]", {kText, "what points took for want of something better"},
                [](const S& s) { return Json(fallbacks_of(s)); }),
      F::values("how_sure[]", {kText, "how wrong the figures of points may be"},
                [](const S& s) { return Json(how_sure_of(s)); }),
      F::values("remarks?[]", {kText, "keys of the scenario that no point reads"},
                [](const S& s) { return s.plan.remarks.empty() ? Json(nullptr) : Json(s.plan.remarks); })};
  return fields;
}

}  // namespace

KeyList sweep_keys() {
  KeyList keys = keys_of(head_fields());
  const KeyList points{
      {"points", {kObject, "the points, a line each"}},
      {"points[].index", {kCount, "number of the point in the whole sweep"}},
      {"points[].set.*", {kAny, "value of that axis"}},
      {"points[].status", {kText, "done, or infeasible: it cannot be simulated"}},
      {"points[].reason", {kText, "why the point cannot be simulated"}, true},
      {"points[].result", {kObject, "its figures, as of kvsim run without timeline and details"}, true},
      {"best", {kObject, "the best point; null: none has the metric"}}};
  keys.insert(keys.end(), points.begin(), points.end());
  for (Key& key : below("best", keys_of(best_fields()))) keys.push_back(std::move(key));
  return keys;
}

std::string sweep_json(const Sweep& sweep) {
  const planner::sweep::Plan& plan = sweep.plan;
  const std::vector<std::vector<Json>> values = typed_values(plan.design);
  const Json head = object(head_fields(), sweep);
  std::string out = "{\n";
  for (const auto& [key, value] : head.items()) out += fmt::format("  \"{}\": {},\n", key, value.dump());
  out += "  \"points\": [";
  std::string_view before = "\n    ";
  for (const PointResult& point : sweep.points) {
    out.append(before).append(point_line(point, set_of(plan.design, values, point.point)));
    before = ",\n    ";
  }
  return out + fmt::format("\n  ],\n  \"best\": {}\n}}\n", best_of(sweep, values).dump());
}

namespace {

/// An axis as a column of numbers: values that are quantities of one dimension go into its unit, which the heading
/// says; others stand as they were given.
struct AxisColumn {
  std::string heading;
  std::vector<std::string> values;
};

AxisColumn in_unit(const Axis& axis, schema::Dimension dimension) {
  AxisColumn column;
  for (const std::string& text : axis.values) {
    const std::string canonical = schema::is_integral(dimension)
                                      ? schema::canonical_integral(dimension, schema::parse_integral(dimension, text))
                                      : schema::canonical_real(dimension, schema::parse_real(dimension, text));
    const std::size_t end = std::min(canonical.find_first_not_of("0123456789.+-e"), canonical.size());
    const std::size_t unit = canonical.find_first_not_of(' ', end);
    column.values.push_back(canonical.substr(0, end));
    if (column.heading.empty() && unit != std::string::npos) {
      const bool reciprocal = canonical[unit] == '/';
      column.heading = fmt::format("{} ({}{})", axis.path, reciprocal ? "1" : "", canonical.substr(unit));
    }
  }
  return column;
}

AxisColumn column_of(const Axis& axis) {
  using enum schema::Dimension;
  for (const schema::Dimension dimension :
       {bytes, bandwidth, time, tokens, compute, rate, price, storage_price, power}) {
    try {
      return in_unit(axis, dimension);
    } catch (const schema::UnitError&) {
      // Not of this dimension.
    }
  }
  return {axis.path, axis.values};
}

}  // namespace

std::string sweep_csv(const Sweep& sweep) {
  const Design& design = sweep.plan.design;
  std::vector<AxisColumn> axes;
  for (const Axis& axis : design.axes()) axes.push_back(column_of(axis));
  FigureRows rows;
  rows.heading = {"index"};
  for (const AxisColumn& axis : axes) rows.heading.push_back(axis.heading);
  rows.heading.insert(rows.heading.end(), {"status", "reason"});
  for (const PointResult& point : sweep.points) {
    std::vector<std::string> cells{std::to_string(point.point)};
    const std::vector<std::uint32_t> numbers = design.at(point.point);
    for (std::size_t a = 0; a < numbers.size(); ++a) cells.push_back(axes[a].values[numbers[a]]);
    cells.emplace_back(point.simulated() ? "done" : "infeasible");
    cells.push_back(point.simulated() ? "" : point.reason);
    rows.add(std::move(cells), point.simulated() ? Json::parse(point.result) : Json());
  }
  return rows.csv();
}

}  // namespace kvsim::results
