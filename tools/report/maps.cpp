// Throughput over draft length and keep ratio, by the closed forms; and what sweeps found over their axes.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/functional.h"
#include "tools/results/numbers.h"
#include "tools/results/sweep.h"

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

/// Whether none of an axis' values is a choice, however requests arrive.
bool is_given(std::string_view path) {
  return results::is_given(path, true);
}

bool is_lossy(const Json& point) {
  return !results::quality_of(at(point, {"result"})).lossless;
}

/// " (its output differs from that of full-KV decoding: ...)"; empty where it does not.
std::string lossy_words(const Json* point) {
  if (point == nullptr || !is_lossy(*point)) return {};
  return fmt::format(" ({})", output_words(at(*point, {"result"})));
}

struct SweepView {
  const Json& sweep;
  SweepRule rule;
  std::string metric;
  bool less;  ///< is better
  std::vector<const Json*> points;
  Contest contest;
  std::optional<results::Choice> choice;
  const Json* best = nullptr;  ///< the chosen one; null: none has the metric

  explicit SweepView(const Json& document)
      : sweep(document), rule(rule_of(document)), metric(rule.metric), less(rule.order.less) {
    for (const Json& point : at(sweep, {"points"})) points.push_back(&point);
    contest = contest_of(rule, points);
    if (has(document, {"best"})) choice = contest.choice();
    if (choice) best = points[choice->best.chosen];
  }
  /// Whether a point may be called the best: none where all are in no steady state, or even.
  [[nodiscard]] bool marked() const { return best != nullptr && !behind(*best).unsteady && !all_even(); }
  [[nodiscard]] bool all_even() const {
    const auto ranked = std::count_if(points.begin(), points.end(),
                                      [this](const Json* point) { return std::isfinite(figure(*point)); });
    return choice && results::none_chosen(choice->best, static_cast<std::size_t>(ranked));
  }
  [[nodiscard]] results::Shortfall behind(const Json& point) const {
    return results::shortfall_of(at(point, {"result"}), rule.asked);
  }
  /// What a point is that comes first by this rule.
  [[nodiscard]] std::string first_words(const Json& point, const results::Best& by) const {
    return behind(point).nothing() ? "the " + results::rule_words(by) : "the nearest to what is asked for";
  }
  [[nodiscard]] double figure(const Json& point) const { return swept_figure(at(point, {"result"}), metric); }
  /// The chosen one of some points, and by which rule; null: none has the figure, or none is in a steady state.
  [[nodiscard]] std::pair<const Json*, results::Best> best_of(const std::vector<const Json*>& some) const {
    const auto chosen = contest_of(rule, some).choice();
    if (!chosen || behind(*some[chosen->best.chosen]).unsteady) return {};
    return {some[chosen->best.chosen], chosen->best};
  }
  /// "the best, decode.keep_ratio = 0.1: 102 (its output differs ...)", or why no point is.
  [[nodiscard]] std::string best_text() const {
    if (best == nullptr) return "no point, for none has the figure";
    if (all_even()) return "no point, for their differences may be chance";
    if (!marked()) return "no point, for none is in a steady state";
    std::string said;
    for (const auto& [path, value] : at(*best, {"set"}).items()) {
      said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path, scalar_text(value));
    }
    return fmt::format("{}, {}: {}{}", first_words(*best, choice->best), said, printed(metric, figure(*best)),
                       lossy_words(best));
  }
};

std::size_t position(const Json& values, const Json& value) {
  return static_cast<std::size_t>(std::distance(values.begin(), std::find(values.begin(), values.end(), value)));
}

/// A part of a sweep: the points at which axes have these values.
struct Slice {
  Json set;                                          ///< {path: value}, the axis of whose values each has a part first
  std::pair<plot::HeatCell, plot::HeatCell> shaded;  ///< the least and the most of all parts

  [[nodiscard]] bool has(const Json& point) const {
    for (const auto& [path, value] : set.items()) {
      if (at(point, {"set", path}) != value) return false;
    }
    return true;
  }
  /// "cluster.gpu.type = l40s, run.seed = 2"
  [[nodiscard]] std::string words() const {
    std::string said;
    for (const auto& [path, value] : set.items()) {
      said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path, scalar_text(value));
    }
    return said;
  }
  [[nodiscard]] bool over_given() const {
    for (const auto& [path, value] : set.items()) {
      if (is_given(path)) return true;
    }
    return false;
  }
};

