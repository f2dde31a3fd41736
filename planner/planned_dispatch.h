// Dispatch policy "planned": weights from the path LP, the simulator having the last word.
#pragma once

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario with dispatch policy "weighted" and the best of two plans: that of the path LP over all of its paths,
/// and that over the paths with full KV alone. The LP sees no queues and takes contexts as equal, so where the first
/// drafts, a pilot run of each (at most five simulated minutes, the scenario's seed) says which makes more tokens/s;
/// within 1 % of each other, which finishes requests sooner. Throws Infeasible, and what a simulation throws.
/// Precondition: needs_planned_weights(scenario).
scenario::Scenario with_best_planned_weights(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
