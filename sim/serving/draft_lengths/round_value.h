// What a round of x drafts is worth: 1 + A(x) tokens for the time of x + v drafting iterations, v being all of the
// round that does not grow with x. A(x) = sum_{i=1..x} S(i) is concave, since S falls, so that the rate has one
// maximum.
#pragma once

#include <cmath>
#include <cstdint>

#include "sim/serving/draft_lengths/draft_state.h"

namespace kvsim::serving {

/// A(x) of a constant agreement a: a (1 - a^x) / (1 - a).
[[nodiscard]] inline double expected_accepted(double a, std::int64_t x) {
  if (a >= 1) return static_cast<double>(x);
  return a * (1 - std::pow(a, static_cast<double>(x))) / (1 - a);
}

/// The x in [least, most] with the highest (1 + A(x)) / (x + v), the shortest where several have it. `accepted(x)` is
/// A(x), concave.
template <class Accepted>
[[nodiscard]] std::int64_t best_draft_length(Accepted&& accepted, double v, std::int64_t least, std::int64_t most) {
  while (least < most) {
    const std::int64_t x = least + (most - least) / 2;
    const auto drafts = static_cast<double>(x);
    const bool longer = (1 + accepted(x + 1)) * (drafts + v) > (1 + accepted(x)) * (drafts + 1 + v);
    (longer ? least : most) = longer ? x + 1 : x;
  }
  return least;
}

/// The same for an agreement that is only known from `evidence`, beside `prior` trials of mean `mean`: expected over
/// the Beta distribution that these give, S(i) = E[a^i] = prod_{j<i} (p + j) / (p + q + j). With much evidence that is
/// the constant agreement; with little, drafts are longer than its mean asks for, as those who always agree gain more
/// by it than the others lose.
[[nodiscard]] std::int64_t best_draft_length(const AgreementEvidence& evidence, double prior, double mean, double v,
                                             std::int64_t least, std::int64_t most);

}  // namespace kvsim::serving
