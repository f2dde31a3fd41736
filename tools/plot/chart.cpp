#include "tools/plot/chart.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace kvsim::plot {
namespace {

bool has_marks(Shape shape) {
  return shape == Shape::points || shape == Shape::marked_line;
}

Scale x_scale_of(const Chart& chart) {
  std::vector<double> values;
  for (const Series& s : chart.series) {
    for (const Point& p : s.points) values.push_back(p.x);
  }
  for (const Rule& r : chart.rules) {
    if (r.vertical) values.push_back(r.at);
  }
  for (const Marker& m : chart.markers) values.push_back(m.at.x);
  Scale scale = scale_for(chart.x_scale, values);
  // Sides are shaded from end to end.
  if (!chart.above.empty() && !values.empty()) {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    if (*least < *most) return {chart.x_scale, *least, *most};
  }
  // Time and the like end where they end, not at the next round number.
  if (chart.x_scale == ScaleKind::linear && !has_marks(chart.shape) && !values.empty()) {
    const double most = *std::max_element(values.begin(), values.end());
    if (most > scale.least) scale.most = most;
  }
  return scale;
}

Scale y_scale_of(const Chart& chart) {
  std::vector<double> values, sums;
  for (const Series& s : chart.series) {
    sums.resize(std::max(sums.size(), s.points.size()), 0.0);
    for (std::size_t i = 0; i < s.points.size(); ++i) {
      const double half = i < s.half_widths.size() && std::isfinite(s.half_widths[i]) ? s.half_widths[i] : 0.0;
      values.push_back(s.points[i].y + half);
      if (chart.y_scale == ScaleKind::linear || s.points[i].y > half) values.push_back(s.points[i].y - half);
      if (std::isfinite(s.points[i].y)) sums[i] += s.points[i].y;
    }
  }
  if (chart.shape == Shape::stacked_areas) values = sums;
  // An objective is shown with some of what lies beyond it.
  constexpr double beyond = 1.15;
  for (const Zone& z : chart.zones) values.push_back(z.above ? z.from * beyond : z.from / beyond);
  for (const Rule& r : chart.rules) {
    if (!r.vertical) values.push_back(r.at);
  }
  for (const Marker& m : chart.markers) values.push_back(m.at.y);
  Scale scale = scale_for(chart.y_scale, values);
  if (!chart.above.empty() && chart.y_scale == ScaleKind::logarithmic) {
    constexpr double room_for_names = 1.43;
    scale.least /= room_for_names;
    scale.most *= room_for_names;
  }
  if (chart.y_least && *chart.y_least < scale.most) scale.least = *chart.y_least;
  if (chart.y_most && *chart.y_most > scale.least) scale.most = *chart.y_most;
  return scale;
}

/// Both scales.
std::pair<Scale, Scale> scales_of(const Chart& chart) {
  Scale x = x_scale_of(chart), y = y_scale_of(chart);
  if (chart.diagonal) {
    x.least = y.least = std::min(x.least, y.least);
    x.most = y.most = std::max(x.most, y.most);
  }
  return {x, y};
}

Frame frame_of(const Chart& chart, const Layout& layout) {
  const auto [x, y] = scales_of(chart);
  return {{chart.x_title, x}, {chart.y_title, y}, layout};
}

class Drawing {
 public:
  Drawing(const Chart& chart, const Layout& layout, Svg svg, bool names_beside)
      : chart_(chart),
        frame_(frame_of(chart, layout)),
        at_(frame_.at()),
        svg_(std::move(svg)),
        names_beside_(names_beside) {}

  std::string draw() {
    const bool sides = !chart_.above.empty() && !chart_.series.empty() && chart_.series.front().points.size() > 1;
    if (sides) shade_sides();
    for (const Zone& z : chart_.zones) zone(z);
    frame_.draw(svg_);
    if (sides) name_sides();
    if (chart_.diagonal) {
      svg_.element("path", {{"class", "rule"},
                            {"d", fmt::format("M{},{}L{},{}", coordinate(at_.left), coordinate(at_.bottom),
                                              coordinate(at_.right), coordinate(at_.top))}});
    }
    if (chart_.shape == Shape::stacked_areas) {
      areas();
    } else {
      for (std::size_t i = 0; i < chart_.series.size(); ++i) series(i);
    }
    for (const Rule& r : chart_.rules) rule(r);
    if (names_beside_) write_beside();
    for (const Marker& m : chart_.markers) mark(m);
    hovers();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) tips(i);
    return svg_.document();
  }

