#include "sim/serving/draft_lengths/proposals.h"

#include <algorithm>

namespace kvsim::serving {
namespace {

/// What is worth it at this price.
void choose(std::span<const double> survival, std::int64_t least, std::int64_t most, const ProposalCosts& costs,
            double price, std::span<std::int64_t> lengths) {
  std::fill(lengths.begin(), lengths.end(), least);
  const auto stride = static_cast<std::size_t>(most);
  for (std::int64_t i = least; i < most; ++i) {
    double worth = -price * costs.pass_s;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      worth += std::max(survival[r * stride + static_cast<std::size_t>(i)] - price * costs.token_s, 0.0);
    }
    if (worth <= 0) return;
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      if (survival[r * stride + static_cast<std::size_t>(i)] > price * costs.token_s) lengths[r] = i + 1;
    }
  }
}

}  // namespace

double proposal_rate(std::span<const double> survival, std::int64_t most, const ProposalCosts& costs,
                     std::span<const std::int64_t> lengths) {
  const auto stride = static_cast<std::size_t>(most);
  double tokens = 0, proposed = 0;
  std::int64_t passes = 0;
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    tokens += 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(lengths[r]); ++i) tokens += survival[r * stride + i];
    proposed += static_cast<double>(lengths[r]);
    passes = std::max(passes, lengths[r]);
  }
  return tokens / (costs.step_s + static_cast<double>(passes) * costs.pass_s + proposed * costs.token_s);
}

double best_proposals(std::span<const double> survival, std::int64_t least, std::int64_t most,
                      const ProposalCosts& costs, std::span<std::int64_t> lengths) {
  std::fill(lengths.begin(), lengths.end(), least);
  double rate = proposal_rate(survival, most, costs, lengths);
  constexpr int kMost = 20;  // the rate converges faster than by any constant factor a turn
  for (int turn = 0; turn < kMost; ++turn) {
    choose(survival, least, most, costs, rate, lengths);
    const double better = proposal_rate(survival, most, costs, lengths);
    if (better <= rate * (1 + 1e-9)) break;
    rate = better;
  }
  return rate;
}

}  // namespace kvsim::serving
