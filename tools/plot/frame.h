// Common parts of a page's charts: the area, its two axes with ticks and titles, and where a point lies in it.
// Colours are classes of the page's style sheet: `s0`, `s1`, ... for series, `grid`, `axis`, `hit` (what can be pointed
// at: it says in `data-tip` what it stands for).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/plot/svg.h"

namespace kvsim::plot {

// How values become places along an axis, and which of them are written beside it.

enum class ScaleKind { linear, logarithmic };

/// An axis with its range. Of a logarithmic one, both ends are above 0.
struct Scale {
  ScaleKind kind = ScaleKind::linear;
  double least = 0;
  double most = 1;  ///< above `least`

  /// 0 at `least`, 1 at `most`; what lies outside is put at the nearer end.
  [[nodiscard]] double share(double value) const;
  /// Round numbers within the range, ascending: about `wanted` of them.
  [[nodiscard]] std::vector<double> ticks(std::size_t wanted = 6) const;
};

/// A scale that holds all `values` (those that are not finite, beyond 1e300, or that it cannot show are not looked at),
/// with round ends. A linear one begins at 0 where no value is below.
[[nodiscard]] Scale scale_for(ScaleKind kind, const std::vector<double>& values);

/// A tick as it is written: "0.25", "1,500", "2e+06".
[[nodiscard]] std::string tick_text(double value);

// The axes of a picture, and what is drawn around them.

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
