#include "tools/results/sweep.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/functional.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::sweep::Axis;
using planner::sweep::Design;
using planner::sweep::DesignKind;
using planner::sweep::PointResult;

constexpr std::size_t kMostRows = 40;  // a table that is still read
constexpr std::size_t kBestRows = 20;  // what is shown of a longer one
constexpr std::size_t kMostReasons = 5;
constexpr std::size_t kMostCaveats = 40;
constexpr std::string_view kHitRate = ".hit_rate";
constexpr const char* kCost = "cost.usd_per_1m_output_tokens";

constexpr std::string_view kLimited = "slo.measured_s.";

}  // namespace

std::vector<TimeColumn> time_columns(const std::vector<std::string>& figures) {
  constexpr std::size_t kMost = 4;  // whose names fit on one line
  std::vector<TimeColumn> all, limited;
  for (const serving::SloMetricEntry& metric : serving::kSloMetrics) {
    std::vector<TimeColumn> own;
    for (const std::string& name : figures) {
      const std::string prefix = fmt::format("{}{}_", kLimited, metric.key);
      if (name.starts_with(prefix))
        own.push_back({fmt::format("{} {}", metric.name, name.substr(prefix.size())), name});
    }
    const auto usual = [&metric](const char* percentile) {
      return TimeColumn{fmt::format("{} {}", metric.name, percentile),
                        fmt::format("latency_s.{}.{}", metric.key, percentile)};
    };
    const bool always = metric.metric == serving::SloMetric::ttft || metric.metric == serving::SloMetric::tpot;
    if (own.empty() && always) own.push_back(usual("p99"));
    limited.insert(limited.end(), own.begin(), own.end());
    if (always && own.front().title != usual("p50").title) all.push_back(usual("p50"));
    all.insert(all.end(), own.begin(), own.end());
  }
  if (all.size() <= kMost) return all;
  for (TimeColumn& column : limited) std::replace(column.title.begin(), column.title.end(), ' ', '\n');
  return limited;
}

namespace {

Binding binding(const FigureTable& figures, std::size_t row) {
  const serving::Bottleneck b = account_of([&](std::string_view figure, std::string_view key) {
    return figures.at(row, fmt::format("gpu.{}{}{}", figure, key.empty() ? "" : ".", key));
  });
  return binding_of(b, figures.at(row, "tokeniser.busy_fraction"), true);
}

/// Hit rates of tiers that points differ in.
std::vector<std::string> hit_rates(const Sweep& sweep, const FigureTable& figures) {
  std::vector<std::string> names;
  for (const std::string& name : figures.names()) {
    const bool shared = name == "prefix.hit_rate" || name.starts_with("tiers.");
    if (!shared || !name.ends_with(kHitRate) || name == sweep.metric) continue;
    const std::vector<std::size_t> rows = figures.ranked(name);
    const bool differ = !rows.empty() && figures.at(rows.front(), name) != figures.at(rows.back(), name);
    if (differ) names.push_back(name);
  }
  return names;
}

/// Whether points pay so differently that tokens/s do not say which is the cheapest: beyond host memory in use.
bool costs_differ(const FigureTable& figures) {
  constexpr const char* kHour = "cost.usd_per_hour";
  constexpr double kApart = 1.01;
  const std::vector<std::size_t> rows = figures.ranked(kHour);
  if (rows.empty()) return false;
  const double one = figures.at(rows.front(), kHour), other = figures.at(rows.back(), kHour);
  return std::max(one, other) > kApart * std::min(one, other);
}

std::string fidelity(const FigureTable& figures, std::size_t row) {
  const OutputQuality& quality = figures.quality(row);
  return fidelity_text(quality.lossless, quality.score, quality.nats);
}

std::string functional(const FigureTable& figures, std::size_t row) {
  const OutputQuality& quality = figures.quality(row);
  return functional_text(quality.lossless, models::least_functional(quality.functional));
}

bool any_lossy(const Sweep& sweep, const FigureTable& figures) {
  for (std::size_t row = 0; row < sweep.points.size(); ++row) {
    if (!figures.quality(row).lossless) return true;
  }
  return false;
}

/// Columns that the table has for some sweeps only.
struct SomeColumns {
  std::vector<TimeColumn> times;
  std::vector<std::string> hits;
  bool objectives = false;
  bool quality = false;
  bool cost = false;

