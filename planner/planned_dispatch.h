// Dispatch policy "planned": weights from the path LP, the simulator having the last word.
#pragma once

#include <functional>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario with dispatch policy "weighted" in place of "planned" and the best of two plans; any other scenario as
/// it is. The plans are that of the path LP over all paths, and that over the paths with full KV alone. The LP sees no
/// queues and takes contexts as equal, so where the first drafts, a pilot run of each (at most five simulated minutes,
/// the scenario's seed) says which makes more tokens/s; within 1 % of each other, which finishes requests sooner.
/// `go_on`, which may be empty, is asked every so often; once it says no, the plan is any. Throws Infeasible, and what
/// a simulation throws.
scenario::Scenario with_best_planned_weights(const scenario::Scenario& scenario,
                                             const std::function<bool()>& go_on = {});

}  // namespace kvsim::planner