 private:
  void zone(const Zone& z) {
    const double level = frame_.y(z.from);
    const double from = z.above ? at_.top : level, to = z.above ? level : at_.bottom;
    svg_.element("rect", {{"class", "zone"},
                          {"x", coordinate(at_.left)},
                          {"y", coordinate(from)},
                          {"width", coordinate(at_.right - at_.left)},
                          {"height", coordinate(std::max(0.0, to - from))}});
    constexpr double inset = 6, line = 14;
    const std::string label = shortened(z.label, 60);
    if (z.above) {
      write(svg_, at_.left + inset, level - inset, "start", "zone-label", label);
    } else {
      write(svg_, at_.right - inset, level + line, "end", "zone-label", label);
    }
  }

  void rule(const Rule& r) {
    const double at = r.vertical ? frame_.x(r.at) : frame_.y(r.at);
    const std::string d = r.vertical
                              ? fmt::format("M{},{}V{}", coordinate(at), coordinate(at_.top), coordinate(at_.bottom))
                              : fmt::format("M{},{}H{}", coordinate(at_.left), coordinate(at), coordinate(at_.right));
    svg_.element("path", {{"class", names_beside_ && r.strong ? "rule strong" : "rule"}, {"d", d}});
    if (names_beside_ && !r.vertical) return;
    constexpr double inset = 5, line = 14;
    const std::string label = shortened(r.label, 48);
    if (label.empty()) return;
    if (!r.vertical) {
      write(svg_, at_.right - inset, at - inset, "end", "rule-label", label);
      return;
    }
    // Beside the rule, above the x axis, on the side with more room; of several, one above the other.
    const bool left = at > (at_.left + at_.right) / 2;
    rule_line_ += line;
    write(svg_, left ? at - inset : at + inset, at_.bottom + inset - rule_line_, left ? "end" : "start", "rule-label",
          label);
  }

  void series(std::size_t i) {
    const Series& s = chart_.series[i];
    svg_.open("g", {{"class", "series " + series_class(i)}});
    const Shape shape = s.shape.value_or(chart_.shape);
    if (shape != Shape::points) {
      const std::string d = path_of(s.points);
      if (!d.empty()) svg_.element("path", {{"class", "mark line"}, {"d", d}});
    }
    for (std::size_t k = 0; k < s.points.size(); ++k) {
      if (!std::isfinite(s.points[k].y)) continue;
      if (k < s.half_widths.size() && s.half_widths[k] > 0) interval(s.points[k], s.half_widths[k]);
      if (has_marks(shape)) point(s.points[k], i);
    }
    svg_.close("g");
  }

  /// From point to point; a gap begins anew.
  [[nodiscard]] std::string path_of(const std::vector<Point>& points) const {
    std::string d;
    bool drawn = false;
    for (const Point& p : points) {
      if (!std::isfinite(p.y)) {
        drawn = false;
        continue;
      }
      const std::string x = coordinate(frame_.x(p.x)), y = coordinate(frame_.y(p.y));
      if (!drawn) {
        d += fmt::format("M{},{}", x, y);
      } else if (chart_.shape == Shape::steps) {
        d += fmt::format("H{}V{}", x, y);
      } else {
        d += fmt::format("L{},{}", x, y);
      }
      drawn = true;
    }
    return d;
  }

  void interval(const Point& p, double half) {
    svg_.element("path", {{"class", "interval"},
                          {"d", fmt::format("M{},{}V{}", coordinate(frame_.x(p.x)), coordinate(frame_.y(p.y - half)),
                                            coordinate(frame_.y(p.y + half)))}});
  }

  void point(const Point& p, std::size_t series) {
    svg_.element("path", {{"class", "mark point"}, {"d", point_path(frame_.x(p.x), frame_.y(p.y), series)}});
  }

