#include "tools/plot/chart.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/plot/frame.h"
#include "tools/plot/svg.h"

namespace kvsim::plot {
namespace {

constexpr double kWidth = 560, kLeft = 196, kRight = 478, kTop = 8, kBelow = 46;
constexpr double kRow = 30, kThickness = 20;
constexpr std::size_t kLabelLetters = 30;

Scale scale_of(const Bars& bars) {
  std::vector<double> values;
  for (const Bar& bar : bars.bars) {
    for (const BarPart& p : bar.parts) values.insert(values.end(), {p.from, p.to});
  }
  return scale_for(ScaleKind::linear, values);
}

}  // namespace

std::string to_svg(const Bars& bars, const std::string& id) {
  const Scale scale = scale_of(bars);
  const double bottom = kTop + kRow * static_cast<double>(bars.bars.size());
  const auto x = [&scale](double value) { return kLeft + scale.share(value) * (kRight - kLeft); };
  Svg svg = Svg::inlined(id, kWidth, bottom + kBelow, bars.title, bars.description);
  constexpr double below = 16, beside = 8, below_middle = 4, title_below = 36;
  constexpr std::size_t wanted_ticks = 5;
  for (const double tick : scale.ticks(wanted_ticks)) {
    svg.element("line", {{"class", "grid"},
                         {"x1", coordinate(x(tick))},
                         {"y1", coordinate(kTop)},
                         {"x2", coordinate(x(tick))},
                         {"y2", coordinate(bottom)}});
    write(svg, x(tick), bottom + below, "middle", "tick", tick_text(tick));
  }
  for (std::size_t i = 0; i < bars.bars.size(); ++i) {
    const Bar& bar = bars.bars[i];
    const double top = kTop + kRow * static_cast<double>(i) + (kRow - kThickness) / 2;
    const double words = top + kThickness / 2 + below_middle;
    write(svg, kLeft - beside, words, "end", "tick", shortened(bar.label, kLabelLetters));
    double end = kLeft;
    for (const BarPart& part : bar.parts) {
      const double from = x(std::min(part.from, part.to)), to = x(std::max(part.from, part.to));
      end = std::max(end, to);
      svg.open("g", {{"class", "series " + series_class(part.series)}});
      svg.element("rect", {{"class", "mark bar hit"},
                           {"x", coordinate(from)},
                           {"y", coordinate(top)},
                           {"width", coordinate(to - from)},
                           {"height", coordinate(kThickness)},
                           {"data-tip", part.tip}});
      svg.close("g");
    }
    if (!bar.text.empty()) write(svg, end + beside, words, "start", "value", bar.text);
  }
  write(svg, (kLeft + kRight) / 2, bottom + title_below, "middle", "title", bars.x_title);
  return svg.document();
}

}  // namespace kvsim::plot
