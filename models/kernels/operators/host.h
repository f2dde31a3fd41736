// Time of the host in an iteration, beside launching kernels.
#pragma once

#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// Scheduling and what every iteration takes.
class Iteration : public WithoutLoad {
 public:
  static constexpr const char *kName = "launch and scheduling of an iteration", *kBoundBy = "host";
  static constexpr double StepTime::*kClass = &StepTime::overhead_s;

  void add(const RankStep& step, StepTime& time) const {
    time.overhead_s += step.setup.profile.iteration_overhead_s.value;
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    return {"constant", step.setup.profile.iteration_overhead_s.source};
  }
};

/// Verifying drafts takes time of the host and of every layer.
class DraftRound : public WithoutLoad {
 public:
  static constexpr const char *kName = "verifying drafts, beside kernels", *kBoundBy = "fixed times";
  static constexpr double StepTime::*kClass = &StepTime::overhead_s;

  void add(const RankStep& step, StepTime& time) const {
    const std::optional<DraftCosts>& d = step.setup.profile.drafts;
    if (d) time.overhead_s += d->host_s(step.work) / step.faster.host + d->layers_s(step.work, step.setup.model);
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    const DraftCosts& d = *step.setup.profile.drafts;
    return {"constant", d.round_s.value > 0 ? d.round_s.source : d.layer_s.source};
  }
};

}  // namespace kvsim::models
