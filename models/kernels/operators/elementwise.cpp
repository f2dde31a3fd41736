#include "models/kernels/operators/elementwise.h"

#include "models/kernels/operators/attention.h"

namespace kvsim::models {

ElementwiseForm elementwise_form(const KernelProfile& profile) {
  if (profile.fitted.elementwise) return *profile.fitted.elementwise;
  ElementwiseForm roofline;
  roofline.stream.bandwidth_efficiency = profile.linear_bandwidth_efficiency.value;
  return roofline;
}

Elementwise::Elementwise(const StepSetup& s) {
  if (!s.profile.fitted.elementwise) return;
  std::string why;
  const bool rotary = s.model.attention != AttentionKind::mla || !covers_attention(s.profile, s.model, s.machine, why);
  kernels_ = elementwise_kernels(s.model, s.gpus, rotary);
  captured_kernels_ = elementwise_kernels(s.model, s.gpus, rotary, !s.profile.fused.norms || s.parallel.tensor == 1);
  curve_ = TokenCurve(
      [&](double tokens) {
        SplitTime sum;
        for (const ElementwiseKernel& k : kernels_of(s, tokens)) {
          sum.seconds += k.calls * s.profile.fitted.elementwise->seconds(k.bytes_per_token * tokens, s.machine);
        }
        return sum;
      },
      s.grid);
}

Elementwise::Around Elementwise::around_attention(const StepSetup& s, double tokens) const {
  if (tokens <= 0 || curve_.empty()) return {};
  Around a;
  double all_s = 0;
  for (const ElementwiseKernel& k : kernels_of(s, tokens)) {
    const double call_s = s.profile.fitted.elementwise->seconds(k.bytes_per_token * tokens, s.machine);
    all_s += k.calls * call_s;
    a.before_s += k.before * call_s;
    a.after_s += k.after * call_s;
  }
  const double scale = all_s > 0 ? curve_.at(tokens).seconds / all_s : 0;  // the curve interpolates
  a.before_s *= scale;
  a.after_s *= scale;
  return a;
}

}  // namespace kvsim::models
