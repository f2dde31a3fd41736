// A grid of cells, darker where a figure is higher, as a part of a page.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace kvsim::plot {

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
};

/// Shades of the cells are classes h0 (lowest) to h9 of the page's style sheet. `id` as of Svg::inlined.
[[nodiscard]] std::string to_svg(const HeatMap& map, const std::string& id);

}  // namespace kvsim::plot
