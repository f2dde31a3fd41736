// The latencies of a result as distributions: quantiles at fixed fractions. Internal to the result document.
#pragma once

#include "sim/serving/measurements.h"
#include "tools/results/section.h"

namespace kvsim::results {

// Why a latency may have no figures.
inline constexpr std::string_view kNoFirstToken = "no request got its first token in the measured time";
inline constexpr std::string_view kNoTpot = "no request of two or more output tokens finished in the measured time";
inline constexpr std::string_view kNoGap = "there was no gap between tokens in the measured time";
inline constexpr std::string_view kNothingFinished = "no request finished in the measured time";

/// Quantiles of ttft, tpot, itl and e2e, seconds, at the same fractions; null where nothing was measured.
Section latency_distribution(Section s, const serving::Measurements& m);

}  // namespace kvsim::results
