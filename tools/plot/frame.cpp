#include "tools/plot/frame.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include <fmt/format.h>

namespace kvsim::plot {
namespace {

/// The least of 1, 2, 2.5 and 5 times a power of ten that is not below `step`.
double round_up(double step) {
  const double power = std::pow(10.0, std::floor(std::log10(step)));
  for (const double times : {1.0, 2.0, 2.5, 5.0}) {
    if (times * power >= step * (1 - 1e-12)) return times * power;
  }
  return 10 * power;
}

/// Beyond these a step, a margin or a power of ten is no number any more.
bool can_be_shown(ScaleKind kind, double value) {
  constexpr double nearest = 1e-300, farthest = 1e300;
  if (kind == ScaleKind::linear && value == 0) return true;
  const double size = kind == ScaleKind::linear ? std::fabs(value) : value;
  return size >= nearest && size <= farthest;
}

/// Numbers 1, 2 and 5 times a power of ten within [least, most]; of more than four decades the powers alone.
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

}  // namespace

double Scale::share(double value) const {
  const double at =
      kind == ScaleKind::linear ? (value - least) / (most - least) : std::log(value / least) / std::log(most / least);
  return std::isnan(at) ? 0.0 : std::clamp(at, 0.0, 1.0);
}

std::vector<double> Scale::ticks(std::size_t wanted) const {
  if (kind == ScaleKind::logarithmic) {
    std::vector<double> at = log_ticks(least, most);
    constexpr std::size_t few = 3;  // within a decade round sums tell more
    if (at.size() >= few || most / least > 10) return at;
  }
  const double step = round_up((most - least) / static_cast<double>(std::max<std::size_t>(wanted, 1)));
  const double first = std::ceil(least / step - 1e-9), last = std::floor(most / step + 1e-9);
  std::vector<double> at;
  for (double i = first; i <= last; i += 1) at.push_back(i == 0 ? 0 : i * step);
  return at;
}

Scale scale_for(ScaleKind kind, const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity(), most = -least;
  for (const double v : values) {
    if (!can_be_shown(kind, v)) continue;
    least = std::min(least, v);
    most = std::max(most, v);
  }
  if (!(least <= most)) return kind == ScaleKind::linear ? Scale{kind, 0, 1} : Scale{kind, 1, 10};
  if (kind == ScaleKind::logarithmic) {
    constexpr double margin = 1.12;
    return {kind, least / margin, most * margin};
  }
  least = std::min(least, 0.0);
  most = std::max(most, 0.0);
  if (least == most) most = 1;
  constexpr double wanted = 6;
  const double step = round_up((most - least) / wanted);
  return {kind, std::floor(least / step + 1e-9) * step, std::ceil(most / step - 1e-9) * step};
}

std::string tick_text(double value) {
  constexpr double kThousands = 1e4, kPowers = 1e7;
  const double size = std::fabs(value);
  if (size < kThousands || size >= kPowers) return fmt::format("{:.6g}", value);
  std::string digits = fmt::format("{:.0f}", value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

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
