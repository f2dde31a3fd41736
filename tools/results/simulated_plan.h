// What the search with the simulator in the loop found, as a part of a plan's document and page.
#pragma once

#include "planner/simulated/simulated_search.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

Json simulated_plan(const planner::SimulatedPlan& found);

/// The verdict in a sentence.
std::string simulated_verdict(const planner::SimulatedPlan& found);

Table simulated_table(const planner::SimulatedPlan& found);

}  // namespace kvsim::results
