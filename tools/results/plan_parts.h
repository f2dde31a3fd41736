// What the files of the plan share.
#pragma once

#include <optional>
#include <string>

#include "tools/results/plan.h"

namespace kvsim::results {

using Baseline = std::optional<planner::OperatingPoint>;  ///< with the full KV; none: not even one fits

/// Of a plan from raw symbols: with d_e where there is a drafter.
Fields<planner::OperatingPoint> symbols_point_fields();

double speedup(const planner::OperatingPoint& point, const Baseline& full_kv);

/// "draft 35 tokens on KV kept to 0.20, 12 requests offloaded, 0 resident", or "decode with the full KV, 3 requests".
std::string in_words(const planner::OperatingPoint& point);

// Of the search with the simulator in the loop.
Fields<planner::SimulatedPlan> simulated_fields();
std::string simulated_verdict(const planner::SimulatedPlan& found);
Table simulated_table(const planner::SimulatedPlan& found);

}  // namespace kvsim::results
