// Whether two samples have equal values, in the same order.
#pragma once

#include "sim/engine/statistics.h"

namespace kvsim::testing {

/// As far as they keep them: of sketched ones, every answer they give is the same.
inline bool same(const engine::Sample& a, const engine::Sample& b) {
  if (a.count() != b.count()) return false;
  if (!a.sketched()) return a.values() == b.values();
  constexpr int percents = 100;
  for (int percent = 0; percent <= percents; ++percent) {
    const double q = static_cast<double>(percent) / percents;
    if (a.quantile(q) != b.quantile(q)) return false;
  }
  const engine::ConfidenceInterval of_a = a.batch_means_95(), of_b = b.batch_means_95();
  return a.mean() == b.mean() && of_a.mean == of_b.mean && of_a.half_width_95 == of_b.half_width_95;
}

}  // namespace kvsim::testing
