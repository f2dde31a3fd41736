// One draft length for all requests of the replica, the one with the most tokens/s predicted: goodput as in X. Liu et
// al., "Optimizing speculative decoding for serving large language models using goodput" (SmartSpec; later TurboSpec),
// arXiv 2406.14066. Agreement is estimated over all requests, and the time of a round comes from the simulation's own
// step timer at the present batch and mean context, where the paper has a linear model fitted to measured steps. Where
// drafts are verified on other GPUs, it is that of so many drafting iterations and of what rounds lately took beside
// them.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/serving/draft_lengths/agreement_keys.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/draft_lengths/round_rate.h"

namespace kvsim::serving {
namespace {

class Goodput final : public DraftLengthPolicy {
 public:
  explicit Goodput(const DraftLengthParts& parts)
      : parts_(parts),
        config_(parts.config.decode.draft_lengths),
        agreement_(config_.own.of<AgreementKeys>()),
        mean_(parts.acceptance.survival(1)),
        round_s_(static_cast<std::size_t>(config_.maximum) + 1) {}

  std::int64_t next(const Request& request, const DraftEstimate& estimate) override {
    if (estimate.elsewhere) {
      const double seen = evidence_.agreement(agreement_.prior_tokens, mean_);
      return best_draft_length([seen](std::int64_t x) { return expected_accepted(seen, x); }, estimate.overhead,
                               config_.minimum, config_.maximum);
    }
    if (!see(request, estimate) && !learned_) return shortened(estimate);
    learned_ = false;
    const double agreement = evidence_.agreement(agreement_.prior_tokens, mean_);
    length_ = config_.minimum;
    double best = 0;
    for (std::int64_t x = config_.minimum; x <= config_.maximum; ++x) {
      const double rate = (1 + expected_accepted(agreement, x)) / round_s_[static_cast<std::size_t>(x)];
      if (rate <= best) continue;
      best = rate;
      length_ = x;
    }
    return shortened(estimate);
  }

  void propose(const DraftEstimate& estimate, const ProposalCosts&, std::span<std::int64_t> lengths) override {
    std::fill(lengths.begin(), lengths.end(), next(*estimate.decoding.front(), estimate));
  }

  void verified(const Request&, std::int64_t drafted, std::int64_t accepted) override {
    evidence_.add_round(drafted, accepted, agreement_.forgetting);
    learned_ = true;
  }

 private:
  [[nodiscard]] std::int64_t shortened(const DraftEstimate& estimate) const {
    return std::max(config_.minimum, length_ - estimate.hidden);
  }

  /// Predicts rounds anew where the batch or its mean context has changed; says whether it did.
  bool see(const Request& request, const DraftEstimate& estimate) {
    constexpr double kNoticed = 0.02;  // change of the mean context
    const bool alone = estimate.decoding.empty();
    const double batch = alone ? 1.0 : static_cast<double>(estimate.decoding.size());
    double prompt = alone ? static_cast<double>(request.prompt) : 0;
    double generated = alone ? static_cast<double>(request.generated) : 0;
    for (const Request* r : estimate.decoding) {
      prompt += static_cast<double>(r->prompt) / batch;
      generated += static_cast<double>(r->generated) / batch;
    }
    const double context = prompt + generated;
    if (batch == batch_ && std::abs(context - context_) <= kNoticed * context_) return false;
    batch_ = batch;
    context_ = context;
    RoundBatch round{batch, std::llround(prompt), std::llround(generated)};
    for (std::int64_t x = config_.minimum; x <= config_.maximum; ++x) {
      round.draft_length = x;
      const RoundRate rate = predict_round(parts_.config, parts_.group, parts_.decode, parts_.geometry, parts_.timer,
                                           parts_.drafting, round);
      round_s_[static_cast<std::size_t>(x)] = rate.round_s;
    }
    return true;
  }

  DraftLengthParts parts_;
  const DraftLengthConfig& config_;
  AgreementKeys agreement_;
  double mean_;
  AgreementEvidence evidence_;   // of all requests
  std::vector<double> round_s_;  // by draft length
  double batch_ = 0;
  double context_ = 0;
  std::int64_t length_ = 1;
  bool learned_ = true;
};

}  // namespace

DraftLengthEntry draft_length_goodput() {
  return {.name = "goodput",
          .description =
              "one length for the replica: the one with the most tokens/s predicted, by the agreement of all requests "
              "lately, the batch and its contexts",
          .place = 4,
          .keys = agreement_keys(),
          .longest = [](const DecodeConfig& config) { return config.draft_lengths.maximum; },
          .make = [](const DraftLengthParts& parts) -> std::unique_ptr<DraftLengthPolicy> {
            return std::make_unique<Goodput>(parts);
          }};
}

}  // namespace kvsim::serving
