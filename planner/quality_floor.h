// Whether outputs are as good as slo.quality_floor asks for, in the mean.
#pragma once

#include <limits>

namespace kvsim::planner {

/// By how much a mean task score, relative to that with the full KV, is below the floor: 0 where it reaches it,
/// rounding of a mean aside; infinity where the score is not known (NaN), which nobody may take for good.
[[nodiscard]] inline double below_quality_floor(double score, double floor) {
  constexpr double kRounding = 1e-9;
  if (!(score == score)) return std::numeric_limits<double>::infinity();
  return score >= floor - kRounding ? 0 : floor - score;
}

}  // namespace kvsim::planner
