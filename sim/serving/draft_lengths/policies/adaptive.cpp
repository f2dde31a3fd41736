// Every request drafts what is best for its own agreement, as its rounds have shown it so far, at what a verification
// costs on this replica now. Waiting for reloads is part of that cost: it works as the price of the link, which all
// requests share. Where too many verifications are asked for, rounds wait, drafts become longer and verifications
// fewer, and those who agree often, to whom a longer draft costs least, lengthen theirs the most.
//
// The lengths of a drafter's proposals, which all of a step wait for, are chosen together for the batch.
#include <algorithm>
#include <vector>

#include "sim/serving/draft_lengths/agreement_keys.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {
namespace {

class Adaptive final : public DraftLengthPolicy {
 public:
  Adaptive(const DecodeConfig& config, double mean_agreement)
      : config_(config.draft_lengths),
        agreement_(config_.own.of<AgreementKeys>()),
        mean_(mean_agreement),
        usual_(fixed_draft_length(config)),
        longest_(draft_limit(config)) {}

  std::int64_t next(const Request& request, const DraftEstimate& estimate) override {
    const std::int64_t h = estimate.hidden;
    return best_draft_length(request.round.length->evidence, agreement_.prior_tokens, mean_, estimate.overhead,
                             config_.minimum + h, config_.maximum + h) -
           h;
  }

  /// Up to the draft whose chance of being accepted is no more than what it costs the others.
  std::int64_t limit(const Request& request, const DraftEstimate& estimate, std::int64_t chosen) override {
    if (estimate.price <= 0) return std::numeric_limits<std::int64_t>::max();
    return request.round.length->evidence.worth(agreement_.prior_tokens, mean_, estimate.price, chosen, longest_);
  }

  void propose(const DraftEstimate& estimate, const ProposalCosts& costs, std::span<std::int64_t> lengths) override {
    if (costs.step_s <= 0) {  // nothing is known: as many as the drafter was made for
      std::fill(lengths.begin(), lengths.end(), std::clamp(usual_, config_.minimum, config_.maximum));
      return;
    }
    const auto most = static_cast<std::size_t>(config_.maximum);
    survival_.assign(lengths.size() * most, 0.0);
    for (std::size_t r = 0; r < lengths.size(); ++r) {
      const Request& request = *estimate.decoding[r];
      const std::int64_t left = std::min(config_.maximum, request.remaining() - 1);
      request.round.length->evidence.survival(agreement_.prior_tokens, mean_, left, &survival_[r * most]);
    }
    best_proposals(survival_, config_.minimum, config_.maximum, costs, lengths);
  }

  void verified(const Request&, std::int64_t, std::int64_t) override {}  // what it goes by is the request's evidence

 private:
  const DraftLengthConfig& config_;
  AgreementKeys agreement_;
  double mean_;
  std::int64_t usual_;
  std::int64_t longest_;
  std::vector<double> survival_;  // of the step being decided; kept for its memory
};

}  // namespace

DraftLengthEntry draft_length_adaptive() {
  return {
      .name = "adaptive",
      .description =
          "for each request the best length by its own accepted and rejected drafts and by what its verifications cost",
      .place = 2,
      .keys = agreement_keys(),
      .longest = [](const DecodeConfig& config) { return config.draft_lengths.maximum; },
      .make = [](const DraftLengthParts& parts) -> std::unique_ptr<DraftLengthPolicy> {
        return std::make_unique<Adaptive>(parts.config.decode, parts.acceptance.survival(1));
      }};
}

}  // namespace kvsim::serving
