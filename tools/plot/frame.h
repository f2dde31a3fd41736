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

/// The picture, and where the area between the axes lies in it, in pixels.
struct Layout {
  double width, height;
  double left, right, top, bottom;
};

inline constexpr Layout kInPage{560, 330, 66, 546, 12, 280};
/// With a title above, and room for names on the right.
inline constexpr Layout kOwnFile{820, 500, 74, 596, 64, 430};

class Frame {
 public:
  Frame(PageAxis x, PageAxis y, const Layout& layout) : x_(std::move(x)), y_(std::move(y)), at_(layout) {}

  [[nodiscard]] const Layout& at() const { return at_; }
  [[nodiscard]] double x(double value) const { return at_.left + x_.scale.share(value) * (at_.right - at_.left); }
  [[nodiscard]] double y(double value) const { return at_.bottom - y_.scale.share(value) * (at_.bottom - at_.top); }

  /// Grid, ticks and titles.
  void draw(Svg& svg) const;

 private:
  PageAxis x_, y_;
  Layout at_;
};

/// Words beside or below an axis. `anchor`: start, middle or end.
void write(Svg& svg, double x, double y, std::string_view anchor, std::string_view css_class, std::string_view words);

/// A title along the y axis, read from below.
void write_upwards(Svg& svg, double x, double y, std::string_view words);

}  // namespace kvsim::plot
