// What a result document says beyond the fixed keys. Internal to the result document.
#pragma once

#include "tools/results/result_document.h"
#include "tools/results/section.h"

namespace kvsim::results {

inline constexpr std::string_view kNotTimed =
    "a wall-clock figure differs between equal runs: ask for it with --timing";
inline constexpr std::string_view kTooShort = "the run was too short for the wall clock";

/// mean, p50, p90, p95, p99, max of a sample; null for `reason` where it is empty.
Section sample_section(Section s, const engine::Sample& sample, std::string_view reason);

/// Adds wall time and what was simulated per second of it; null unless `timing`.
void add_speed(Section& s, const planner::ExperimentResult& result, bool timing);

/// Everything under "details" but "reasons".
Section details_section(Section s, const Outcome& outcome, bool timing);

}  // namespace kvsim::results
