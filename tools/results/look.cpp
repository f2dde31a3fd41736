#include "tools/results/look.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::results {
namespace {

std::string code_of(const Look& look) {
  std::string code;
  const auto add = [&code](std::string_view more) { code += (code.empty() ? "" : ";") + std::string(more); };
  switch (look.tone) {
    case Tone::plain:
      break;
    case Tone::good:
      add("32");
      break;
    case Tone::best:
      add(look.shade ? "1" : "1;32");
      break;
    case Tone::bad:
      add("1;31");
      break;
    case Tone::faint:
      add("2");
      break;
  }
  if (look.shade) {
    const double step = std::floor(std::clamp(*look.shade, 0.0, 1.0) * static_cast<double>(kShades.size()));
    const ShadeColour& colour = kShades[std::min(static_cast<std::size_t>(step), kShades.size() - 1)];
    // 16 and 231 are black and white whatever the terminal's own colours are.
    add(fmt::format("48;5;{};38;5;{}", colour.background, colour.black_text ? 16 : 231));
  }
  return code;
}

}  // namespace

std::string painted(std::string_view text, const Look& look) {
  const std::string code = code_of(look);
  return code.empty() ? std::string(text) : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

double shade_of(double value, double worst, double best) {
  return best == worst ? 1.0 : std::clamp((value - worst) / (best - worst), 0.0, 1.0);
}

}  // namespace kvsim::results
