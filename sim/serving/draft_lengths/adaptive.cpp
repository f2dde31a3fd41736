// Every request drafts what is best for its own agreement, as its rounds have shown it so far, at what a verification
// costs on this replica now. Waiting for reloads is part of that cost: it works as the price of the link, which all
// requests share. Where too many verifications are asked for, rounds wait, drafts become longer and verifications
// fewer, and those who agree often, to whom a longer draft costs least, lengthen theirs the most.
#include "sim/serving/draft_lengths/policies.h"
#include "sim/serving/draft_lengths/round_value.h"

namespace kvsim::serving {
namespace {

class Adaptive final : public DraftLengthPolicy {
 public:
  Adaptive(const DraftLengthConfig& config, double mean_agreement) : config_(config), mean_(mean_agreement) {}

  std::int64_t next(const Request& request, const DraftOutlook& outlook) override {
    const std::int64_t h = outlook.hidden;
    return best_draft_length(request.draft.evidence, config_.prior_tokens, mean_, outlook.overhead, config_.minimum + h,
                             config_.maximum + h) -
           h;
  }

  void verified(const Request&, std::int64_t, std::int64_t) override {}  // what it goes by is the request's evidence

 private:
  const DraftLengthConfig& config_;
  double mean_;
};

}  // namespace

std::unique_ptr<DraftLengthPolicy> make_adaptive_drafts(const DraftLengthParts& parts) {
  return std::make_unique<Adaptive>(parts.config.decode.draft_lengths, parts.acceptance.survival(1));
}

}  // namespace kvsim::serving
