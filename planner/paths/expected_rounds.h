// How many rounds of drafting and verifying a request takes, and how many tokens it drafts in them.
#pragma once

#include <cstdint>
#include <vector>

#include "models/acceptance/acceptance.h"

namespace kvsim::planner {

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

}  // namespace kvsim::planner
