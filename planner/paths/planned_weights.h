// Dispatch policy "planned": weights from the path LP.
#pragma once

#include <optional>

#include "planner/paths/path_plan.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario with dispatch policy "weighted" and the LP's requests/s by path as weights. Throws Infeasible.
/// Precondition: scenario.serving.cluster.pools.
scenario::Scenario with_planned_weights(const scenario::Scenario& scenario);

/// The same from a plan that was made of it.
scenario::Scenario with_weights(const scenario::Scenario& scenario, const PathRates& n);

/// With the best weights among the paths that serve with the full KV; nothing where it has no such paths, or no others.
std::optional<scenario::Scenario> with_full_kv_weights(const scenario::Scenario& scenario);

/// The rates, less those of paths that next to no request takes.
PathRates path_weights(const PathRates& n);

/// Whether the scenario's weights are still to be planned.
bool needs_planned_weights(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
