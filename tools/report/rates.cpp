// Latency and attainment against the rate of arrivals: of capacity searches, and of sweeps over the rate.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/report/words.h"
#include "tools/results/capacity.h"
#include "tools/results/numbers.h"
#include "tools/results/sweep.h"

namespace kvsim::report {
namespace {

using planner::capacity::Load;

struct Curve {
  std::string label;
  std::map<double, double> points;  ///< by rate
};

struct RateLook {
  std::string id, title, caption, x_title, y_title;
  std::string (*print)(double) = results::seconds;
  plot::ScaleKind y_scale = plot::ScaleKind::logarithmic;
  std::optional<double> y_least{}, y_most{};
  std::vector<plot::Zone> zones{};
  std::vector<plot::Rule> rules{};
};

/// Nothing where no curve has two points.
std::optional<Plot> against_rate(const std::vector<Curve>& curves, RateLook look) {
  Plot p = plot_of(std::move(look.id), std::move(look.title), std::move(look.caption),
                   {{"of"}, {look.x_title, true}, {look.y_title, true}});
  plot::Chart c;
  c.x_title = look.x_title;
  c.y_title = look.y_title;
  c.y_scale = look.y_scale;
  c.y_least = look.y_least;
  c.y_most = look.y_most;
  c.shape = plot::Shape::marked_line;
  c.zones = std::move(look.zones);
  c.rules = std::move(look.rules);
  bool drawn = false;
  for (const Curve& curve : curves) {
    plot::Series series{curve.label, {}};
    for (const auto& [rate, value] : curve.points) {
      if (!std::isfinite(value)) continue;
      p.data.rows.push_back({curve.label, cell(rate, results::figure), cell(value, look.print)});
      series.points.push_back({rate, value});
      series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
    }
    drawn = drawn || series.points.size() > 1;
    if (series.points.empty()) continue;
    p.legend.push_back(curve.label);
    c.series.push_back(std::move(series));
  }
  if (!drawn) return std::nullopt;
  return with_drawing(std::move(p), std::move(c));
}

std::string name_of(const Json& configuration) {
  return fmt::format("{}:{} {}{}", text(configuration, {"machine"}),
                     plain(number_or_nan(configuration, {"tensor_parallel"})), text(configuration, {"policy"}),
                     sizes_of(configuration));
}

enum class Stage { search, confirmation, last };

/// A figure of a probe.
using FigureOf = std::function<double(const Json& probe)>;

/// A time as the titles of plots have it.
std::string full_name(serving::SloMetric metric) {
  switch (metric) {
    case serving::SloMetric::ttft:
      return "Time to first token";
    case serving::SloMetric::tpot:
      return "Time per output token";
    case serving::SloMetric::itl:
      return "Largest gap between tokens of a request (ITL)";
    case serving::SloMetric::e2e:
      break;
  }
  return "Arrival to last token (E2E)";
}

/// "Time to first token, 90th percentile, against the rate".
std::string title_of(const results::LatencyColumn& column) {
  return fmt::format("{}, {}th percentile, against the rate", full_name(column.of.metric),
                     serving::kSloPercentiles.at(column.of.percentile));
}

/// "TTFT p90 in s"
std::string axis_of(const results::LatencyColumn& column) {
  return serving::slo_name(column.of) + " in s";
}

/// "ttft-by-rate" for the first percentile of a metric, "ttft-p99-by-rate" for those after it.
std::string id_of(const std::vector<results::LatencyColumn>& columns, std::size_t i, std::string_view format) {
  const serving::SloMetric metric = columns[i].of.metric;
  std::string name = serving::kSloMetrics.at(static_cast<std::size_t>(metric)).key;
  if (i > 0 && columns[i - 1].of.metric == metric) name += "-" + serving::percentile_name(columns[i].of.percentile);
  return fmt::format(fmt::runtime(format), name);
}

/// Probes of one configuration of that stage; `last`: of both, but between confirmed rates the confirmations alone.
Curve curve_of(const Json& configuration, std::string label, const FigureOf& figure, Stage stage, bool also_given_up) {
  Curve curve{std::move(label), {}};
  std::map<double, bool> confirmed;
  for (const Json& probe : at(configuration, {"probes"})) {
    const double rate = number_or_nan(probe, {"rate"});
    if (!std::isfinite(rate) || (!also_given_up && truth(probe, {"given_up"}))) continue;
    const bool confirmation = text(probe, {"stage"}) == "confirmation";
    if (stage != Stage::last && confirmation != (stage == Stage::confirmation)) continue;
    if (confirmed[rate] && !confirmation) continue;
    confirmed[rate] = confirmation;
    curve.points[rate] = figure(probe);
  }
  if (stage != Stage::last) return curve;
  // Shorter runs between the confirmed rates would only add their chance to the curve.
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const auto& [rate, confirmation] : confirmed) {
    if (!confirmation) continue;
    least = std::min(least, rate);
    most = std::max(most, rate);
  }
  std::erase_if(curve.points, [&](const auto& point) {
    return point.first > least && point.first < most && !confirmed.at(point.first);
  });
  return curve;
}

/// A curve a configuration; of a single one, a curve a stage.
std::vector<Curve> curves_of(const Json& configurations, const FigureOf& figure, bool also_given_up) {
  std::vector<Curve> curves;
  if (configurations.size() == 1) {
    const Json& c = configurations[0];
    curves.push_back(curve_of(c, name_of(c) + ", search", figure, Stage::search, also_given_up));
    curves.push_back(curve_of(c, "confirmation: longer runs, other seeds", figure, Stage::confirmation, also_given_up));
    return curves;
  }
  for (const Json& c : configurations) curves.push_back(curve_of(c, name_of(c), figure, Stage::last, also_given_up));
  return curves;
}

/// "80.00/s" of requests; "60 users".
std::string knee_text(Load load, double rate) {
  return load == Load::requests ? results::figure(rate) + "/s" : results::load_figure(load, rate);
}

void add_capacity(Section& s, const Json& capacity, std::size_t index) {
  const Json& configurations = at(capacity, {"configurations"});
  const Load load = load_of(capacity);
  std::vector<plot::Rule> knees;
  // None: each percentile of the objectives asks for a share of its own.
  const std::optional<double> target = number(capacity, {"attainment_target"});
  std::string knee = "The knee is the highest rate at which the objectives hold";
  constexpr std::size_t most_knees = 3;
  std::string dotted;
  for (const Json& c : configurations) {
    const double rate = number_or_nan(c, {"rate_per_replica"});
    if (!std::isfinite(rate) || configurations.size() > most_knees) continue;
    const std::string at_rate = knee_text(load, rate);
    knees.push_back({rate, true, configurations.size() == 1 ? "knee: " + at_rate : std::string()});
    if (configurations.size() == 1) continue;
    dotted += fmt::format("{}{} at {}", dotted.empty() ? ". Dotted: " : ", ", name_of(c), at_rate);
  }
  knee += dotted;
  const auto draw = [&](RateLook look, const FigureOf& figure, bool also_given_up) {
    const std::vector<Curve> curves = curves_of(configurations, figure, also_given_up);
    look.rules = knees;
    look.x_title = fmt::format("{} on one replica", planner::capacity::words_of(load));
    if (auto plot = against_rate(curves, std::move(look))) s.add(std::move(*plot));
  };
  const auto objective = [&](const results::LatencyColumn& column) {
    std::vector<plot::Zone> zones;
    // A percentile is what is asked for only where its share of the requests is.
    const double share = serving::slo_share(column.of.percentile);
    if (column.limited && (!target || std::fabs(*target - share) < 1e-9)) {
      const char* name = serving::kSloMetrics.at(static_cast<std::size_t>(column.of.metric)).name;
      zones.push_back({column.of.limit_s, true,
                       fmt::format("{} objective missed: above {}", name, results::seconds(column.of.limit_s))});
    }
    return zones;
  };
  // As planner::capacity::probe_rate() judges: a wait is a part of the time to the first token and of all of it.
  bool queue_judged = true;
  for (const auto& [key, limit] : at(capacity, {"slo"}).items()) {
    if (limit.is_number() && (key.starts_with("ttft_") || key.starts_with("e2e_"))) queue_judged = false;
  }
  double floor = target.value_or(1);
  std::vector<plot::Zone> failing;
  if (target) failing.push_back({*target, false, fmt::format("fails: less than {}", results::percent(*target))});
  for (const Json& c : configurations) {
    for (const Json& probe : at(c, {"probes"})) floor = std::min(floor, number(probe, {"lower"}).value_or(1));
  }
  constexpr double below = 0.25;  // of what lies between the least share and all
  draw(
      {.id = numbered("attainment-by-rate", index),
       .title = "Share of requests within all objectives, at least",
       .caption = fmt::format("The lower end of its interval (one-sided, {}), {}.{} {}. Every rate that was probed.",
                              results::percent(number_or_nan(capacity, {"confidence"})),
                              target ? "which is what a rate is judged by: shaded, it fails"
                                     : "of all objectives at once; a rate is judged by each percentile of them",
                              queue_judged ? " No objective has the wait in it, so that a rate fails, too, where more "
                                             "requests come than are served and the queue grows to the end."
                                           : "",
                              knee),
       .x_title = {},
       .y_title = "share within objectives, at least",
       .print = at_least,
       .y_scale = plot::ScaleKind::linear,
       .y_least = std::max(0.0, floor - below * (1 - floor)),
       .y_most = 1.0,
       .zones = failing},
      [](const Json& probe) { return number_or_nan(probe, {"lower"}); }, true);
  const std::vector<results::LatencyColumn> columns = results::latency_columns(searched_objectives(capacity));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const results::LatencyColumn& column = columns[i];
    const std::vector<plot::Zone> zones = objective(column);
    const std::string shaded = fmt::format(" Shaded: missed by more than {} % of the requests.",
                                           100 - serving::kSloPercentiles.at(column.of.percentile));
    draw(
        {.id = numbered(id_of(columns, i, "{}-by-rate"), index),
         .title = title_of(column),
         .caption = fmt::format("{}.{} Probes that were given up are left out.", knee, zones.empty() ? "" : shaded),
         .x_title = {},
         .y_title = axis_of(column),
         .zones = zones},
        [&column](const Json& probe) { return time_of_column(probe, column); }, false);
  }
}

