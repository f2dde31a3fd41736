// What `kvsim plan SCENARIO` answers for a scenario with two pools: the path LP's plan for it, and how it fares when it
// is simulated.
#pragma once

#include <optional>

#include "tools/results/paths.h"
#include "tools/results/result_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct PoolsPlan {
  scenario::Scenario scenario;
  PathsResult paths;
  /// Output tokens/s under the plan's weights: the plan's, or those of all that arrives where that is less.
  double predicted_tokens_per_s = 0;
  std::optional<Outcome> weighted, online;  ///< simulated: under these weights, and as dispatch policy online decides
  std::optional<Outcome> full_kv;           ///< where the plan drafts: under the best weights without that
};

/// Makes the plan and the purchases. Throws planner::Infeasible. Precondition: scenario.serving.cluster.pools.
PoolsPlan plan_pools(const scenario::Scenario& scenario);

/// A scenario's block `dispatch:` with the plan's weights.
std::string dispatch_yaml(const PoolsPlan& plan);

/// The keys of paths_document, with "derived", "dispatch" and "simulated" (null: it was not) in the details.
Json pools_plan_document(const PoolsPlan& plan);

Page pools_plan_page(const PoolsPlan& plan);

}  // namespace kvsim::results