/// Of the sweep, or of a slice of it.
class GridMap {
 public:
  GridMap(const SweepView& view, const Json& down, const Json& across, const Slice* slice)
      : view_(view),
        rows_(at(down, {"values"})),
        columns_(at(across, {"values"})),
        down_(text(down, {"path"})),
        across_(text(across, {"path"})),
        over_given_(is_given(down_) || is_given(across_) || (slice != nullptr && slice->over_given())),
        slice_(slice) {}

  [[nodiscard]] bool too_fine() const {
    constexpr std::size_t most_cells = 3000;
    return rows_.size() * columns_.size() > most_cells;
  }

  void add_to(Section& s, std::string id) const {
    if (too_fine()) {
      s.add(Prose{
          fmt::format("A grid of {} x {} cells is too fine to be drawn: its best points are below, sweep.csv has all.",
                      rows_.size(), columns_.size())});
      return;
    }
    plot::HeatMap map;
    map.x_title = across_;
    map.y_title = down_;
    map.less_is_better = view_.less;
    if (slice_ != nullptr) map.shaded = slice_->shaded;
    for (const Json& v : columns_) map.x_labels.push_back(scalar_text(v));
    for (const Json& v : rows_) map.y_labels.push_back(scalar_text(v));
    map.rows.assign(rows_.size(), std::vector<plot::HeatCell>(columns_.size()));
    const auto [framed, rule] = over_given_ ? std::pair<const Json*, results::Best>() : best();
    for (const Json& point : at(view_.sweep, {"points"})) {
      if (belongs(point)) draw(map, point, &point == framed);
    }
    Plot p;
    p.id = std::move(id);
    p.title = fmt::format("Sweep: {}", metric_name(view_.metric));
    if (slice_ != nullptr) p.title += ", " + slice_->words();
    p.caption = fmt::format("Every cell simulated. {}{}Hatched: cannot be simulated, or was not.",
                            slice_ == nullptr ? "" : "All maps of this sweep have the same shades. ",
                            over_given_ ? "" : framed_text(framed, rule));
    s.add(finished(std::move(p), std::move(map), down_ + " \\ " + across_));
  }

 private:
  [[nodiscard]] bool belongs(const Json& point) const { return slice_ == nullptr || slice_->has(point); }

  /// The point to be framed, and the rule that chose it; null: none.
  [[nodiscard]] std::pair<const Json*, results::Best> best() const {
    if (slice_ == nullptr && !view_.marked()) return {};
    if (slice_ == nullptr) return {view_.best, view_.choice->best};
    std::vector<const Json*> own;
    std::copy_if(view_.points.begin(), view_.points.end(), std::back_inserter(own),
                 [this](const Json* point) { return belongs(*point); });
    return view_.best_of(own);
  }

  [[nodiscard]] std::string framed_text(const Json* framed, const results::Best& by) const {
    if (slice_ == nullptr) return fmt::format("Framed: {}. ", view_.best_text());
    if (framed == nullptr) return "";
    return fmt::format("Framed: {} with {}, {}{}. ", view_.first_words(*framed, by), slice_->words(),
                       printed(view_.metric, view_.figure(*framed)), lossy_words(framed));
  }

  void draw(plot::HeatMap& map, const Json& point, bool framed) const {
    const Json& set = at(point, {"set"});
    const std::size_t r = position(rows_, at(set, {down_})), c = position(columns_, at(set, {across_}));
    if (r >= rows_.size() || c >= columns_.size()) return;
    const std::string where = fmt::format("{} = {}, {} = {}", across_, map.x_labels[c], down_, map.y_labels[r]);
    const double value = view_.figure(point);
    if (std::isfinite(value)) {
      map.rows[r][c] = {value, printed(view_.metric, value), where + ": " + printed(view_.metric, value)};
    } else {
      map.rows[r][c] = {std::nullopt, "-", where + ": " + text(point, {"reason"})};
    }
    if (framed) map.best = {r, c};
  }

  const SweepView& view_;
  const Json &rows_, &columns_;
  std::string down_, across_;
  bool over_given_;
  const Slice* slice_;
};

void add_grid(Section& s, const SweepView& view, std::size_t index) {
  const Json& axes = at(view.sweep, {"axes"});
  GridMap(view, axes[1], axes[0], nullptr).add_to(s, numbered("sweep-map", index));
}

