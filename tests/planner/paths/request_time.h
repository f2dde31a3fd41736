// One request alone between two pools: how long it takes, in closed form.
#pragma once

#include "planner/paths/path_problem.h"

namespace kvsim::planner::testing {

struct RequestTime {
  double load_s = 0;   ///< until the node that makes the tokens can begin
  double rounds = 0;   ///< drafted and verified; 0 on B1 and B2
  double cycle_s = 0;  ///< of one round, on average
  double total_s = 0;
};

/// As printed: T_req = c KV/BW_l + K/(x g) T_cycle, T_cycle = max(x T_decode, KV/BW_h) + T_fwd(x). Loads are bytes over
/// bandwidth, T_decode and T_fwd the steps of PathProblem::steps with nothing else in them. Precondition:
/// problem.steps, best drawn through StepsOf::one_request.
RequestTime request_time_as_printed(const PathProblem& problem);

/// What a request alone really waits for: set-up and latency of loads, decompression, the messages of each round,
/// rounds that yield A(x) + 1 tokens and end with the request, and a full KV that cached verification loads once. On P2
/// all of it until the rest of the KV has arrived, then steps over the full KV; where that is before a first
/// verification could begin, the remote node verifies instead. Precondition as above.
RequestTime request_time(const PathProblem& problem, Path path);

}  // namespace kvsim::planner::testing
