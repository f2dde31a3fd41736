// The LM head of a step, which computes logits of the tokens that are sampled or verified.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/linear_shapes.h"
#include "models/kernels/operators/operator.h"

namespace kvsim::models {

class LmHead {
 public:
  static constexpr const char *kName = "LM head", *kBoundBy = kBoundByKernels;
  static constexpr double StepTime::*kClass = &StepTime::linear_s;

  explicit LmHead(const StepSetup& s)
      : roofline_(s.profile.linear_bandwidth_efficiency, s.profile.linear_compute_efficiency, s.gpu, flops_per_s(s)),
        t0_s_(s.profile.linear_t0_s.value),
        bytes_(s.model.head_weight_bytes()),
        token_flops_(2.0 * static_cast<double>(s.model.vocabulary * s.model.hidden)) {
    std::string why;
    if (!covers_linear(s.profile, s.model, s.machine, why)) return;
    const std::vector<LinearShape> shapes{head_shape(s.model, s.gpus)};
    curve_ =
        TokenCurve([&](double tokens) { return linear_times(s.profile, s.model, shapes, tokens, s.machine); }, s.grid);
  }

  void add(const RankStep& step, StepTime& time) const {
    const double logits = step.work.logit_tokens;
    if (logits <= 0) return;
    const double before_s = time.linear_s;
    if (curve_.empty()) time.linear_s += t0_s_;
    const SplitTime t = curve_.empty() ? roofline_.time(load(step), logits) : curve_.at(logits);
    time.linear_s += t.seconds;
    time.hbm_bound_s += t.memory_bound_s;
    time.head_s = curve_.empty() ? time.linear_s - before_s : t.seconds;
  }
  [[nodiscard]] OperatorLoad load(const RankStep& step) const {
    return {bytes_ / step.setup.gpus, token_flops_ * step.work.logit_tokens / step.setup.gpus};
  }
  [[nodiscard]] double flops_per_s(const StepSetup& s) const { return s.machine.flops_per_s(s.model.head_format()); }
  /// Figures have forms of linear layers in the order of the model's formats.
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>& figures) const {
    const Origin all = origin_of(figures, "linear", "profile.linear");
    if (all.from != "form") return all;
    const std::vector<NumberFormat> formats = step.setup.model.weight_formats();
    auto before = std::find(formats.begin(), formats.end(), step.setup.model.head_format()) - formats.begin();
    for (const UsedFigure& f : figures) {
      if (f.name == "profile.fitted.linear" && before-- == 0) return {"form", f.source, f.error};
    }
    return all;
  }

 private:
  TokenCurve curve_;  // empty: the roofline
  Roofline roofline_;
  double t0_s_, bytes_, token_flops_;
};

}  // namespace kvsim::models
