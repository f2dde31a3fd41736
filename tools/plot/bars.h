// Horizontal bars made of parts: stacked ones, or the steps of a waterfall. A part of a page.
#pragma once

#include <string>
#include <vector>

namespace kvsim::plot {

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

}  // namespace kvsim::plot