bool is_rate(std::string_view path) {
  return path.ends_with("arrivals.rate") || path.ends_with("trace.speed_up");
}

std::string label_of(const Json& set, std::string_view without) {
  std::string label;
  for (const auto& [path, value] : set.items()) {
    if (path == without) continue;
    label += fmt::format("{}{} = {}", label.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), scalar_text(value));
  }
  return label.empty() ? "all" : label;
}

/// The highest rate up to which everything kept up: a steady state, the floor of quality, and all objectives where the
/// scenario has some, else the completion of what arrives.
std::optional<double> knee_of(const std::map<double, const Json*>& results, bool with_objectives) {
  constexpr double keeps_up = 0.95;
  std::optional<double> knee;
  for (const auto& [rate, result] : results) {
    const bool served = with_objectives || number_or_nan(*result, {"throughput", "requests_per_s"}) >= keeps_up * rate;
    if (!served || !results::shortfall_of(*result, {.steady = true, .objectives = true}).nothing()) break;
    knee = rate;
  }
  return knee;
}

/// The time of a column in a result. ITL is limited of each request's largest gap, which results have of objectives
/// alone.
double swept_time(const Json& result, const results::LatencyColumn& column) {
  const double limited = figure_at(result, "slo.measured_s." + column.key);
  if (std::isfinite(limited) || column.of.metric == serving::SloMetric::itl) return limited;
  const char* metric = serving::kSloMetrics.at(static_cast<std::size_t>(column.of.metric)).key;
  return figure_at(result, fmt::format("latency_s.{}.{}", metric, serving::percentile_name(column.of.percentile)));
}

