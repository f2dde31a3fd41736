#include "tools/plot/xy_chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::plot {
namespace {

bool has_marks(Shape shape) {
  return shape == Shape::points || shape == Shape::marked_line;
}

Scale x_scale_of(const XyChart& chart) {
  std::vector<double> values;
  for (const XySeries& s : chart.series) {
    for (const Point& p : s.points) values.push_back(p.x);
  }
  for (const Rule& r : chart.rules) {
    if (r.vertical) values.push_back(r.at);
  }
  Scale scale = scale_for(chart.x_scale, values);
  // Time and the like end where they end, not at the next round number.
  if (chart.x_scale == ScaleKind::linear && !has_marks(chart.shape) && !values.empty()) {
    const double most = *std::max_element(values.begin(), values.end());
    if (most > scale.least) scale.most = most;
  }
  return scale;
}

Scale y_scale_of(const XyChart& chart) {
  std::vector<double> values, sums;
  for (const XySeries& s : chart.series) {
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
  Scale scale = scale_for(chart.y_scale, values);
  if (chart.y_least && *chart.y_least < scale.most) scale.least = *chart.y_least;
  if (chart.y_most && *chart.y_most > scale.least) scale.most = *chart.y_most;
  return scale;
}

class Drawing {
 public:
  Drawing(const XyChart& chart, const std::string& id)
      : chart_(chart),
        frame_({chart.x_title, x_scale_of(chart)}, {chart.y_title, y_scale_of(chart)}),
        svg_(Svg::inlined(id, Frame::kWidth, Frame::kHeight, chart.title, chart.description)) {}

  std::string draw() {
    for (const Zone& z : chart_.zones) zone(z);
    frame_.draw(svg_);
    if (chart_.shape == Shape::stacked_areas) {
      areas();
    } else {
      for (std::size_t i = 0; i < chart_.series.size(); ++i) series(i);
    }
    for (const Rule& r : chart_.rules) rule(r);
    hovers();
    for (std::size_t i = 0; i < chart_.series.size(); ++i) tips(i);
    return svg_.document();
  }

 private:
  void zone(const Zone& z) {
    const double level = frame_.y(z.from);
    const double from = z.above ? Frame::kTop : level, to = z.above ? level : Frame::kBottom;
    svg_.element("rect", {{"class", "zone"},
                          {"x", coordinate(Frame::kLeft)},
                          {"y", coordinate(from)},
                          {"width", coordinate(Frame::kRight - Frame::kLeft)},
                          {"height", coordinate(std::max(0.0, to - from))}});
    constexpr double inset = 6, line = 14;
    const std::string label = shortened(z.label, 60);
    if (z.above) {
      write(svg_, Frame::kLeft + inset, level - inset, "start", "zone-label", label);
    } else {
      write(svg_, Frame::kRight - inset, level + line, "end", "zone-label", label);
    }
  }

  void rule(const Rule& r) {
    const double at = r.vertical ? frame_.x(r.at) : frame_.y(r.at);
    const std::string d =
        r.vertical ? fmt::format("M{},{}V{}", coordinate(at), coordinate(Frame::kTop), coordinate(Frame::kBottom))
                   : fmt::format("M{},{}H{}", coordinate(Frame::kLeft), coordinate(at), coordinate(Frame::kRight));
    svg_.element("path", {{"class", "rule"}, {"d", d}});
    constexpr double inset = 5, line = 14;
    const std::string label = shortened(r.label, 48);
    if (label.empty()) return;
    if (!r.vertical) {
      write(svg_, Frame::kRight - inset, at - inset, "end", "rule-label", label);
      return;
    }
    // Beside the rule, above the x axis, on the side with more room; of several, one above the other.
    const bool left = at > (Frame::kLeft + Frame::kRight) / 2;
    rule_line_ += line;
    write(svg_, left ? at - inset : at + inset, Frame::kBottom + inset - rule_line_, left ? "end" : "start",
          "rule-label", label);
  }

  void series(std::size_t i) {
    const XySeries& s = chart_.series[i];
    svg_.open("g", {{"class", "series " + series_class(i)}});
    if (chart_.shape != Shape::points) {
      const std::string d = path_of(s.points);
      if (!d.empty()) svg_.element("path", {{"class", "mark line"}, {"d", d}});
    }
    for (std::size_t k = 0; k < s.points.size(); ++k) {
      if (!std::isfinite(s.points[k].y)) continue;
      if (k < s.half_widths.size() && s.half_widths[k] > 0) interval(s.points[k], s.half_widths[k]);
      if (has_marks(chart_.shape)) point(s.points[k], i);
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
      const double from = i == 0 ? Frame::kLeft : (frame_.x(at[i - 1].x) + x) / 2;
      const double to = i + 1 == at.size() ? Frame::kRight : (x + frame_.x(at[i + 1].x)) / 2;
      svg_.element("rect", {{"class", "hit band"},
                            {"x", coordinate(from)},
                            {"y", coordinate(Frame::kTop)},
                            {"width", coordinate(std::max(0.0, to - from))},
                            {"height", coordinate(Frame::kBottom - Frame::kTop)},
                            {"data-tip", at[i].tip}});
    }
  }

  void tips(std::size_t i) {
    const XySeries& s = chart_.series[i];
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

  const XyChart& chart_;
  Frame frame_;
  Svg svg_;
  double rule_line_ = 0;
};

}  // namespace

std::string to_svg(const XyChart& chart, const std::string& id) {
  return Drawing(chart, id).draw();
}

}  // namespace kvsim::plot
