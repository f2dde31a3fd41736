#include "tools/plot/chart.h"

#include <algorithm>

#include "tools/plot/frame.h"
#include "tools/plot/svg.h"

namespace kvsim::plot {
namespace {

constexpr double kWidth = 560, kLeft = 196, kTop = 8, kBelow = 46, kBeside = 8;
constexpr double kRow = 30, kThickness = 20;
constexpr std::size_t kLabelLetters = 27;  // that kLeft has room for in a wide font

Scale scale_of(const Bars& bars) {
  std::vector<double> values;
  for (const Bar& bar : bars.bars) {
    for (const BarPart& p : bar.parts) values.insert(values.end(), {p.from, p.to});
  }
  return scale_for(ScaleKind::linear, values);
}

/// Where the longest bar ends: the longest figure has room behind it.
double right_of(const Bars& bars) {
  constexpr double letter = 7, fewest = 10;
  std::size_t letters = 0;
  for (const Bar& bar : bars.bars) letters = std::max(letters, bar.text.size());
  return kWidth - kBeside - 4 - letter * std::max(fewest, static_cast<double>(letters));
}

}  // namespace

std::string to_svg(const Bars& bars, const std::string& id) {
  const Scale scale = scale_of(bars);
  const double bottom = kTop + kRow * static_cast<double>(bars.bars.size());
  const double right = right_of(bars);
  const auto x = [&](double value) { return kLeft + scale.share(value) * (right - kLeft); };
  Svg svg = Svg::inlined(id, kWidth, bottom + kBelow, bars.title, bars.description);
  constexpr double below = 16, below_middle = 4, title_below = 36;
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
    write(svg, kLeft - kBeside, words, "end", "tick", shortened(bar.label, kLabelLetters));
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
    if (!bar.text.empty()) write(svg, end + kBeside, words, "start", "value", bar.text);
  }
  write(svg, (kLeft + right) / 2, bottom + title_below, "middle", "title", bars.x_title);
  return svg.document();
}

}  // namespace kvsim::plot