  /// Whether the table shows this figure anyway.
  [[nodiscard]] bool has(std::string_view metric) const {
    return metric == kThroughput || metric == "slo.attainment" ||
           std::any_of(times.begin(), times.end(), [metric](const TimeColumn& c) { return c.figure == metric; });
  }
};

/// "host hits" of tiers.host.hit_rate.
std::string hits_title(const std::string& name) {
  const std::string object = name.substr(0, name.size() - kHitRate.size());
  return object.substr(object.rfind('.') + 1) + " hits";
}

std::vector<Cell> table_row(const Sweep& sweep, const FigureTable& figures, std::size_t row, bool best,
                            const SomeColumns& some) {
  const PointResult& point = sweep.points[row];
  const Design& design = sweep.plan.design;
  std::vector<Cell> cells{best ? "*" : "", std::to_string(point.point)};
  const std::vector<std::uint32_t> numbers = design.at(point.point);
  for (std::size_t a = 0; a < numbers.size(); ++a) cells.push_back(design.axes()[a].values[numbers[a]]);
  if (!point.simulated()) {
    cells.emplace_back("infeasible");
    return cells;
  }
  const std::string throughput(kThroughput);
  cells.push_back(figure(figures.at(row, throughput)));
  cells.push_back(plus_minus(figures.at(row, throughput + ".half_width_95")));
  for (const TimeColumn& times : some.times) cells.push_back(seconds(figures.at(row, times.figure)));
  if (some.objectives) cells.push_back(percent(figures.at(row, "slo.attainment")));
  Binding binds = binding(figures, row);
  cells.emplace_back(std::move(binds.text));
  cells.emplace_back(std::move(binds.twice));
  for (const std::string& name : some.hits) cells.push_back(percent(figures.at(row, name)));
  if (some.quality) {
    cells.emplace_back(fidelity(figures, row));
    cells.emplace_back(functional(figures, row));
  }
  if (some.cost) cells.push_back(dollars(figures.at(row, kCost)));
  if (!some.has(sweep.metric)) cells.push_back(printed_figure(sweep.metric, figures.at(row, sweep.metric)));
  return cells;
}

/// The rows of the table: all of them by number, or of a long sweep the first by rank.
std::vector<std::size_t> shown_rows(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking,
                                    std::string& title) {
  std::vector<std::size_t> rows;
  if (sweep.points.size() <= kMostRows) {
    title = "Points";
    for (std::size_t i = 0; i < sweep.points.size(); ++i) rows.push_back(i);
    return rows;
  }
  const std::vector<Candidate>& all = figures.candidates();
  const Order by = point_order(sweep);
  rows = ranking.given.empty() ? ranking.order : by_figure(all, by);
  const std::string order = order_words(all, by, rows, sweep.metric);
  rows.resize(std::min(rows.size(), kBestRows));
  title = fmt::format("The first {} of {} points, {}", rows.size(), sweep.points.size(), order);
  return rows;
}

Table points_table(const Sweep& sweep, const FigureTable& figures, const Ranking& ranking) {
  const SomeColumns some{time_columns(figures.names()), hit_rates(sweep, figures),
                         !figures.ranked("slo.attainment").empty(), any_lossy(sweep, figures),
                         sweep.metric != kCost && costs_differ(figures)};
  Table t;
  t.header = {"", "point"};
  for (std::string& label : axis_labels(sweep.plan.design.axes())) t.header.push_back(std::move(label));
  for (const char* name : {"tokens/s", "95 %"}) t.header.emplace_back(name);
  for (const TimeColumn& times : some.times) t.header.push_back(times.title);
  if (some.objectives) t.header.emplace_back("in SLO");
  t.header.emplace_back("bound by");
  t.header.emplace_back(some.objectives ? "twice\nit" : "twice it");
  for (const std::string& name : some.hits) t.header.push_back(hits_title(name));
  if (some.quality) {
    for (const char* name : {"quality", "functional"}) t.header.emplace_back(name);
  }
  if (some.cost) t.header.emplace_back("$ per 1M");
  if (!some.has(sweep.metric)) t.header.push_back(sweep.metric);
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  for (const std::size_t row : shown_rows(sweep, figures, ranking, t.title)) {
    const bool best = ranking.marked(row);
    t.rows.push_back(table_row(sweep, figures, row, best, some));
    for (Cell& cell : t.rows.back()) cell.look = Look{best ? Tone::best : Tone::plain};
    if (!sweep.points[row].simulated()) t.rows.back().back().look = Look{Tone::faint};
  }
  return t;
}

/// Remarks beyond the columns.
List remarks(const Sweep& sweep, const FigureTable& figures) {
  List list{"Remarks", {}};
  const std::vector<std::string>& names = figures.names();
  if (std::any_of(names.begin(), names.end(),
                  [](const std::string& name) { return name.starts_with(fmt::format("{}itl_", kLimited)); })) {
    list.items.push_back(fmt::format("ITL: {}", kItlJudged));
  }
  std::vector<std::pair<std::string, double>> launched;
  for (std::size_t row = 0; row < sweep.points.size(); ++row) {
    launched.emplace_back(fmt::format("point {}", sweep.points[row].point),
                          figures.at(row, "iterations.launched") / figures.at(row, "iterations.count"));
  }
  if (std::string words = launched_words(std::move(launched)); !words.empty()) list.items.push_back(std::move(words));
  return list;
}

/// Why points cannot be simulated, the most frequent reasons first.
List infeasible(const Sweep& sweep) {
  std::map<std::string, std::size_t> times;
  for (const PointResult& point : sweep.points) {
    if (!point.simulated()) ++times[point.reason];
  }
  std::vector<std::pair<std::size_t, std::string>> reasons;
  for (const auto& [reason, count] : times) reasons.emplace_back(count, reason);
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  List list{"Infeasible", {}};
  for (std::size_t i = 0; i < std::min(reasons.size(), kMostReasons); ++i) {
    list.items.push_back(
        fmt::format("{} point{}: {}", reasons[i].first, reasons[i].first == 1 ? "" : "s", reasons[i].second));
  }
  if (reasons.size() > kMostReasons)
    list.items.push_back(fmt::format("{} other reasons", reasons.size() - kMostReasons));
  return list;
}

/// Some fall-backs count iterations, so that every point has its own sentence.
List caveats(std::string title, std::vector<std::string> items) {
  if (items.size() > kMostCaveats) {
    const std::size_t more = items.size() - kMostCaveats;
    items.resize(kMostCaveats);
    items.push_back(fmt::format("{} more, all in sweep.json (--json, --out)", more));
  }
  return {std::move(title), std::move(items)};
}

std::string design_line(const Sweep& sweep) {
  const planner::sweep::Plan& plan = sweep.plan;
  std::string line;
  if (plan.design.kind() == DesignKind::grid) {
    std::vector<std::size_t> sizes;
    for (const Axis& axis : plan.design.axes()) sizes.push_back(axis.values.size());
    line = fmt::format("grid of {} point{}", fmt::join(sizes, " x "), plan.design.size() == 1 ? "" : "s");
  } else {
    line = fmt::format("{} {}", counted(plan.design.size(), "point"),
                       plan.design.kind() == DesignKind::list ? "from a file" : "of a Latin hypercube");
  }
  if (!plan.shard.whole()) line += fmt::format(", shard {} of them", planner::sweep::to_string(plan.shard));
  return line + fmt::format("; seed {}, {} replication{} each", plan.seed, plan.replications,
                            plan.replications == 1 ? "" : "s");
}

}  // namespace

Page sweep_page(const Sweep& sweep) {
  const FigureTable figures(sweep);
  const Ranking ranking = ranking_of(sweep, figures);
  Page page;
  page.title = sweep.plan.scenario;
  page.subtitle = {design_line(sweep)};
  for (std::string& words : best_words(sweep, figures, ranking)) page.subtitle.push_back(std::move(words));
  page.tables = {points_table(sweep, figures, ranking)};
  Table map = heat_map(sweep, figures, ranking);
  if (!map.rows.empty()) page.tables.push_back(std::move(map));
  page.lists = {caveats("How sure", how_sure_of(sweep)),
                caveats("Assumptions", assumptions_of(sweep)),
                caveats("Fall-backs", fallbacks_of(sweep)),
                caveats("Percentiles", sketched_percentiles_of(sweep)),
                caveats("Keys without effect", sweep.plan.remarks),
                infeasible(sweep),
                remarks(sweep, figures)};
  return page;
}

}  // namespace kvsim::results
