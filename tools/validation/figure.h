// A published or measured figure beside what the simulator makes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::validation {

enum class Measure {
  relative,  ///< the error is (simulated - expected) / |expected|
  absolute   ///< the error is simulated - expected: for shares, and where 0 is expected
};

enum class Claim {
  about,    ///< |error| <= tolerance
  at_most,  ///< error <= tolerance
  none      ///< nothing is published or measured: a prediction, whose expected figure is NaN
};

enum class Verdict {
  pass,
  outside,
  skipped,
  prediction  ///< there is nothing to judge it by
};

struct Figure {
  std::string id;    ///< unique, "group/name"
  std::string what;  ///< in words
  std::string unit;  ///< of expected and simulated; empty for counts and shares
  double expected = 0;
  double simulated = 0;         ///< NaN where it was not simulated
  double tolerance = 0;         ///< of the error, in its measure
  std::optional<double> aim{};  ///< what is wanted of the error's size, where the tolerance is what is reached
  Measure measure = Measure::relative;
  Claim claim = Claim::about;
  std::string source;                    ///< where the expected figure is from
  std::vector<std::string> assumptions;  ///< what had to be taken for granted to simulate it
  std::string skipped;                   ///< why it is not judged; empty: it is

  /// Infinite where 0 is expected, the measure is relative and something else was simulated; NaN where a figure is.
  [[nodiscard]] double error() const;
  /// A figure that is no number, or whose tolerance is none, is outside, unless it is a prediction.
  [[nodiscard]] Verdict verdict() const;
  /// Whether it is as good as is wanted; none where nothing is wanted, or it is not judged.
  [[nodiscard]] std::optional<bool> aim_met() const;
  /// Part of its id before the slash.
  [[nodiscard]] std::string_view group() const;
};

std::string_view to_string(Verdict verdict);

struct Tally {
  std::size_t passed = 0, outside = 0, skipped = 0, predicted = 0;
  std::size_t aims = 0, aims_met = 0;  ///< of figures that are judged
};

Tally tally(const std::vector<Figure>& figures);

/// The figures with `reason` as the reason why none of them is judged, and nothing simulated.
std::vector<Figure> all_skipped(std::vector<Figure> figures, const std::string& reason);

}  // namespace kvsim::validation
