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

#include <cstdint>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "planner/paths/path_costs.h"

namespace kvsim::planner {

// How many rounds of drafting and verifying a request takes, and how many tokens it drafts in them.

struct ExpectedRounds {
  double rounds = 0;
  double drafts = 0;
};

/// Of a request of K output tokens that drafts min(x, what is left) tokens a round; a round yields the accepted ones
/// and one more, from the verifier. A renewal recursion over the tokens left, R(k) = 1 + sum_i P(i accepted) R(k - i -
/// 1), exact for rounds that are independent of each other; beyond 65,536 tokens carried on with its last slope.
/// Preconditions: K >= 1, x >= 1, and `acceptance` reaches to x.
ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x, std::int64_t K);

/// Averaged over requests of these numbers of output tokens, rounded and at least 1. Precondition: there are some.
ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x,
                               const std::vector<double>& outputs);

/// Preconditions: problem.steps is there, batch >= 1 in both pools.
PathCosts step_table(const PathProblem& problem, const PerPool& batch);

/// T_tok: s(B)/B; T_slot: s(B). N1 and N2 are expected numbers of rounds, without a ceiling.
PathTimes step_times(const PathProblem& problem, const PerPool& batch);

}  // namespace kvsim::planner
