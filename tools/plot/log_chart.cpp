#include "tools/plot/log_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "tools/plot/svg.h"

namespace kvsim::plot {
namespace log_chart_internal {
namespace {

// Pixels.
constexpr double kWidth = 820, kHeight = 500;
constexpr double kLeft = 74, kRight = 596, kTop = 64, kBottom = 430;
constexpr double kLineHeight = 15;

constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#BBBBBB";
constexpr const char* kAboveFill = "#DDEDF7";
constexpr const char* kBelowFill = "#FBE6CF";
constexpr const char* kCurve = "#0072B2";  // blue

struct Stroke {
  const char* colour;
  const char* dashes;
};
constexpr std::array<Stroke, 4> kFurther{
    {{"#007A5A", "2 3"}, {"#8A3B6F", "6 3"}, {"#7A5200", "9 3 2 3"}, {"#333333", "1 4"}}};
constexpr const char* kLevel = "#555555";
constexpr const char* kMarked = "#D55E00";  // vermilion

/// As many characters as the width has room for; the last of a longer text is an ellipsis.
std::string cut(const std::string& text) {
  constexpr std::size_t kMost = 105;
  std::size_t characters = 0;
  std::size_t end = 0;  // of all but the last that fit
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++characters == kMost) end = at;
  }
  return characters > kMost ? text.substr(0, end) + "\u2026" : text;
}

class Drawing {
 public:
  explicit Drawing(const LogChart& chart)
      : chart_(chart),
        svg_(kWidth, kHeight, chart.subtitle.empty() ? chart.title : chart.title + ": " + chart.subtitle,
             chart.description) {}

