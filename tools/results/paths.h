// Answers of `kvsim plan --paths`, and of `kvsim plan SCENARIO` for a scenario with two pools (the path LP's plan for
// it, and how it fares when it is simulated), for people and as JSON documents.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/paths/path_plan.h"
#include "tools/results/numbers.h"
#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct PathsResult {
  std::string file;  ///< as the user named it
  planner::PathProblem problem;
  planner::PathPlan plan;
  std::optional<planner::PathPlan> other;  ///< the same problem under the other reading of the slot time; none: one
  std::vector<planner::Purchase> purchases;
};

/// Makes the plan, the other reading's and the purchases. Throws planner::Infeasible.
PathsResult plan_paths(std::string file, const planner::PathProblem& problem);

Page paths_page(const PathsResult& result);

/// Keys and their order are fixed; "shadow_prices" are tokens/s per unit of each row's limit, null for an empty pool.
Json paths_document(const PathsResult& result);
KeyList paths_keys();

struct PoolsPlan {
  scenario::Scenario scenario;
  PathsResult paths;
  /// Output tokens/s under the plan's weights: the plan's, or those of all that arrives where that is less.
  double predicted_tokens_per_s = 0;
  std::optional<Outcome> weighted, online;  ///< simulated: under these weights, and as dispatch policy online decides
  std::optional<Outcome> full_kv;           ///< where the plan drafts: under the best weights without that
};

/// Makes the plan and the purchases. Throws planner::Infeasible. Precondition: requests take paths.
PoolsPlan plan_pools(const scenario::Scenario& scenario);

/// A scenario's block `dispatch:` with the plan's weights.
std::string dispatch_yaml(const PoolsPlan& plan);

/// The keys of paths_document, with "derived", "dispatch" and "simulated" (null: it was not) in the details.
Json pools_plan_document(const PoolsPlan& plan);
KeyList pools_plan_keys();

Page pools_plan_page(const PoolsPlan& plan);

}  // namespace kvsim::results
