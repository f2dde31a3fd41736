// Every round drafts as many tokens as the scenario says.
#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {
namespace {

class Fixed final : public DraftLengthPolicy {
 public:
  explicit Fixed(std::int64_t length) : length_(length) {}

  std::int64_t next(const Request&, const DraftEstimate&) override { return length_; }
  void verified(const Request&, std::int64_t, std::int64_t) override {}

 private:
  std::int64_t length_;
};

}  // namespace

DraftLengthEntry draft_length_fixed() {
  return {.name = "fixed",
          .description = "draft_length tokens in every round, or the drafter's",
          .place = 1,
          .longest = fixed_draft_length,
          .make = [](const DraftLengthParts& parts) -> std::unique_ptr<DraftLengthPolicy> {
            return std::make_unique<Fixed>(fixed_draft_length(parts.config.decode));
          }};
}

}  // namespace kvsim::serving
