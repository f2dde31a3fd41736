// Attention over quantised KV, beside reading its bytes.
#pragma once

#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

class QuantisedAttention : public WithoutLoad {
 public:
  static constexpr const char *kName = "attention over quantised KV", *kBoundBy = "fixed times";
  static constexpr double StepTime::*kClass = &StepTime::attention_s;

  void add(const RankStep& step, StepTime& time) const {
    if (step.setup.profile.quantised) time.attention_s += seconds(step.setup, step.work);
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>&) const {
    return {"constant", step.setup.profile.quantised->layer_s.source};
  }

  /// Precondition: the profile has its costs.
  [[nodiscard]] double seconds(const StepSetup& s, const StepWork& work) const {
    const bool latent = s.model.attention == AttentionKind::mla;
    const std::int64_t elements =
        latent ? s.model.mla.kv_lora_rank + s.model.mla.qk_rope_head_dim : 2 * s.model.head_dim;
    return static_cast<double>(s.model.attention_layers()) *
           s.profile.quantised->layer_time_s(work, static_cast<double>(elements),
                                             static_cast<double>(s.model.heads) / s.gpus, s.gpu.multiprocessors.value);
  }
};

}  // namespace kvsim::models