/// `drawn`: of how many axes there are plots already, for their ids.
void add_sweep(Section& s, const Json& sweep, std::size_t& drawn) {
  const Json& axes = at(sweep, {"axes"});
  for (const Json& axis : axes) {
    const std::string path = text(axis, {"path"});
    const AxisValues rates = axis_values(axis);
    if (!is_rate(path) || rates.values.size() < 2 || axes.size() > 2) continue;
    std::map<std::string, std::map<double, const Json*>> by_label;
    for (const Json& point : at(sweep, {"points"})) {
      const Json& set = at(point, {"set"});
      const AxisValues value = axis_values(Json{{"values", {at(set, {path})}}});
      if (value.values.size() != 1 || !has(point, {"result"})) continue;
      by_label[label_of(set, path)][value.values.front()] = &at(point, {"result"});
    }
    const bool varied = std::any_of(axes.begin(), axes.end(),
                                    [](const Json& one) { return results::is_objective(text(one, {"path"})); });
    const std::vector<results::LatencyColumn> columns =
        results::latency_columns(varied ? std::vector<serving::SloObjective>{} : objectives_of(sweep));
    const bool with_objectives = !objectives_words(sweep).empty();
    std::vector<plot::Rule> knees;
    if (by_label.size() == 1) {
      if (const auto knee = knee_of(by_label.begin()->second, with_objectives)) {
        const bool last = *knee == by_label.begin()->second.rbegin()->first;
        knees.push_back(
            {*knee, true,
             fmt::format("{}{}{}", last ? "no knee up to " : "knee: ", results::figure(*knee), rates.unit)});
      }
    }
    std::string knee =
        with_objectives ? "99 % of the requests meet all objectives" : "at least 95 % of what arrives is completed";
    const Json& points = at(sweep, {"points"});
    for (const results::QualityFloor& floor : results::kQualityFloors) {
      if (std::any_of(points.begin(), points.end(), [&floor](const Json& point) {
            return at(point, {"result", "slo"}).contains(floor.below);
          })) {
        knee += fmt::format(", {} is reached", floor.key);
      }
    }
    const std::string caption =
        (by_label.size() == 1 ? "Knee: the highest rate swept up to which " + knee + ", and no queue grows to the end."
                              : std::string());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const results::LatencyColumn& column = columns[i];
      std::vector<Curve> curves;
      for (const auto& [label, results_at] : by_label) {
        Curve curve{label, {}};
        for (const auto& [rate, result] : results_at) curve.points[rate] = swept_time(*result, column);
        curves.push_back(std::move(curve));
      }
      RateLook look{.id = numbered(id_of(columns, i, "swept-{}"), drawn),
                    .title = title_of(column),
                    .caption = (column.limited ? "Shaded: the objective is missed. " : "") + caption,
                    .x_title = fmt::format("{}{}", path, rates.unit.empty() ? "" : " in " + rates.unit),
                    .y_title = axis_of(column),
                    .rules = knees};
      if (column.limited) {
        look.zones.push_back(
            {column.of.limit_s, true, fmt::format("objective missed: above {}", results::seconds(column.of.limit_s))});
      }
      if (auto plot = against_rate(curves, std::move(look))) s.add(std::move(*plot));
    }
    ++drawn;
  }
}

}  // namespace

Section rates(const Inputs& inputs) {
  Section s{"rates", "Latency against the rate of requests", {}};
  for (std::size_t i = 0; i < inputs.capacities.size(); ++i) add_capacity(s, inputs.capacities[i], i);
  std::size_t drawn = 0;
  for (const Json& sweep : inputs.sweeps) add_sweep(s, sweep, drawn);
  return s;
}

}  // namespace kvsim::report
