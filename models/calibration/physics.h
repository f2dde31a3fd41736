// Rows that cannot be true: published tables hold some, and every benchmark writes one sooner or later.
#pragma once

#include "models/calibration/sample_reader.h"

namespace kvsim::models {

/// How far above the datasheet's peak a row may be: what clocks and rounding of the figures explain.
inline constexpr double kAbovePeak = 1.05;

/// Takes rows out of `samples` (all of one machine) that are no times, beat the machine's peaks, or contradict another
/// row of the same work by more than a factor of two, and says which and why.
[[nodiscard]] std::vector<RefusedRow> refuse_impossible(Samples& samples, const Machine& machine);

/// Most elements per second and other limits say nothing about rows that fit the L2 cache and were read just before.
[[nodiscard]] bool may_hit_l2(double bytes, const Machine& machine);

}  // namespace kvsim::models
