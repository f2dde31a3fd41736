// Maps of sweeps: lines, grids, small multiples and scatter plots.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "tools/report/sweep_view.h"

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

/// Map of the sweep, or of a slice of it.
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
    s.add(mapped(std::move(p), std::move(map), down_ + " \\ " + across_));
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

}  // namespace

Plot mapped(Plot p, plot::HeatMap map, const std::string& corner) {
  p.data = table_of(map, p.title, corner);
  return with_drawing(std::move(p), std::move(map));
}

void add_sweep_maps(Section& s, const SweepView& view, std::size_t index) {
  const Json& axes = at(view.sweep, {"axes"});
  const bool grid = text(view.sweep, {"design"}) == "grid";
  if (axes.size() == 2 && grid) add_grid(s, view, index);
  if (axes.size() == 1) add_line(s, view, index);
  const bool sliced = axes.size() > 2 && grid && add_multiples(s, view, index);
  if (!(sliced && axes.size() == 3) && (axes.size() > 2 || (axes.size() == 2 && !grid))) add_scatter(s, view, index);
}

}  // namespace kvsim::report
