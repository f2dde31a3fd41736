// What to say where no configuration meets the objectives at any rate. Internal to the capacity planner.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/capacity_plan.h"

namespace kvsim::planner::capacity {

/// Throws Infeasible: which objective was missed and by how much at the lowest rate probed, by the configuration that
/// came nearest; and why the others could not run.
[[noreturn]] void throw_nearest_miss(const std::vector<Configuration>& configurations, const ProbeOptions& options);

/// "TTFT p99 2.4 s > 2 s": what most of the misses of a probe are about.
std::string describe_misses(const Probe& probe, const serving::SloConfig& slo);

}  // namespace kvsim::planner::capacity