  void areas() {
    std::vector<double> floor;
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const std::vector<Point>& points = chart_.series[i].points;
      floor.resize(std::max(floor.size(), points.size()), 0.0);
      if (points.empty()) continue;
      std::string upper, lower;
      for (std::size_t k = 0; k < points.size(); ++k) {
        const double add = std::isfinite(points[k].y) ? points[k].y : 0.0;
        const std::string x = coordinate(frame_.x(points[k].x));
        lower = fmt::format("L{},{}", x, coordinate(frame_.y(floor[k]))) + lower;
        floor[k] += add;
        upper += fmt::format("{}{},{}", k == 0 ? "M" : "L", x, coordinate(frame_.y(floor[k])));
      }
      svg_.open("g", {{"class", "series " + series_class(i)}});
      svg_.element("path", {{"class", "mark area"}, {"d", upper + lower + "Z"}});
      svg_.close("g");
    }
  }

  /// Bands from half way to the point before, to half way to the one behind.
  void hovers() {
    const std::vector<Hover>& at = chart_.hovers;
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double x = frame_.x(at[i].x);
      const double from = i == 0 ? at_.left : (frame_.x(at[i - 1].x) + x) / 2;
      const double to = i + 1 == at.size() ? at_.right : (x + frame_.x(at[i + 1].x)) / 2;
      svg_.element("rect", {{"class", "hit band"},
                            {"x", coordinate(from)},
                            {"y", coordinate(at_.top)},
                            {"width", coordinate(std::max(0.0, to - from))},
                            {"height", coordinate(at_.bottom - at_.top)},
                            {"data-tip", at[i].tip}});
    }
  }

  void tips(std::size_t i) {
    const Series& s = chart_.series[i];
    constexpr const char* reach = "10";
    for (std::size_t k = 0; k < std::min(s.tips.size(), s.points.size()); ++k) {
      if (!std::isfinite(s.points[k].y) || s.tips[k].empty()) continue;
      svg_.element("circle", {{"class", "hit"},
                              {"cx", coordinate(frame_.x(s.points[k].x))},
                              {"cy", coordinate(frame_.y(s.points[k].y))},
                              {"r", reach},
                              {"data-tip", s.tips[k]}});
    }
  }

  /// The first series, closed along the upper and along the lower edge of the area.
  void shade_sides() {
    const std::vector<Point>& points = chart_.series.front().points;
    const std::string curve = path_of(points);
    const double first = frame_.x(points.front().x), last = frame_.x(points.back().x);
    for (const auto& [css_class, edge] : {std::pair{"above", at_.top}, {"below", at_.bottom}}) {
      svg_.element("path",
                   {{"class", css_class},
                    {"d", fmt::format("{}L{},{}H{}Z", curve, coordinate(last), coordinate(edge), coordinate(first))}});
    }
  }

  void name_sides() {
    constexpr double inset = 12, line = 15;
    write(svg_, at_.left + inset, at_.top + line, "start", "strong", chart_.above);
    write(svg_, at_.right - inset, at_.bottom - inset, "end", "strong", chart_.below);
  }

  /// Words beside the area, and the point at its edge (or within, for a series that ends earlier) that they are of.
  struct Beside {
    Point from;
    std::string css_class, words;
    std::optional<std::size_t> mark = {};  ///< the series whose mark stands beside the name
  };

  /// Names stand beside what they name, pushed down where they would overlap, all of them up where there is no room.
  void write_beside() {
    std::vector<Beside> names;
    for (const Rule& r : chart_.rules) {
      if (!r.vertical)
        names.push_back({{at_.right, frame_.y(r.at)}, r.strong ? "rule-label strong" : "rule-label", r.label});
    }
    for (std::size_t i = 0; i < chart_.series.size(); ++i) {
      const Series& s = chart_.series[i];
      if (s.points.empty()) continue;
      if (chart_.shape == Shape::points) {  // no end that a name could stand at
        names.push_back({{at_.right, at_.top}, "name " + series_class(i), s.label, i});
      } else {
        names.push_back(
            {{frame_.x(s.points.back().x), frame_.y(s.points.back().y)}, "name " + series_class(i), s.label});
      }
    }
    std::stable_sort(names.begin(), names.end(), [](const Beside& a, const Beside& b) { return a.from.y < b.from.y; });
    constexpr double line = 15, leader = 14, below_middle = 4;
    std::vector<double> at;
    for (const Beside& b : names) at.push_back(std::max(b.from.y, at.empty() ? at_.top : at.back() + line));
    double most = at_.bottom;
    for (std::size_t i = at.size(); i-- > 0; most -= line) at[i] = std::min(at[i], most);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const double x = at_.right + leader;
      if (names[i].mark) {
        svg_.open("g", {{"class", "series " + series_class(*names[i].mark)}});
        svg_.element("path", {{"class", "mark point"}, {"d", point_path(x - below_middle, at[i], *names[i].mark)}});
        svg_.close("g");
      } else {
        svg_.element("path", {{"class", "leader"},
                              {"d", fmt::format("M{},{}L{},{}", coordinate(names[i].from.x),
                                                coordinate(names[i].from.y), coordinate(x), coordinate(at[i]))}});
      }
      write(svg_, x + below_middle, at[i] + below_middle, "start", names[i].css_class, names[i].words);
    }
  }

  void mark(const Marker& m) {
    const double x = frame_.x(m.at.x), y = frame_.y(m.at.y);
    svg_.element("circle", {{"class", "marker"}, {"cx", coordinate(x)}, {"cy", coordinate(y)}, {"r", "5.5"}});
    constexpr double beside = 10, below = 19;
    const bool left = x > (at_.left + at_.right) / 2;
    write(svg_, x + (left ? -beside : beside), y + below, left ? "end" : "start", "marker-label", m.label);
  }

  const Chart& chart_;
  Frame frame_;
  const Layout& at_;
  Svg svg_;
  bool names_beside_;
  double rule_line_ = 0;
};

