// Sampling: choosing the next tokens from logits.
#pragma once

#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// It takes no time where the profile has no table of it.
class Sampler : public WithoutLoad {
 public:
  static constexpr const char *kName = "sampling", *kBoundBy = "fixed times";
  static constexpr double StepTime::*kClass = &StepTime::overhead_s;

  void add(const RankStep& step, StepTime& time) const { time.overhead_s += seconds(step.setup, step.work); }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    return {"table", step.setup.profile.tables.sampler_source};
  }

  [[nodiscard]] double seconds(const StepSetup& s, const StepWork& work) const {
    const double sequences = work.sampled > 0 ? work.sampled : work.logit_tokens;
    const std::vector<TimePoint>& points = s.profile.tables.sampler;
    if (points.empty() || sequences <= 0) return 0;
    if (sequences <= points.front().size) return points.front().seconds;
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (sequences > points[i].size) continue;
      const double share = (sequences - points[i - 1].size) / (points[i].size - points[i - 1].size);
      return points[i - 1].seconds + share * (points[i].seconds - points[i - 1].seconds);
    }
    return points.back().seconds * sequences / points.back().size;
  }
};

}  // namespace kvsim::models
