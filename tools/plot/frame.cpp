#include "tools/plot/frame.h"

#include <iterator>

#include <fmt/format.h>

namespace kvsim::plot {

std::string series_class(std::size_t series) {
  return fmt::format("s{}", series % kSeriesClasses);
}

std::string point_path(double x, double y, std::size_t series) {
  constexpr const char* shapes[] = {
      "m-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0",                  // disc
      "m-4,-4h8v8h-8z",                                      // square
      "m0,-5l5,9h-10z",                                      // triangle
      "m0,-5.5l5.5,5.5l-5.5,5.5l-5.5,-5.5z",                 // diamond
      "m0,5l5,-9h-10z",                                      // triangle on its point
      "m-1.5,-5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5v-3h3.5z",  // plus
      "m-5,-2.5h10v5h-10z",                                  // bar
      "m-2.5,-5h5v10h-5z",                                   // post
  };
  static_assert(std::size(shapes) == kSeriesClasses);
  return fmt::format("M{},{}{}", coordinate(x), coordinate(y), shapes[series % kSeriesClasses]);
}

std::string shortened(std::string_view text, std::size_t most) {
  std::size_t characters = 0, keep = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0U) != 0x80U;
    if (begins && ++characters == most) keep = at;
  }
  return characters > most ? std::string(text.substr(0, keep)) + "\u2026" : std::string(text);
}

void write(Svg& svg, double x, double y, std::string_view anchor, std::string_view css_class, std::string_view words) {
  svg.text("text",
           {{"class", std::string(css_class)},
            {"x", coordinate(x)},
            {"y", coordinate(y)},
            {"text-anchor", std::string(anchor)}},
           words);
}

void write_upwards(Svg& svg, double x, double y, std::string_view words) {
  svg.text("text",
           {{"class", "title"},
            {"x", coordinate(x)},
            {"y", coordinate(y)},
            {"text-anchor", "middle"},
            {"transform", fmt::format("rotate(-90 {} {})", coordinate(x), coordinate(y))}},
           words);
}

void Frame::draw(Svg& svg) const {
  constexpr double below = 17, beside = 7, half_a_line = 4;
  for (const double tick : x_.scale.ticks()) {
    svg.element("line", {{"class", "grid"},
                         {"x1", coordinate(x(tick))},
                         {"y1", coordinate(at_.top)},
                         {"x2", coordinate(x(tick))},
                         {"y2", coordinate(at_.bottom)}});
    write(svg, x(tick), at_.bottom + below, "middle", "tick", tick_text(tick));
  }
  for (const double tick : y_.scale.ticks()) {
    svg.element("line", {{"class", "grid"},
                         {"x1", coordinate(at_.left)},
                         {"y1", coordinate(y(tick))},
                         {"x2", coordinate(at_.right)},
                         {"y2", coordinate(y(tick))}});
    write(svg, at_.left - beside, y(tick) + half_a_line, "end", "tick", tick_text(tick));
  }
  svg.element("path", {{"class", "axis"},
                       {"d", fmt::format("M{},{}V{}H{}", coordinate(at_.left), coordinate(at_.top),
                                         coordinate(at_.bottom), coordinate(at_.right))}});
  constexpr double title_below = 40, title_beside = 14;
  constexpr std::size_t most = 70, most_upwards = 42;
  write(svg, (at_.left + at_.right) / 2, at_.bottom + title_below, "middle", "title", shortened(x_.title, most));
  write_upwards(svg, title_beside, (at_.top + at_.bottom) / 2, shortened(y_.title, most_upwards));
}

}  // namespace kvsim::plot
