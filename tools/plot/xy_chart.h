// Lines, steps, points or stacked areas over two axes, as a part of a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/plot/frame.h"
#include "tools/plot/log_chart.h"

namespace kvsim::plot {

enum class Shape {
  line,
  steps,          ///< a value holds until the next point
  points,         ///< marks alone
  marked_line,    ///< line and marks
  stacked_areas,  ///< every series stands on those before it; all have the same x
};

struct XySeries {
  std::string label;          ///< for the legend
  std::vector<Point> points;  ///< by ascending x for lines; a y that is not finite is a gap
  /// Of each point, half of an interval in y; empty, or 0: none.
  std::vector<double> half_widths = {};
  /// Of each point, what it says when pointed at; an empty one says nothing.
  std::vector<std::string> tips = {};
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
};

/// What is said of everything at one x.
struct Hover {
  double x = 0;
  std::string tip;
};

struct XyChart {
  std::string title;
  std::string description;  ///< what it shows, for those who cannot see it
  std::string x_title, y_title;
  ScaleKind x_scale = ScaleKind::linear, y_scale = ScaleKind::linear;
  std::optional<double> y_least{}, y_most{};  ///< where the y axis begins and ends, whatever the points
  Shape shape = Shape::line;
  std::vector<XySeries> series;
  std::vector<Zone> zones{};
  std::vector<Rule> rules{};
  std::vector<Hover> hovers{};  ///< by ascending x
};

/// `id` as of Svg::inlined.
[[nodiscard]] std::string to_svg(const XyChart& chart, const std::string& id);

}  // namespace kvsim::plot
