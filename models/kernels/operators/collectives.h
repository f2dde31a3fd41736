// Messages between the GPUs of a replica.
#pragma once

#include <string>
#include <vector>

#include "models/hardware/collectives.h"
#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// All-reduces of a pass: of each token, after attention or state and after the feed-forward block; the embedding's
/// comes once more.
[[nodiscard]] inline double all_reduces(const LlmSpec& model) {
  return static_cast<double>(model.sublayers());
}
/// bf16 activations and logits are what collectives carry.
inline constexpr double kCarriedBytes = 2;

class Collectives {
 public:
  static constexpr const char *kName = "collectives", *kBoundBy = "collectives";
  static constexpr double StepTime::*kClass = &StepTime::collectives_s;

  explicit Collectives(const StepSetup& setup);

  /// Each GPU has a part of the vocabulary: what it embeds is summed over all, and the logits of all are gathered.
  void add(const RankStep& step, StepTime& time) const;
  [[nodiscard]] OperatorLoad load(const RankStep& step) const;
  [[nodiscard]] double flops_per_s(const StepSetup&) const { return 0; }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>& figures) const;

  /// Collectives without a table, in words.
  [[nodiscard]] std::vector<std::string> estimates() const;

 private:
  double exchanges_;  // of tokens with experts, and back, where ranks share those, in place of a reduce
  CollectiveTimes all_reduce_, all_gather_;
  CollectiveTimes gather_tokens_;   // to the GPUs that share experts
  CollectiveTimes scatter_tokens_;  // and their sums back
  ElementwiseForm copy_;            // of a message
};

}  // namespace kvsim::models
