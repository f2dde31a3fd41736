// Whether outputs are as good as slo.quality_floor and slo.functional_floor ask for, in the mean.
#pragma once

#include <limits>

namespace kvsim::planner {

/// By how much a mean score, of a task or of functional correctness, relative to that with the full KV, is below its
/// floor: 0 where it reaches it, rounding of a mean aside; infinity where the score is not known (NaN).
[[nodiscard]] inline double below_quality_floor(double score, double floor) {
  constexpr double kRounding = 1e-9;
  if (!(score == score)) return std::numeric_limits<double>::infinity();
  return score >= floor - kRounding ? 0 : floor - score;
}

}  // namespace kvsim::planner
