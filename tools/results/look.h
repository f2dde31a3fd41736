// How a cell looks on a terminal with colour; without colour it is its text alone.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvsim::results {

enum class Tone : std::uint8_t {
  plain,
  good,   ///< green
  best,   ///< bold, and green where nothing is shaded
  bad,    ///< bold and red
  faint,  ///< dim: there is no figure
};

struct Look {
  Tone tone = Tone::plain;
  std::optional<double> shade = {};  ///< 0 (worst) to 1 (best): background of a heat map
};

/// A step of the scale of a heat map, as one of a terminal's 256 colours, with the text that is read on it.
struct ShadeColour {
  std::uint8_t background;
  bool black_text;
};

/// From dark blue over grey to yellow, after the map "cividis": lightness rises from step to step, and who cannot tell
/// red from green sees the same order. Source: Nuñez, Anderton, Renslow, PLOS ONE 13(7), 2018.
inline constexpr std::array<ShadeColour, 7> kShades{
    {{17, false}, {24, false}, {60, false}, {102, true}, {143, true}, {185, true}, {227, true}}};

/// `text` between the escape sequences that the look needs, if any.
std::string painted(std::string_view text, const Look& look);

/// Where `value` lies between the worst and the best, from 0 to 1; 1 where they are equal.
double shade_of(double value, double worst, double best);

}  // namespace kvsim::results
