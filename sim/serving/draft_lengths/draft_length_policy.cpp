#include "sim/serving/draft_lengths/draft_length_policy.h"

#include <algorithm>

#include "models/schema/object_schema.h"
#include "sim/serving/draft_lengths/agreement_keys.h"

namespace kvsim::serving {
namespace {

/// Sets each request's length to the number of tokens that are worth this price.
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

schema::KeyFragment agreement_keys() {
  schema::ObjectSchema<AgreementKeys> keys("agreement", "How often drafts agree, as it is estimated.");
  keys.optional("forgetting", &AgreementKeys::forgetting, schema::number().non_negative().at_most(1),
                "weight of the past, per round, in the estimate of the agreement (adaptive, goodput)");
  keys.optional("prior_tokens", &AgreementKeys::prior_tokens, schema::number().positive(),
                "drafted tokens at the mean agreement that the estimate takes as seen (adaptive, goodput)");
  return keys.fragment("estimates nothing");
}

void DraftLengthPolicy::propose(const DraftEstimate& estimate, const ProposalCosts&, std::span<std::int64_t> lengths) {
  for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] = next(*estimate.decoding[i], estimate);
}

std::int64_t fixed_draft_length(const DecodeConfig& config) {
  const DecodePolicy* policy = find_decode_policy(config.policy);
  return policy && policy->proposes() && config.drafter ? config.drafter->tokens() : config.draft_length;
}

std::int64_t longest_draft(const DecodeConfig& config) {
  return find_draft_length_policy(config.draft_lengths.policy)->longest(config);
}

void AgreementEvidence::add_round(std::int64_t drafted, std::int64_t accepted_now, double forgetting) {
  const auto agreed = static_cast<double>(accepted_now);
  accepted = forgetting * accepted + agreed;
  trials = forgetting * trials + agreed + (accepted_now < drafted ? 1.0 : 0.0);
}

double AgreementEvidence::agreement(double prior, double mean) const {
  return (accepted + prior * mean) / (trials + prior);
}

void AgreementEvidence::survival(double prior, double mean, std::int64_t count, double* s) const {
  constexpr double kNegligible = 1e-6;
  const double p = accepted + prior * mean;
  const double total = trials + prior;
  double reached = 1;
  for (std::int64_t i = 0; i < count && reached > kNegligible; ++i) {
    const auto before = static_cast<double>(i);
    reached *= (p + before) / (total + before);
    s[i] = reached;
  }
}

std::int64_t AgreementEvidence::worth(double prior, double mean, double price, std::int64_t from,
                                      std::int64_t most) const {
  const double p = accepted + prior * mean;
  const double total = trials + prior;
  double reached = 1;
  for (std::int64_t i = 0; i < most; ++i) {
    const auto before = static_cast<double>(i);
    reached *= (p + before) / (total + before);
    if (i >= from && reached <= price) return i;
  }
  return most;
}

std::int64_t best_draft_length(const AgreementEvidence& evidence, double prior, double mean, double v,
                               std::int64_t least, std::int64_t most) {
  const double p = evidence.accepted + prior * mean;
  const double total = evidence.trials + prior;
  double survival = 1, accepted = 0;
  for (std::int64_t x = 0; x < most; ++x) {
    const auto drafts = static_cast<double>(x);
    survival *= (p + drafts) / (total + drafts);  // S(x + 1)
    // One more draft is worth it while S(x + 1) (x + v) > 1 + A(x).
    if (x >= least && survival * (drafts + v) <= 1 + accepted) return x;
    accepted += survival;
  }
  return most;
}

std::int64_t draft_limit(const DecodeConfig& decode) {
  const std::int64_t longest = longest_draft(decode);
  if (decode.draft_limit == 0) return 2 * longest;
  return std::max(decode.draft_limit, longest);  // strict is below any length
}

std::int64_t most_proposed(const DecodeConfig& config, const DecodePolicy& decode) {
  if (decode.proposes()) return longest_draft(config);
  return decode.drafter ? config.drafter->tokens() : 0;
}

std::int64_t draft_room(const DecodeConfig& config, const DecodePolicy& decode) {
  if (decode.verifies) return draft_limit(config) + 1;
  const std::int64_t proposed = most_proposed(config, decode);
  if (decode.fetch == Fetch::speculative) return config.prefetch.query_tokens + 1 + 2 * proposed;
  return 1 + (decode.drafter ? config.drafter->verified(proposed) : proposed);
}

}  // namespace kvsim::serving
