// Norms, rotary embedding and activations of a step: passes over its tokens.
#pragma once

#include <vector>

#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// The profile's form of passes over memory; without one there is no fixed cost, and they have the weights' share of
/// the memory bandwidth.
[[nodiscard]] ElementwiseForm elementwise_form(const KernelProfile& profile);

/// They take no time where the profile has no form of them.
class Elementwise : public WithoutLoad {
 public:
  static constexpr const char *kName = "norms and activations", *kBoundBy = "fixed times";
  static constexpr double StepTime::*kClass = &StepTime::overhead_s;

  explicit Elementwise(const StepSetup& setup);

  void add(const RankStep& step, StepTime& time) const {
    if (!curve_.empty()) time.overhead_s += curve_.at(step.tokens).seconds;
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    return {"form", step.setup.profile.fitted.elementwise->source};
  }

  /// Seconds of those that come before and after attention, in all layers.
  struct Around {
    double before_s = 0, after_s = 0;
  };
  [[nodiscard]] Around around_attention(const StepSetup& setup, double tokens) const;

 private:
  [[nodiscard]] const std::vector<ElementwiseKernel>& kernels_of(const StepSetup& s, double tokens) const {
    return tokens <= static_cast<double>(s.profile.captured_tokens) ? captured_kernels_ : kernels_;
  }

  TokenCurve curve_;  // empty: the profile has no form
  std::vector<ElementwiseKernel> kernels_;
  std::vector<ElementwiseKernel> captured_kernels_;  // of them, those of a step that is captured
};

}  // namespace kvsim::models
