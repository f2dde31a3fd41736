// A chart with two logarithmic axes: a curve that divides the area into two regions, levels across it and marked
// points. One self-contained SVG: colours that the colour-blind tell apart (Okabe and Ito, 2008), and a hatch and
// dashes for prints without colour.
#pragma once

#include <string>
#include <vector>

namespace kvsim::plot {

struct Point {
  double x = 0;
  double y = 0;
};

struct Axis {
  std::string title;  ///< with its unit
  double least = 1;   ///< above 0
  double most = 10;   ///< above `least`
};

/// A horizontal line, named beside the chart.
struct Level {
  double y = 1;
  std::string label;
  bool emphasised = false;
};

struct Marker {
  Point at;
  std::string label;
};

/// A thinner line without regions, named beside the chart; lines differ in colour and dashes.
struct FurtherCurve {
  std::vector<Point> points;  ///< by ascending x
  std::string label;
};

struct LogChart {
  std::string title;
  std::string subtitle;     ///< a second line, cut where it is too long
  std::string description;  ///< what it shows, for those who cannot see it
  Axis x, y;
  std::vector<Point> curve;  ///< by ascending x
  std::string curve_label;   ///< written along its upper end
  std::string above, below;  ///< names of the regions on both sides of the curve
  std::vector<FurtherCurve> further{};
  std::vector<Level> levels;
  std::vector<Marker> markers;
};

/// Numbers 1, 2 and 5 times a power of ten within [least, most]; of more than four decades the powers alone.
[[nodiscard]] std::vector<double> log_ticks(double least, double most);

/// What lies outside the axes is drawn at their ends. Without a curve there are no regions.
[[nodiscard]] std::string to_svg(const LogChart& chart);

}  // namespace kvsim::plot
