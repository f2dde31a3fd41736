// A scenario with two pools as a problem of the path LP.
#pragma once

#include "planner/paths/path_problem.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Which steps the straight lines of PathProblem::steps are drawn through.
enum class StepsOf {
  full_nodes,  ///< from one request to as many as fit: what a plan needs
  one_request  ///< one and two: exact for a request alone
};

/// Mean prompts and outputs of its workload, bytes and slots as the simulator counts them, step times from the
/// machine's kernel profile, and the paths that it allows and its nodes can take. Contexts are stored: the time of
/// prefilling is not in it. A limit that a pool's links share is one on how many of them are busy at once (the row
/// net), one on the storage node a row of its own. Throws Infeasible where a node's memory is too small for one
/// request. Precondition: scenario.serving.cluster.pools.
PathProblem path_problem(const scenario::Scenario& scenario, StepsOf lines = StepsOf::full_nodes);

}  // namespace kvsim::planner
