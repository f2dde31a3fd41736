// What charts of a page have in common: the area, its two axes with ticks and titles, and where a point lies in it.
// Colours are classes of the page's style sheet: `s0`, `s1`, ... for series, `grid`, `axis`, `hit` (what can be pointed
// at: it says in `data-tip` what it stands for).
#pragma once

#include <string>
#include <string_view>

#include "tools/plot/scale.h"
#include "tools/plot/svg.h"

namespace kvsim::plot {

struct PageAxis {
  std::string title;  ///< with its unit
  Scale scale;
};

/// Series are told apart by so many classes (and dashes, and shapes of points) before they come again.
inline constexpr std::size_t kSeriesClasses = 8;

/// "s3"
[[nodiscard]] std::string series_class(std::size_t series);

/// The outline of a point of a series, as the `d` of a path: shapes differ, for those who do not tell the colours
/// apart.
[[nodiscard]] std::string point_path(double x, double y, std::size_t series);

/// At most so many characters of UTF-8, the last of a longer text an ellipsis.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t most);

class Frame {
 public:
  static constexpr double kWidth = 560, kHeight = 330;  ///< of the picture
  static constexpr double kLeft = 66, kRight = 546, kTop = 12, kBottom = 280;

  Frame(PageAxis x, PageAxis y) : x_(std::move(x)), y_(std::move(y)) {}

  [[nodiscard]] double x(double value) const { return kLeft + x_.scale.share(value) * (kRight - kLeft); }
  [[nodiscard]] double y(double value) const { return kBottom - y_.scale.share(value) * (kBottom - kTop); }

  /// Grid, ticks and titles.
  void draw(Svg& svg) const;

 private:
  PageAxis x_, y_;
};

/// Words beside or below an axis. `anchor`: start, middle or end.
void write(Svg& svg, double x, double y, std::string_view anchor, std::string_view css_class, std::string_view words);

/// A title along the y axis, read from below.
void write_upwards(Svg& svg, double x, double y, std::string_view words);

}  // namespace kvsim::plot
