// Linear layers of a step, which stream the weights: all but the LM head, with the routed experts of a mixture.
#pragma once

#include <optional>
#include <vector>

#include "models/kernels/linear_shapes.h"
#include "models/kernels/operators/experts.h"
#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// LinearTimes are times of linear layers by the profile's fitted forms and tables.
class LinearTimes {
 public:
  /// `machine`: what the times are for; the profile's own machine scales its tables. Precondition:
  /// covers_linear().
  LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine, const Parallelism& parallel,
              CurveGrid grid = CurveGrid::fine);

  /// All layers but the LM head, for `tokens` > 0 tokens of a rank and `all_tokens` of all ranks.
  [[nodiscard]] SplitTime body(double tokens, double all_tokens) const {
    SplitTime body = body_.at(tokens);
    if (routed_.empty()) return body;
    if (shared_.empty()) return with_routed(body, routed_.at(all_tokens), 0, 0);
    const SplitTime shared = shared_.at(tokens);
    body.seconds += shared.seconds;
    body.memory_bound_s += shared.memory_bound_s;
    const bool beside = tokens <= kSharedExpertsBesideRouted;
    return with_routed(body, routed_.at(all_tokens), beside ? shared.seconds : 0,
                       beside ? streamed_.at(all_tokens).seconds : 0);
  }
  /// Whether a measured table has the shape of one of the layers.
  [[nodiscard]] bool has_tables() const { return has_tables_; }
  /// Largest number of tokens that was measured or fitted.
  [[nodiscard]] double valid_to() const { return valid_to_; }

 private:
  /// The routed experts with `body`, in which shared ones that run beside them take `shared_s`.
  static SplitTime with_routed(SplitTime body, const SplitTime& routed, double shared_s, double streamed_s) {
    const double more_s =
        shared_s > 0 ? beside_each_other_s(shared_s, routed.seconds, streamed_s) - shared_s : routed.seconds;
    return {body.seconds + more_s, body.memory_bound_s + std::min(routed.memory_bound_s, more_s)};
  }

  TokenCurve body_;
  // Where ranks share the routed experts, those by the tokens of all ranks; the shared ones by those of a rank; and
  // experts_streamed_s. Empty: all of it is in body_, or there are none.
  TokenCurve routed_, shared_, streamed_;
  double valid_to_ = 0;
  bool has_tables_ = false;
};

class LinearLayers {
 public:
  static constexpr const char *kName = "linear layers", *kBoundBy = kBoundByKernels;
  static constexpr double StepTime::*kClass = &StepTime::linear_s;

  explicit LinearLayers(const StepSetup& setup);

  void add(const RankStep& step, StepTime& time) const;
  [[nodiscard]] OperatorLoad load(const RankStep& step) const { return dense_load(step) + routed_load(step); }
  [[nodiscard]] double flops_per_s(const StepSetup& s) const {
    return s.machine.flops_per_s(s.model.arithmetic_format());
  }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>& figures) const;

  /// Parts of `all`, which is this operator of a mixture's step: the router with the shared experts, and the routed
  /// experts. `all` keeps the rest. Seconds are those of the forms of each, in proportion to the time of all; without
  /// forms the router and the shared experts have the share of what the layers' roofline is bound by.
  [[nodiscard]] std::vector<StepOperator> take_experts(const RankStep& step, const std::vector<UsedFigure>& figures,
                                                       StepOperator& all) const;

  /// Times by form; none: the roofline.
  [[nodiscard]] const std::optional<LinearTimes>& times() const { return times_; }
  /// Share of the layers' time that comes before attention: of weights that `tokens` read, the query, key and value
  /// projections', and of latent attention everything up to the absorbed keys.
  [[nodiscard]] double share_before_attention(const LlmSpec& model, double tokens) const;

 private:
  [[nodiscard]] OperatorLoad dense_load(const RankStep& step) const;
  [[nodiscard]] double weight_bytes_read(const LlmSpec& model, double tokens) const {
    return model.moe.experts > 0 ? model.weight_bytes_read(tokens) : dense_weight_bytes_;
  }

  std::optional<LinearTimes> times_;
  Roofline roofline_;
  double t0_s_ = 0;                // of all calls
  double dense_flops_ = 0;         // per token, without routed experts and LM head
  double dense_weight_bytes_ = 0;  // read by every pass of a dense model
  double head_weight_bytes_ = 0;   // of that, the LM head
  double qkv_weight_bytes_ = 0;    // of that, what comes before attention, all layers
};

}  // namespace kvsim::models
