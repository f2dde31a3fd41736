#include "tools/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/plot/frame.h"
#include "tools/plot/svg.h"

namespace kvsim::plot {
namespace heat_map_internal {
namespace {

constexpr int kShades = 10;
constexpr double kWidth = 560, kLeft = 78, kRight = 550, kTop = 10, kBelow = 52;
constexpr double kLeastForText = 40;  // of a cell's width, in pixels
constexpr double kRoomForLabel = 34;  // between labels along x
constexpr std::size_t kLabelLetters = 9;

class Drawing {
 public:
  Drawing(const HeatMap& map, const std::string& id)
      : map_(map),
        cell_w_((kRight - kLeft) / static_cast<double>(std::max<std::size_t>(1, map.x_labels.size()))),
        cell_h_(map.y_labels.size() > 12  ? 16.0
                : map.y_labels.size() > 3 ? 26.0
                                          : 44.0),
        bottom_(kTop + cell_h_ * static_cast<double>(map.y_labels.size())),
        svg_(Svg::inlined(id, kWidth, bottom_ + kBelow, map.title, map.description)) {
    if (map.shaded) {
      least_ = map.shaded->first.value.value_or(least_);
      most_ = map.shaded->second.value.value_or(most_);
    }
    for (const auto& row : map.rows) {
      for (const HeatCell& c : row) {
        if (!c.value || !std::isfinite(*c.value)) continue;
        least_ = std::min(least_, *c.value);
        most_ = std::max(most_, *c.value);
      }
    }
  }

  std::string draw() {
    for (std::size_t r = 0; r < map_.rows.size(); ++r) {
      for (std::size_t c = 0; c < map_.rows[r].size(); ++c) cell(r, c);
    }
    if (map_.chosen) frame(*map_.chosen, "best chosen");
    if (map_.best) frame(*map_.best, "best");
    labels();
    return svg_.document();
  }

 private:
  [[nodiscard]] double x(std::size_t column) const { return kLeft + cell_w_ * static_cast<double>(column); }
  [[nodiscard]] double y(std::size_t row) const { return kTop + cell_h_ * static_cast<double>(row); }

  [[nodiscard]] int shade(double value) const {
    if (most_ <= least_) return kShades - 1;
    const double share = (value - least_) / (most_ - least_);
    const int shade = std::clamp(static_cast<int>(share * kShades), 0, kShades - 1);
    return map_.less_is_better ? kShades - 1 - shade : shade;
  }

  void cell(std::size_t r, std::size_t c) {
    const HeatCell& cell = map_.rows[r][c];
    const bool known = cell.value && std::isfinite(*cell.value);
    const std::string shade_class = known ? fmt::format("h{}", shade(*cell.value)) : "infeasible";
    svg_.element("rect", {{"class", fmt::format("mark cell hit {}", shade_class)},
                          {"x", coordinate(x(c))},
                          {"y", coordinate(y(r))},
                          {"width", coordinate(cell_w_)},
                          {"height", coordinate(cell_h_)},
                          {"data-tip", cell.tip}});
    if (!known) hatch(r, c);
    constexpr double below_middle = 4;
    if (cell_w_ < kLeastForText || cell.text.empty()) return;
    write(svg_, x(c) + cell_w_ / 2, y(r) + cell_h_ / 2 + below_middle, "middle", "cell-text " + shade_class,
          shortened(cell.text, kLabelLetters));
  }

  /// For prints and for those who do not tell the colours apart: slanted lines across the cell.
  void hatch(std::size_t r, std::size_t c) {
    std::string d;
    constexpr double apart = 9;
    for (double from = apart / 2; from < cell_w_; from += apart) {
      const double to = std::min(from + cell_h_ / 2, cell_w_);  // slanted by half of the height
      d += fmt::format("M{},{}L{},{}", coordinate(x(c) + from), coordinate(y(r) + cell_h_), coordinate(x(c) + to),
                       coordinate(y(r) + cell_h_ - 2 * (to - from)));
    }
    if (d.empty()) return;
    svg_.element("path", {{"class", "hatch"}, {"d", d}});
  }

  void frame(const std::pair<std::size_t, std::size_t>& cell, const char* css_class) {
    svg_.element("rect", {{"class", css_class},
                          {"x", coordinate(x(cell.second))},
                          {"y", coordinate(y(cell.first))},
                          {"width", coordinate(cell_w_)},
                          {"height", coordinate(cell_h_)}});
  }

  /// As many letters as the height has room for.
  [[nodiscard]] std::size_t y_letters() const {
    constexpr double letter = 6.6, least = 12;
    return static_cast<std::size_t>(std::max(least, (bottom_ - kTop) / letter));
  }

  void labels() {
    constexpr double beside = 6, below = 16, below_middle = 4, title_below = 38, title_beside = 14;
    for (std::size_t r = 0; r < map_.y_labels.size(); ++r) {
      write(svg_, kLeft - beside, y(r) + cell_h_ / 2 + below_middle, "end", "tick",
            shortened(map_.y_labels[r], kLabelLetters));
    }
    const auto every = static_cast<std::size_t>(std::ceil(kRoomForLabel / cell_w_));
    for (std::size_t c = 0; c < map_.x_labels.size(); c += every) {
      write(svg_, x(c) + cell_w_ / 2, bottom_ + below, "middle", "tick", shortened(map_.x_labels[c], kLabelLetters));
    }
    write(svg_, (kLeft + kRight) / 2, bottom_ + title_below, "middle", "title", shortened(map_.x_title, 70));
    write_upwards(svg_, title_beside, (kTop + bottom_) / 2, shortened(map_.y_title, y_letters()));
  }

  const HeatMap& map_;
  double cell_w_, cell_h_, bottom_;
  Svg svg_;
  double least_ = std::numeric_limits<double>::infinity(), most_ = -std::numeric_limits<double>::infinity();
};

}  // namespace
}  // namespace heat_map_internal

std::string to_svg(const HeatMap& map, const std::string& id) {
  return heat_map_internal::Drawing(map, id).draw();
}

}  // namespace kvsim::plot