/// The axis of whose values each has a map: the machine, else the axis with the fewest values.
std::size_t sliced_axis(const Json& axes) {
  std::size_t fewest = 0;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (text(axes[a], {"path"}).ends_with("gpu.type")) return a;
    if (at(axes[a], {"values"}).size() < at(axes[fewest], {"values"}).size()) fewest = a;
  }
  return fewest;
}

/// A grid of three axes or more as small multiples: a map a value of one of them, all in the same shades, over the two
/// with the most values of the others; what is left has the values of the best point. False: too many or too fine.
bool add_multiples(Section& s, const SweepView& view, std::size_t index) {
  constexpr std::size_t most_maps = 8;
  const Json& axes = at(view.sweep, {"axes"});
  const std::size_t sliced = sliced_axis(axes);
  std::vector<std::size_t> others;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    if (a != sliced) others.push_back(a);
  }
  std::stable_sort(others.begin(), others.end(), [&axes](std::size_t a, std::size_t b) {
    return at(axes[a], {"values"}).size() > at(axes[b], {"values"}).size();
  });
  const std::size_t across = std::min(others[0], others[1]), down = std::max(others[0], others[1]);
  Json held = Json::object();
  for (std::size_t i = 2; i < others.size(); ++i) {
    const std::string path = text(axes[others[i]], {"path"});
    held[path] = view.best == nullptr ? Json() : at(*view.best, {"set", path});
  }
  const Json& values = at(axes[sliced], {"values"});
  if (values.size() > most_maps || GridMap(view, axes[down], axes[across], nullptr).too_fine()) return false;
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const Json& point : at(view.sweep, {"points"})) {
    if (const double value = view.figure(point); std::isfinite(value)) {
      least = std::min(least, value);
      most = std::max(most, value);
    }
  }
  const auto cell_of = [&view](double value) { return plot::HeatCell{value, printed(view.metric, value), ""}; };
  for (std::size_t v = 0; v < values.size(); ++v) {
    Slice slice{Json{{text(axes[sliced], {"path"}), values[v]}}, {cell_of(least), cell_of(most)}};
    slice.set.update(held);
    GridMap(view, axes[down], axes[across], &slice).add_to(s, numbered(fmt::format("sweep-map-of-{}", v + 1), index));
  }
  return true;
}

void add_line(Section& s, const SweepView& view, std::size_t index) {
  const Json& axis = at(view.sweep, {"axes"})[0];
  const std::string path = text(axis, {"path"});
  const AxisValues axis_numbers = axis_values(axis);
  if (axis_numbers.values.size() < 2) return;
  Plot p = plot_of(
      numbered("sweep-line", index), fmt::format("Sweep: {}", metric_name(view.metric)),
      is_given(path) ? "Bars: 95 % intervals." : fmt::format("First: {}. Bars: 95 % intervals.", view.best_text()),
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
    if (!std::isfinite(y)) {
      shown = {has(point, {"result"}) ? "no such figure" : "infeasible: " + text(point, {"reason"})};
    }
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
  const bool over_given =
      std::any_of(axes.begin(), axes.end(), [](const Json& axis) { return is_given(text(axis, {"path"})); });
  const std::string first = over_given ? "" : fmt::format(" First: {}.", view.best_text());
  for (std::size_t a = 0; a < std::min(most_axes, axes.size()); ++a) {
    const std::string path = text(axes[a], {"path"});
    const std::string unit = axis_values(axes[a]).unit;
    Plot p = plot_of(numbered(fmt::format("sweep-axis-{}", a + 1), index),
                     fmt::format("Sweep: {} against {}", metric_name(view.metric), path),
                     "A mark a point, whatever the other axes." + first,
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

Section maps(const Inputs& inputs) {
  Section s{"maps", "Draft length, keep ratio and what else was varied", {}};
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) add_plan(s, inputs.plans[i], i);
  for (std::size_t i = 0; i < inputs.sweeps.size(); ++i) {
    const SweepView view(inputs.sweeps[i]);
    const Json& axes = at(inputs.sweeps[i], {"axes"});
    const bool grid = text(inputs.sweeps[i], {"design"}) == "grid";
    if (axes.size() == 2 && grid) add_grid(s, view, i);
    if (axes.size() == 1) add_line(s, view, i);
    const bool mapped = axes.size() > 2 && grid && add_multiples(s, view, i);
    if (!(mapped && axes.size() == 3) && (axes.size() > 2 || (axes.size() == 2 && !grid))) add_scatter(s, view, i);
    add_points(s, view);
    add_reasons(s, view);
  }
  return s;
}

}  // namespace kvsim::report
