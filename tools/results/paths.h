// What `kvsim plan --paths` answers, for people and as a JSON document.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/paths/path_plan.h"
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

}  // namespace kvsim::results
