// Launching the kernels of a step, where the profile says what that takes.
#pragma once

#include <algorithm>
#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// Whether a step runs as a captured CUDA graph.
[[nodiscard]] bool is_captured(const KernelProfile& profile, const StepWork& work);

class Launches : public WithoutLoad {
 public:
  static constexpr const char *kName = "launching kernels", *kBoundBy = "launches";
  static constexpr double StepTime::*kClass = &StepTime::overhead_s;

  explicit Launches(const StepSetup& setup);

  /// A graph's launch comes before its kernels; a launch of one kernel is hidden behind those before it. All other
  /// operators are in `time`.
  void add(const RankStep& step, StepTime& time) const {
    const LaunchCosts& costs = step.setup.profile.launch;
    if (step.faster.captured.value_or(is_captured(step.setup.profile, step.work))) {
      time.launch_s = costs.graph_s.value / step.faster.launches;
    } else {
      const double computing_s = time.linear_s + time.attention_s + time.collectives_s + time.overhead_s;
      time.launch_s = std::max(kernels_ * costs.kernel_s.value / step.faster.launches - computing_s, 0.0);
    }
    time.overhead_s += time.launch_s;
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    const LaunchCosts& costs = step.setup.profile.launch;
    return {"constant", (is_captured(step.setup.profile, step.work) ? costs.graph_s : costs.kernel_s).source};
  }

 private:
  double kernels_;  // of a pass
};

}  // namespace kvsim::models
