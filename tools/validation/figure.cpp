#include "tools/validation/figure.h"

#include <array>
#include <cmath>
#include <limits>

namespace kvsim::validation {

double Figure::error() const {
  const double difference = simulated - expected;
  if (measure == Measure::absolute || std::isnan(difference)) return difference;
  if (expected == 0) {
    return difference == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), difference);
  }
  return difference / std::abs(expected);
}

Verdict Figure::verdict() const {
  if (!skipped.empty()) return Verdict::skipped;
  if (claim == Claim::none) return Verdict::prediction;
  // Comparisons with NaN are false.
  const bool within = tolerance >= 0 && (claim == Claim::at_most ? error() : std::abs(error())) <= tolerance;
  return within ? Verdict::pass : Verdict::outside;
}

std::optional<bool> Figure::aim_met() const {
  const Verdict v = verdict();
  if (!aim || (v != Verdict::pass && v != Verdict::outside)) return std::nullopt;
  return std::abs(error()) <= *aim;
}

std::string_view Figure::group() const {
  return std::string_view(id).substr(0, id.find('/'));
}

std::string_view to_string(Verdict verdict) {
  constexpr std::array kWords{"pass", "outside", "skipped", "prediction"};
  return kWords.at(static_cast<std::size_t>(verdict));
}

Tally tally(const std::vector<Figure>& figures) {
  Tally t;
  for (const Figure& f : figures) {
    if (const std::optional<bool> met = f.aim_met()) {
      ++t.aims;
      if (*met) ++t.aims_met;
    }
    switch (f.verdict()) {
      case Verdict::pass:
        ++t.passed;
        break;
      case Verdict::outside:
        ++t.outside;
        break;
      case Verdict::skipped:
        ++t.skipped;
        break;
      case Verdict::prediction:
        ++t.predicted;
        break;
    }
  }
  return t;
}

std::vector<Figure> all_skipped(std::vector<Figure> figures, const std::string& reason) {
  for (Figure& f : figures) {
    f.simulated = std::numeric_limits<double>::quiet_NaN();
    f.skipped = reason;
  }
  return figures;
}

}  // namespace kvsim::validation
