// The latencies of a result as distributions: quantiles at fixed fractions. Internal to the result document.
#pragma once

#include "sim/serving/measurements.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// Quantiles of ttft, tpot, itl and e2e, seconds, at the same fractions; null where nothing was measured.
Section latency_distribution(Section s, const serving::Measurements& m);

}  // namespace kvsim::results
