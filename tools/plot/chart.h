// Parts of a page: lines, steps, points or stacked areas over two axes, linear or logarithmic (also as a file of its
// own); horizontal bars made of parts, stacked or the steps of a waterfall; a grid of cells, darker where a figure is
// higher.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/plot/frame.h"

namespace kvsim::plot {

struct Point {
  double x = 0;
  double y = 0;
};

enum class Shape {
  line,
  steps,          ///< a value holds until the next point
  points,         ///< marks alone
  marked_line,    ///< line and marks
  stacked_areas,  ///< every series stands on those before it; all have the same x
};

struct Series {
  std::string label;          ///< for the legend
  std::vector<Point> points;  ///< by ascending x for lines; a y that is not finite is a gap
  /// Half of each point's interval in y; empty, or 0: none.
  std::vector<double> half_widths = {};
  /// Tip of each point when it is pointed at; an empty one says nothing.
  std::vector<std::string> tips = {};
  std::optional<Shape> shape = {};  ///< other than the chart's; not of stacked areas
};

/// Where an objective is missed: the area above (or below) a level.
struct Zone {
  double from = 0;
  bool above = true;
  std::string label;
};

struct Rule {
  double at = 0;
  bool vertical = true;
  std::string label;
  bool strong = false;  ///< the one that matters; told apart in files alone
};

/// A point that stands out.
struct Marker {
  Point at;
  std::string label;
};

/// Tip for everything at one x.
struct Hover {
  double x = 0;
  std::string tip;
};

struct Chart {
  std::string title;
  std::string description;  ///< what it shows, for those who cannot see it
  std::string x_title, y_title;
  ScaleKind x_scale = ScaleKind::linear, y_scale = ScaleKind::linear;
  std::optional<double> y_least{}, y_most{};  ///< where the y axis begins and ends, whatever the points
  Shape shape = Shape::line;
  std::vector<Series> series;
  std::vector<Zone> zones{};
  std::vector<Rule> rules{};
  std::vector<Hover> hovers{};  ///< by ascending x
  /// Names of both sides of the first series, which are shaded; empty, or a series of fewer than two points: no sides.
  std::string above{}, below{};
  std::vector<Marker> markers{};
  /// Both axes have one scale, and the line on which y equals x is drawn; not with a bound of y, or sides.
  bool diagonal = false;
};

/// A part of a page, whose style sheet has the colours. `id` as of Svg::inlined.
[[nodiscard]] std::string to_svg(const Chart& chart, const std::string& id);

/// A file that needs nothing else. Series and horizontal rules are named beside the chart; colours are those that the
/// colour-blind tell apart (Okabe and Ito, 2008), with a hatch and dashes for prints without colour. `subtitle` is a
/// second line, cut where it is too long.
[[nodiscard]] std::string to_svg_file(const Chart& chart, const std::string& subtitle);

struct BarPart {
  double from = 0, to = 0;
  std::size_t series = 0;  ///< its colour and hatch, and its place in the legend
  std::string tip;         ///< what it says when pointed at
};

struct Bar {
  std::string label;
  std::vector<BarPart> parts;
  std::string text;  ///< written behind the bar
};

struct Bars {
  std::string title;
  std::string description;  ///< what it shows, for those who cannot see it
  std::string x_title;      ///< with its unit
  std::vector<Bar> bars;    ///< from above
};

/// `id` as of Svg::inlined.
[[nodiscard]] std::string to_svg(const Bars& bars, const std::string& id);

struct HeatCell {
  std::optional<double> value;  ///< none: hatched, cannot be
  std::string text;             ///< written into the cell where there is room
  std::string tip;              ///< what it says when pointed at
};

struct HeatMap {
  std::string title;
  std::string description;  ///< what it shows, for those who cannot see it
  std::string x_title, y_title;
  std::vector<std::string> x_labels, y_labels;
  std::vector<std::vector<HeatCell>> rows;                      ///< by y label, then x label
  bool less_is_better = false;                                  ///< bright is best
  std::optional<std::pair<std::size_t, std::size_t>> best{};    ///< row and column of the framed cell
  std::optional<std::pair<std::size_t, std::size_t>> chosen{};  ///< of another one, framed by dashes
  /// Cells of least and most value that shades span, where several maps share them; else those of `rows`.
  std::optional<std::pair<HeatCell, HeatCell>> shaded{};
};

/// Shades of the cells are classes h0 (lowest) to h9 of the page's style sheet. `id` as of Svg::inlined.
[[nodiscard]] std::string to_svg(const HeatMap& map, const std::string& id);

}  // namespace kvsim::plot
