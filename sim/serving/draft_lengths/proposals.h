// How many tokens an auxiliary drafter should propose for each request of a step. All of the batch waits for the
// drafter's passes, one after the other, so that the lengths are chosen together.
#pragma once

#include <cstdint>
#include <span>

namespace kvsim::serving {

/// A step of b_i requests for which at least i tokens are proposed takes
///   T = step_s + sum_i (b_i > 0 ? pass_s : 0) + token_s sum_i b_i.
struct ProposalCosts {
  double step_s = 0;   ///< without proposals; 0: not known yet
  double pass_s = 0;   ///< of a pass of the drafter, whomever it is for
  double token_s = 0;  ///< of one more token: to propose it and to verify it
};

/// Sets the lengths with the most tokens/s, sum_r (1 + A_r(n_r)) / T, and returns that rate. survival[r most + i - 1]
/// is S_r(i), falling in i, and 0 where i tokens cannot be proposed. No length is below `least`, or above `most`.
/// Precondition: costs.step_s > 0.
///
/// By Dinkelbach's method: at a price of lambda tokens/s, token i of request r is worth S_r(i) - lambda token_s, and
/// pass i what its tokens are worth together, less lambda pass_s; both fall with i. The rate of what is worth it is the
/// next price, until it rises no more.
double best_proposals(std::span<const double> survival, std::int64_t least, std::int64_t most,
                      const ProposalCosts& costs, std::span<std::int64_t> lengths);

/// The rate of these lengths.
[[nodiscard]] double proposal_rate(std::span<const double> survival, std::int64_t most, const ProposalCosts& costs,
                                   std::span<const std::int64_t> lengths);

}  // namespace kvsim::serving