/// Style of files, which no page's style sheet reaches. A halo around words keeps them readable where they cross lines.
constexpr const char* kStyle =
    "text { fill: #222222; paint-order: stroke; stroke: #FFFFFF; stroke-width: 3px; stroke-linejoin: round; }\n"
    ".strong, .marker-label { font-weight: bold; } .grid { stroke: #BBBBBB; stroke-width: 0.5; }\n"
    ".axis { fill: none; stroke: #222222; } .leader { fill: none; stroke: #888888; }\n"
    ".above { fill: #DDEDF7; } .below { fill: url(#hatch); }\n"
    ".rule { fill: none; stroke: #555555; stroke-dasharray: 7 4; } .rule-label { fill: #555555; }\n"
    ".rule.strong { stroke: #D55E00; stroke-width: 1.8; } .rule-label.strong, .marker-label { fill: #D55E00; }\n"
    ".marker { fill: #D55E00; stroke: #FFFFFF; stroke-width: 1.5; }\n"
    ".line { fill: none; stroke: #333333; stroke-width: 1.8; stroke-dasharray: 1 4; }\n"
    ".s0 .line { stroke: #0072B2; stroke-width: 2.5; stroke-dasharray: none; }\n"
    ".s1 .line { stroke: #007A5A; stroke-dasharray: 2 3; } .s2 .line { stroke: #8A3B6F; stroke-dasharray: 6 3; }\n"
    ".s3 .line { stroke: #7A5200; stroke-dasharray: 9 3 2 3; } .name.s0 { fill: #0072B2; font-weight: bold; }\n"
    ".name.s1 { fill: #007A5A; } .name.s2 { fill: #8A3B6F; } .name.s3 { fill: #7A5200; }\n";

constexpr const char* kPointStyle =
    ".point { fill: #333333; fill-opacity: 0.6; } .s0 .point { fill: #0072B2; } .s1 .point { fill: #007A5A; }\n"
    ".s2 .point { fill: #8A3B6F; } .s3 .point { fill: #7A5200; }\n";

}  // namespace

std::string to_svg(const Chart& chart, const std::string& id) {
  return Drawing(chart, kInPage, Svg::inlined(id, kInPage.width, kInPage.height, chart.title, chart.description), false)
      .draw();
}

std::string to_svg_file(const Chart& chart, const std::string& subtitle) {
  Svg svg(kOwnFile.width, kOwnFile.height, subtitle.empty() ? chart.title : chart.title + ": " + subtitle,
          chart.description);
  svg.text("style", {}, chart.shape == Shape::points ? std::string(kStyle) + kPointStyle : std::string(kStyle));
  svg.element("rect", {{"width", "100%"}, {"height", "100%"}, {"fill", "#FFFFFF"}});
  svg.open("pattern", {{"id", "hatch"},
                       {"width", "8"},
                       {"height", "8"},
                       {"patternUnits", "userSpaceOnUse"},
                       {"patternTransform", "rotate(45)"}});
  svg.element("rect", {{"width", "8"}, {"height", "8"}, {"fill", "#FBE6CF"}});
  svg.element("path", {{"d", "M0,0V8"}, {"stroke", "#E8C9A0"}, {"stroke-width", "2"}});
  svg.close("pattern");
  constexpr double title_at = 24, subtitle_at = 44;
  constexpr std::size_t most = 105;
  write(svg, kOwnFile.left, title_at, "start", "strong", chart.title);
  write(svg, kOwnFile.left, subtitle_at, "start", "soft", shortened(subtitle, most));
  return Drawing(chart, kOwnFile, std::move(svg), true).draw();
}

}  // namespace kvsim::plot
