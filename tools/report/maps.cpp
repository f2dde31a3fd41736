// Throughput over draft length and keep ratio, by the closed forms; and what sweeps found over their axes.
#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// The matrix as a table: a row a y label.
Table table_of(const plot::HeatMap& map, std::string caption, std::string corner) {
  Table t = table(std::move(caption), {{std::move(corner), true}});
  for (const std::string& label : map.x_labels) t.add({label, true});
  for (std::size_t r = 0; r < map.rows.size(); ++r) {
    std::vector<Cell> row{map.y_labels[r]};
    for (std::size_t c = 0; c < map.rows[r].size(); ++c) {
      const plot::HeatCell& cell = map.rows[r][c];
      const bool best = map.best && map.best->first == r && map.best->second == c;
      row.push_back({cell.value ? cell.text : "-", cell.value, best});
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

Plot finished(Plot p, plot::HeatMap map, const std::string& corner) {
  p.data = table_of(map, p.title, corner);
  return with_drawing(std::move(p), std::move(map));
}

void add_plan(Section& s, const Json& plan, std::size_t index) {
  const Json& h = at(plan, {"details", "heat_map"});
  const std::vector<double> xs = numbers(h, {"draft_length"}), cs = numbers(h, {"keep_ratio"});
  const Json& values = at(h, {"throughput_tokens_per_s"});
  if (xs.empty() || !values.is_array() || values.size() != cs.size()) return;
  const double best_x = number_or_nan(plan, {"optimum", "x"}), best_c = number_or_nan(plan, {"optimum", "c"});
  const Json& won = at(plan, {"simulated", "best"});
  const double won_x = number_or_nan(won, {"x"}), won_c = number_or_nan(won, {"c"});
  Plot p;
  p.id = numbered("plan-map", index);
  p.title = "Tokens/s over draft length and keep ratio, by the closed forms";
  p.caption = fmt::format(
      "One replica, the best batch of every cell, model {}. Framed: the optimum "
      "by these forms, {}. Hatched: cannot be, no batch fits.",
      text(plan, {"model"}), plan_text(at(plan, {"optimum"})));
  if (!won.empty() && (won_x != best_x || won_c != best_c)) {
    p.caption += fmt::format(" Dashed: what won by simulation, {}.", plan_text(won));
  }
  plot::HeatMap map;
  map.x_title = "draft length x in tokens";
  map.y_title = "keep ratio c";
  for (const double x : xs) map.x_labels.push_back(plain(x));
  for (std::size_t r = 0; r < cs.size(); ++r) {
    map.y_labels.push_back(plain(cs[r]));
    std::vector<plot::HeatCell> row(xs.size());
    for (std::size_t c = 0; c < xs.size(); ++c) {
      const bool there = values[r].is_array() && c < values[r].size() && values[r][c].is_number();
      const std::string where = fmt::format("x = {}, c = {}", plain(xs[c]), plain(cs[r]));
      if (there) {
        const double value = values[r][c].get<double>();
        row[c] = {value, results::figure(value), fmt::format("{}: {} tokens/s", where, results::figure(value))};
      } else {
        row[c] = {std::nullopt, "-", where + ": no batch fits"};
      }
      if (xs[c] == best_x && cs[r] == best_c) map.best = {r, c};
      if (xs[c] == won_x && cs[r] == won_c) map.chosen = {r, c};
    }
    map.rows.push_back(std::move(row));
  }
  s.add(finished(std::move(p), std::move(map), "c \\ x"));
}

/// How much work there is, which is no choice.
bool is_load(std::string_view path) {
  return path.ends_with("arrivals.rate") || path.ends_with("closed.concurrency") || path.ends_with("trace.speed_up");
}

struct SweepView {
  const Json& sweep;
  std::string metric;
  std::string set;  ///< of the best point
  bool less;        ///< is better

  explicit SweepView(const Json& document)
      : sweep(document),
        metric(text(document, {"best", "metric"})),
        set(at(document, {"best", "set"}).dump()),
        less(text(document, {"best", "order"}) == "lowest") {
    if (metric.empty()) metric = "throughput.output_tokens_per_s";
  }
  [[nodiscard]] std::string best_text() const {
    std::string said;
    for (const auto& [path, value] : at(sweep, {"best", "set"}).items()) {
      said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path, scalar_text(value));
    }
    return said.empty() ? "no point could be simulated"
                        : fmt::format("{}: {}", said, printed(metric, number_or_nan(sweep, {"best", "value"})));
  }
};

std::size_t position(const Json& values, const Json& value) {
  return static_cast<std::size_t>(std::distance(values.begin(), std::find(values.begin(), values.end(), value)));
}

void add_grid(Section& s, const SweepView& view, std::size_t index) {
  const Json& axes = at(view.sweep, {"axes"});
  const Json &down = axes[1], &across = axes[0];
  const Json &rows = at(down, {"values"}), &columns = at(across, {"values"});
  constexpr std::size_t most_cells = 3000;
  if (rows.size() * columns.size() > most_cells) {
    s.add(Prose{
        fmt::format("A grid of {} x {} cells is too fine to be drawn: its best points are below, sweep.csv has all.",
                    rows.size(), columns.size())});
    return;
  }
  const std::string down_path = text(down, {"path"}), across_path = text(across, {"path"});
  Plot p;
  p.id = numbered("sweep-map", index);
  p.title = fmt::format("Sweep: {}", metric_name(view.metric));
  const bool over_load = is_load(down_path) || is_load(across_path);
  p.caption = fmt::format("Every cell simulated. {}Hatched: cannot be simulated, or was not.",
                          over_load ? "" : fmt::format("Framed: the best, {}. ", view.best_text()));
  plot::HeatMap map;
  map.x_title = across_path;
  map.y_title = down_path;
  map.less_is_better = view.less;
  for (const Json& v : columns) map.x_labels.push_back(scalar_text(v));
  for (const Json& v : rows) map.y_labels.push_back(scalar_text(v));
  map.rows.assign(rows.size(), std::vector<plot::HeatCell>(columns.size()));
  for (const Json& point : at(view.sweep, {"points"})) {
    const Json& set = at(point, {"set"});
    const std::size_t r = position(rows, at(set, {down_path})), c = position(columns, at(set, {across_path}));
    if (r >= rows.size() || c >= columns.size()) continue;
    const std::string where = fmt::format("{} = {}, {} = {}", across_path, map.x_labels[c], down_path, map.y_labels[r]);
    const double value = figure_at(at(point, {"result"}), view.metric);
    if (std::isfinite(value)) {
      map.rows[r][c] = {value, printed(view.metric, value), where + ": " + printed(view.metric, value)};
    } else {
      map.rows[r][c] = {std::nullopt, "-", where + ": " + text(point, {"reason"})};
    }
    if (set.dump() == view.set && !over_load) map.best = {r, c};
  }
  s.add(finished(std::move(p), std::move(map), down_path + " \\ " + across_path));
}

void add_line(Section& s, const SweepView& view, std::size_t index) {
  const Json& axis = at(view.sweep, {"axes"})[0];
  const std::string path = text(axis, {"path"});
  const AxisValues axis_numbers = axis_values(axis);
  if (axis_numbers.values.size() < 2) return;
  Plot p = plot_of(
      numbered("sweep-line", index), fmt::format("Sweep: {}", metric_name(view.metric)),
      is_load(path) ? "Bars: 95 % intervals." : fmt::format("The best: {}. Bars: 95 % intervals.", view.best_text()),
      {{path}, {metric_name(view.metric), true}});
  plot::Chart c;
  c.x_title = fmt::format("{}{}", path, axis_numbers.unit.empty() ? "" : " in " + axis_numbers.unit);
  c.y_title = metric_name(view.metric) + (view.metric.starts_with("latency_s.") ? " in s" : "");
  c.shape = plot::Shape::marked_line;
  plot::Series series{view.metric, {}};
  for (const Json& point : at(view.sweep, {"points"})) {
    const Json& value = at(point, {"set", path});
    const std::size_t i = position(at(axis, {"values"}), value);
    if (i >= axis_numbers.values.size()) continue;
    const double y = figure_at(at(point, {"result"}), view.metric);
    const double half = half_width(at(point, {"result"}), view.metric);
    Cell shown{printed(view.metric, y), y};
    if (!std::isfinite(y)) shown = {"infeasible: " + text(point, {"reason"})};
    p.data.rows.push_back({scalar_text(value), shown});
    series.points.push_back({axis_numbers.values[i], y});
    series.half_widths.push_back(half);
    series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
  }
  c.series.push_back(std::move(series));
  s.add(with_drawing(std::move(p), std::move(c)));
}

/// The metric against one axis, over all values of the others.
void add_scatter(Section& s, const SweepView& view, std::size_t index) {
  constexpr std::size_t most_axes = 4, most_points = 2000;
  const Json& axes = at(view.sweep, {"axes"});
  if (at(view.sweep, {"points"}).size() > most_points) return;
  for (std::size_t a = 0; a < std::min(most_axes, axes.size()); ++a) {
    const std::string path = text(axes[a], {"path"});
    const std::string unit = axis_values(axes[a]).unit;
    Plot p = plot_of(numbered(fmt::format("sweep-axis-{}", a + 1), index),
                     fmt::format("Sweep: {} against {}", metric_name(view.metric), path),
                     fmt::format("A mark a point, whatever the other axes. The best: {}.", view.best_text()),
                     {{path, true}, {metric_name(view.metric), true}, {"at"}});
    plot::Chart c;
    c.x_title = unit.empty() ? path : path + " in " + unit;
    c.y_title = metric_name(view.metric);
    c.shape = plot::Shape::points;
    plot::Series series{c.y_title, {}};
    for (const Json& point : at(view.sweep, {"points"})) {
      const Json& value = at(point, {"set", path});
      const AxisValues x = axis_values(Json{{"values", {value}}});
      const double y = figure_at(at(point, {"result"}), view.metric);
      if (x.values.size() != 1 || !std::isfinite(y)) continue;
      p.data.rows.push_back(
          {{scalar_text(value), x.values.front()}, {printed(view.metric, y), y}, at(point, {"set"}).dump()});
      series.points.push_back({x.values.front(), y});
      series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
    }
    if (series.points.size() < 2) continue;
    c.series.push_back(std::move(series));
    s.add(with_drawing(std::move(p), std::move(c)));
  }
}

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

/// The points, best first, at most so many.
void add_points(Section& s, const SweepView& view) {
  constexpr std::size_t most = 60;
  const Json& points = at(view.sweep, {"points"});
  const Json& all_axes = at(view.sweep, {"axes"});
  const bool over_load =
      std::any_of(all_axes.begin(), all_axes.end(), [](const Json& axis) { return is_load(text(axis, {"path"})); });
  const bool less = view.less;
  std::vector<std::pair<double, const Json*>> ranked;
  std::size_t infeasible = 0;
  for (const Json& point : points) {
    const double value = figure_at(at(point, {"result"}), view.metric);
    if (std::isfinite(value)) {
      ranked.emplace_back(value, &point);
    } else {
      ++infeasible;
    }
  }
  std::stable_sort(ranked.begin(), ranked.end(),
                   [less](const auto& a, const auto& b) { return less ? a.first < b.first : a.first > b.first; });
  if (ranked.empty()) return;
  Table t;
  t.title = ranked.size() > most ? fmt::format("The best {} of {} points simulated", most, ranked.size())
                                 : fmt::format("{} points simulated, best first", ranked.size());
  if (infeasible > 0) t.title += fmt::format("; {} cannot be", infeasible);
  for (const Json& axis : at(view.sweep, {"axes"})) t.add({text(axis, {"path"}), true});
  for (const char* header : {"output tokens/s", "TTFT p50", "TTFT p99", "TPOT p50", "TPOT p99", "within SLO"}) {
    t.add({header, true});
  }
  const bool shown = std::find(t.header.begin(), t.header.end(), metric_name(view.metric)) != t.header.end();
  if (!shown) t.add({metric_name(view.metric), true});
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    const Json& result = at(*ranked[i].second, {"result"});
    std::vector<Cell> row;
    for (const Json& axis : at(view.sweep, {"axes"})) {
      const Json& value = at(*ranked[i].second, {"set", text(axis, {"path"})});
      row.push_back(value.is_number() ? Cell{scalar_text(value), value.get<double>()} : scalar_text(value));
    }
    row.push_back(cell(figure_at(result, "throughput.output_tokens_per_s"),
                       half_width(result, "throughput.output_tokens_per_s"), results::figure));
    for (const char* path : {"latency_s.ttft.p50", "latency_s.ttft.p99", "latency_s.tpot.p50", "latency_s.tpot.p99"}) {
      row.push_back(cell(figure_at(result, path), results::seconds));
    }
    row.push_back(cell(figure_at(result, "slo.attainment"), results::percent));
    if (row.size() < t.align.size()) row.push_back({printed(view.metric, ranked[i].first), ranked[i].first});
    if (i == 0 && !over_load) {
      for (Cell& c : row) c.strong = true;
    }
    t.rows.push_back(std::move(row));
  }
  s.add(std::move(t));
}

}  // namespace

Section maps(const Inputs& inputs) {
  Section s{"maps", "Draft length, keep ratio and what else was varied", {}};
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) add_plan(s, inputs.plans[i], i);
  for (std::size_t i = 0; i < inputs.sweeps.size(); ++i) {
    const SweepView view(inputs.sweeps[i]);
    const Json& axes = at(inputs.sweeps[i], {"axes"});
    if (axes.size() == 2 && text(inputs.sweeps[i], {"design"}) == "grid") add_grid(s, view, i);
    if (axes.size() == 1) add_line(s, view, i);
    if (axes.size() > 2 || (axes.size() == 2 && text(inputs.sweeps[i], {"design"}) != "grid")) add_scatter(s, view, i);
    add_points(s, view);
    add_reasons(s, view);
  }
  return s;
}

}  // namespace kvsim::report
