// What tests look at of a run whose draft lengths were chosen.
#pragma once

#include <cstddef>

#include "sim/serving/measurements.h"

namespace kvsim::testing {

inline double tokens_per_s(const serving::Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

inline double regret(const serving::Measurements& m) {
  return 1 - m.draft_lengths.expected_tokens / m.draft_lengths.best_tokens;
}

inline double mean_length(const serving::Measurements& m) {
  double sum = 0, count = 0;
  for (std::size_t x = 0; x < m.draft_lengths.rounds.size(); ++x) {
    sum += static_cast<double>(x) * static_cast<double>(m.draft_lengths.rounds[x]);
    count += static_cast<double>(m.draft_lengths.rounds[x]);
  }
  return sum / count;
}

}  // namespace kvsim::testing