  std::string draw() {
    svg_.element("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#FFFFFF"}});
    write(kLeft, 20, chart_.title, "start", kInk, "bold");
    write(kLeft, 20 + 1.3 * kLineHeight, cut(chart_.subtitle), "start", kInk);
    regions();
    axes();
    levels();
    curve();
    for (const Marker& marker : chart_.markers) mark(marker);
    return svg_.document();
  }

 private:
  /// 0 at the axis' beginning, 1 at its end.
  [[nodiscard]] static double share(const Axis& axis, double value) {
    return std::clamp(std::log(value / axis.least) / std::log(axis.most / axis.least), 0.0, 1.0);
  }
  [[nodiscard]] double x(double value) const { return kLeft + share(chart_.x, value) * (kRight - kLeft); }
  [[nodiscard]] double y(double value) const { return kBottom - share(chart_.y, value) * (kBottom - kTop); }

  void line(double x1, double y1, double x2, double y2, const char* colour, const char* width, const char* dashes) {
    svg_.element("line", {{"x1", coordinate(x1)},
                          {"y1", coordinate(y1)},
                          {"x2", coordinate(x2)},
                          {"y2", coordinate(y2)},
                          {"stroke", colour},
                          {"stroke-width", width},
                          {"stroke-dasharray", dashes}});
  }

  void write(double at_x, double at_y, const std::string& words, const char* anchor, const char* colour,
             const char* weight = "normal") {
    svg_.text("text",
              {{"x", coordinate(at_x)},
               {"y", coordinate(at_y)},
               {"text-anchor", anchor},
               {"dominant-baseline", "middle"},
               {"fill", colour},
               {"font-weight", weight},
               {"paint-order", "stroke"},  // a halo, where words cross lines
               {"stroke", "#FFFFFF"},
               {"stroke-width", "3"},
               {"stroke-linejoin", "round"}},
              words);
  }

  [[nodiscard]] std::string path_of(const std::vector<Point>& points) const {
    std::string path;
    for (const Point& p : points) {
      path += fmt::format("{}{},{}", path.empty() ? "" : " ", coordinate(x(p.x)), coordinate(y(p.y)));
    }
    return path;
  }

  /// The curve, closed along one edge of the area.
  void region(double edge, const std::string& fill) {
    const double first = x(chart_.curve.front().x);
    const double last = x(chart_.curve.back().x);
    svg_.element("polygon", {{"points", fmt::format("{},{} {} {},{}", coordinate(first), coordinate(edge),
                                                    path_of(chart_.curve), coordinate(last), coordinate(edge))},
                             {"fill", fill}});
  }

  void regions() {
    if (chart_.curve.size() < 2) return;
    svg_.open("defs", {});
    svg_.open("pattern", {{"id", "hatch"},
                          {"width", "8"},
                          {"height", "8"},
                          {"patternUnits", "userSpaceOnUse"},
                          {"patternTransform", "rotate(45)"}});
    svg_.element("rect", {{"width", "8"}, {"height", "8"}, {"fill", kBelowFill}});
    line(0, 0, 0, 8, "#E8C9A0", "2", "none");
    svg_.close("pattern");
    svg_.close("defs");
    region(kTop, kAboveFill);
    region(kBottom, "url(#hatch)");
  }

  void axes() {
    for (const double tick : log_ticks(chart_.x.least, chart_.x.most)) {
      line(x(tick), kTop, x(tick), kBottom, kGrid, "0.5", "none");
      write(x(tick), kBottom + kLineHeight, fmt::format("{:g}", tick), "middle", kInk);
    }
    for (const double tick : log_ticks(chart_.y.least, chart_.y.most)) {
      line(kLeft, y(tick), kRight, y(tick), kGrid, "0.5", "none");
      write(kLeft - 8, y(tick), fmt::format("{:g}", tick), "end", kInk);
    }
    svg_.element("rect", {{"x", coordinate(kLeft)},
                          {"y", coordinate(kTop)},
                          {"width", coordinate(kRight - kLeft)},
                          {"height", coordinate(kBottom - kTop)},
                          {"fill", "none"},
                          {"stroke", kInk}});
    write((kLeft + kRight) / 2, kBottom + 2.6 * kLineHeight, chart_.x.title, "middle", kInk);
    const double middle = (kTop + kBottom) / 2;
    svg_.text("text",
              {{"x", "18"},
               {"y", coordinate(middle)},
               {"text-anchor", "middle"},
               {"fill", kInk},
               {"transform", fmt::format("rotate(-90 18 {})", coordinate(middle))}},
              chart_.y.title);
    if (chart_.curve.size() < 2) return;
    write(kLeft + 12, kTop + kLineHeight, chart_.above, "start", kInk, "bold");
    write(kRight - 12, kBottom - kLineHeight, chart_.below, "end", kInk, "bold");
  }

  /// What stands beside the area, and where on its right edge (or within, for a curve that ends earlier) it belongs.
  struct Label {
    double from_x;
    double from_y;
    std::string words;
    const char* colour;
    bool emphasised;
  };

  /// Labels stand beside what they name, pushed down where they would overlap, all of them up where there is no room.
  void write_beside(std::vector<Label> labels) {
    std::stable_sort(labels.begin(), labels.end(), [](const Label& a, const Label& b) { return a.from_y < b.from_y; });
    std::vector<double> at;
    for (const Label& l : labels) at.push_back(std::max(l.from_y, at.empty() ? kTop : at.back() + kLineHeight));
    double most = kBottom;
    for (std::size_t i = at.size(); i-- > 0; most -= kLineHeight) at[i] = std::min(at[i], most);
    constexpr double kLeader = 14;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const Label& l = labels[i];
      line(l.from_x, l.from_y, kRight + kLeader, at[i], l.colour, "1", "none");
      write(kRight + kLeader + 4, at[i], l.words, "start", l.colour, l.emphasised ? "bold" : "normal");
    }
  }

  void levels() {
    std::vector<Level> sorted = chart_.levels;
    std::stable_sort(sorted.begin(), sorted.end(), [](const Level& a, const Level& b) {
      return a.y > b.y || (a.y == b.y && a.emphasised && !b.emphasised);
    });
    std::vector<Label> labels;
    for (const Level& level : sorted) {
      const char* colour = level.emphasised ? kMarked : kLevel;
      line(kLeft, y(level.y), kRight, y(level.y), colour, level.emphasised ? "1.8" : "1", "7 4");
      labels.push_back({kRight, y(level.y), level.label, colour, level.emphasised});
    }
    for (std::size_t i = 0; i < chart_.further.size(); ++i) {
      const FurtherCurve& c = chart_.further[i];
      if (c.points.empty()) continue;
      const Stroke& stroke = kFurther[i % kFurther.size()];
      svg_.element("polyline", {{"points", path_of(c.points)},
                                {"fill", "none"},
                                {"stroke", stroke.colour},
                                {"stroke-width", "1.8"},
                                {"stroke-dasharray", stroke.dashes}});
      labels.push_back({x(c.points.back().x), y(c.points.back().y), c.label, stroke.colour, false});
    }
    write_beside(std::move(labels));
  }

  void curve() {
    if (chart_.curve.empty()) return;
    svg_.element("polyline",
                 {{"points", path_of(chart_.curve)}, {"fill", "none"}, {"stroke", kCurve}, {"stroke-width", "2.5"}});
    const Point& end = chart_.curve.back();
    write(x(end.x) - 10, std::max(y(end.y) - kLineHeight, kTop + kLineHeight), chart_.curve_label, "end", kCurve,
          "bold");
  }

  void mark(const Marker& marker) {
    const double at_x = x(marker.at.x);
    const double at_y = y(marker.at.y);
    svg_.element("circle", {{"cx", coordinate(at_x)},
                            {"cy", coordinate(at_y)},
                            {"r", "5.5"},
                            {"fill", kMarked},
                            {"stroke", "#FFFFFF"},
                            {"stroke-width", "1.5"}});
    const bool left = at_x > (kLeft + kRight) / 2;
    write(at_x + (left ? -10 : 10), at_y + kLineHeight, marker.label, left ? "end" : "start", kMarked, "bold");
  }

  const LogChart& chart_;
  Svg svg_;
};

}  // namespace
}  // namespace log_chart_internal

std::vector<double> log_ticks(double least, double most) {
  constexpr double kDense = 1e4;
  constexpr double kRounding = 1e-9;
  std::vector<double> ticks;
  const bool powers_only = most / least > kDense;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most * (1 + kRounding); power *= 10) {
    for (const double times : {1.0, 2.0, 5.0}) {
      if (powers_only && times > 1) break;
      const double tick = power * times;
      if (tick >= least * (1 - kRounding) && tick <= most * (1 + kRounding)) ticks.push_back(tick);
    }
  }
  return ticks;
}

std::string to_svg(const LogChart& chart) {
  return log_chart_internal::Drawing(chart).draw();
}

}  // namespace kvsim::plot
