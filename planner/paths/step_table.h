// The cost table of PathProblem::steps.
//
// B is the work in a step, in decoded tokens: a step takes s(B) = base + B token. A request that adds work w to it
// takes the share w/B of the GPU's time and waits for all of it; w alone where w > B. So the row of GPU time says that
// the steps assumed, s(B), are long enough for the work in them, and any rates that meet the rows can be had
// (step_plan.h).
//
// A round of P1 and P2 drafts (each token a step of the remote node), sends the drafts, is verified in one step of the
// local node, and gets its verdict back. Where the full KV is reread for each round, that begins with the drafting and
// hides behind it. Both nodes' slots are held from the first load on; stateless verification holds its own for its
// reload alone, and until it is verified.
#pragma once

#include "planner/paths/path_costs.h"

namespace kvsim::planner {

/// Preconditions: problem.steps is there, batch >= 1 in both pools.
PathCosts step_table(const PathProblem& problem, const PerPool& batch);

/// T_tok: s(B)/B; T_slot: s(B). N1 and N2 are expected numbers of rounds, without a ceiling.
PathTimes step_times(const PathProblem& problem, const PerPool& batch);

}  // namespace kvsim::planner
