#include "models/kernels/operators/linear.h"

#include <algorithm>

namespace kvsim::models {
namespace {

/// Parameters of all layers that a token multiplies with before its attention scores.
double parameters_before_attention(const LlmSpec& m) {
  if (m.window_heads_differ()) {
    return parameters_before_attention(m.full_part()) + parameters_before_attention(m.window_part());
  }
  const auto layers = static_cast<double>(m.attention_layers()), shared = static_cast<double>(m.shared_kv_layers);
  const double states = static_cast<double>(m.state.layers) * static_cast<double>(m.hidden * m.state.in_width);
  if (m.attention != AttentionKind::mla) {
    return layers * static_cast<double>(m.hidden * (m.heads + 2 * m.kv_heads) * m.head_dim) -
           shared * static_cast<double>(m.hidden * 2 * m.kv_heads * m.head_dim) + states;
  }
  const MlaShape& s = m.mla;
  const std::int64_t width = m.heads * (s.qk_nope_head_dim + s.qk_rope_head_dim);
  const std::int64_t query = s.q_lora_rank > 0 ? s.q_lora_rank * (m.hidden + width) : m.hidden * width;
  const std::int64_t latent = m.hidden * (s.kv_lora_rank + s.qk_rope_head_dim);
  return layers * static_cast<double>(query + latent + s.kv_lora_rank * m.heads * s.qk_nope_head_dim) + states;
}

/// Attention's projections have a format of their own.
double attention_bytes_per_parameter(const LlmSpec& m) {
  if (m.weight_bytes_override > 0) return static_cast<double>(m.weight_bytes()) / static_cast<double>(m.parameters());
  return m.stated_attention_format ? bytes_per_element(*m.stated_attention_format) : m.weight_bytes_per_parameter;
}

/// Seconds of a mixture's linear layers by their forms, at these tokens.
struct MixtureTime {
  double all_s = 0;
  double beside_s = 0;      // router and shared experts, as far as routed ones do not hide them
  double routed_s = 0;      // no more than both take
  double hidden_share = 0;  // of the shared experts, what runs while routed ones do
};

MixtureTime mixture_time(const RankStep& step) {
  const StepSetup& s = step.setup;
  const auto sum_s = [&](const std::vector<LinearShape>& shapes) {
    return linear_times(s.profile, s.model, shapes, step.tokens, s.machine).seconds;
  };
  const double routed_s = routed_time(s.profile, s.model, s.parallel, s.machine, step.all_tokens).seconds;
  const double shared_s = sum_s(shared_expert_shapes(s.model, s.gpus));
  double both_s = shared_s + routed_s;
  if (shared_s > 0 && step.tokens <= kSharedExpertsBesideRouted) {
    both_s =
        beside_each_other_s(shared_s, routed_s, experts_streamed_s(s.model, s.parallel, s.machine, step.all_tokens));
  }
  const double unhidden_s = std::max(both_s - routed_s, 0.0);
  return {sum_s(body_shapes(s.model, s.gpus)) - shared_s + both_s, sum_s({router_shape(s.model)}) + unhidden_s,
          std::min(routed_s, both_s), shared_s > 0 ? 1 - std::min(unhidden_s / shared_s, 1.0) : 0};
}

}  // namespace

LinearTimes::LinearTimes(const KernelProfile& profile, const LlmSpec& model, const Machine& machine,
                         const Parallelism& parallel, CurveGrid grid) {
  const auto gpus = static_cast<double>(parallel.tensor);
  const auto time_of = [&](const std::vector<LinearShape>& of, double tokens) {
    return linear_times(profile, model, of, tokens, machine);
  };
  std::vector<LinearShape> shapes = body_shapes(model, gpus);
  for (const NumberFormat weights : model.weight_formats()) {
    const double to = form_for(profile.fitted.linear, &LinearForm::weights, weights)->valid_to;
    if (to > 0) valid_to_ = valid_to_ > 0 ? std::min(valid_to_, to) : to;
  }
  const MoeForm* experts =
      model.moe.experts > 0 ? form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format()) : nullptr;
  if (experts != nullptr && experts->valid_to > 0) {
    valid_to_ = valid_to_ > 0 ? std::min(valid_to_, experts->valid_to) : experts->valid_to;
  }
  const auto routed_s = [&](double tokens) { return routed_time(profile, model, parallel, machine, tokens); };
  const auto streamed_s = [&](double tokens) { return experts_streamed_s(model, parallel, machine, tokens); };
  const std::vector<LinearShape> shared = shared_expert_shapes(model, gpus);
  const bool ranks_share = experts != nullptr && parallel.attention_data > 1;
  const std::vector<LinearShape> not_shared(shapes.begin(), shapes.end() - std::ssize(shared));  // those come last
  body_ = TokenCurve(
      [&](double tokens) {
        if (ranks_share) return time_of(not_shared, tokens);
        if (experts == nullptr) return time_of(shapes, tokens);
        const bool beside = tokens <= kSharedExpertsBesideRouted;
        return with_routed(time_of(shapes, tokens), routed_s(tokens), beside ? time_of(shared, tokens).seconds : 0,
                           streamed_s(tokens));
      },
      grid);
  if (ranks_share) {
    routed_ = TokenCurve(routed_s, grid);
    if (!shared.empty()) {
      shared_ = TokenCurve([&](double tokens) { return time_of(shared, tokens); }, grid);
      streamed_ = TokenCurve([&](double tokens) { return SplitTime{streamed_s(tokens), 0}; }, grid);
    }
  }
  shapes.push_back(head_shape(model, gpus));
  has_tables_ = std::any_of(profile.tables.linear.begin(), profile.tables.linear.end(), [&](const LinearTable& t) {
    return std::any_of(shapes.begin(), shapes.end(), [&](const LinearShape& s) {
      return t.weights == weights_of(model, s) && s.n == t.n && s.k == t.k;
    });
  });
}

LinearLayers::LinearLayers(const StepSetup& s)
    : roofline_(s.profile.linear_bandwidth_efficiency, s.profile.linear_compute_efficiency, s.gpu, flops_per_s(s)),
      t0_s_(s.profile.linear_t0_s.value * (linear_calls_per_pass(s.model) - 1)),
      dense_weight_bytes_(s.model.weight_bytes_read(1)),
      head_weight_bytes_(s.model.head_weight_bytes()),
      qkv_weight_bytes_(parameters_before_attention(s.model) * attention_bytes_per_parameter(s.model)) {
  const double body_flops =
      s.model.linear_flops_per_token() - 2.0 * static_cast<double>(s.model.vocabulary * s.model.hidden);
  dense_flops_ = body_flops - routed_layers(s.model) * static_cast<double>(s.model.moe.experts_per_token) * 2 *
                                  static_cast<double>(s.model.expert_parameters());
  std::string why;
  if (covers_linear(s.profile, s.model, s.machine, why)) {
    times_.emplace(s.profile, s.model, s.machine, s.parallel, s.grid);
  }
}

OperatorLoad LinearLayers::dense_load(const RankStep& step) const {
  const StepSetup& s = step.setup;
  const double experts = s.model.moe.experts > 0 ? routed_weight_bytes(s.model, step.all_tokens) : 0;
  const auto ranks = static_cast<double>(s.parallel.attention_data);
  const double all = weight_bytes_read(s.model, step.all_tokens), of_rank = experts / ranks;
  const double weights = ranks > 1 ? all - experts + of_rank : all;
  return {(weights - of_rank - head_weight_bytes_) / s.gpus, dense_flops_ * step.tokens / s.gpus};
}

void LinearLayers::add(const RankStep& step, StepTime& time) const {
  if (times_) {
    const SplitTime t = times_->body(step.tokens, step.all_tokens);
    time.linear_s += t.seconds;
    time.hbm_bound_s += t.memory_bound_s;
    if (times_->valid_to() > 0 && step.all_tokens > times_->valid_to()) time.within_domain = false;
    return;
  }
  // Routed experts and the LM head are kernels of their own: those read all weights for few tokens each, and this one
  // computes the tokens that give logits alone.
  time.linear_s += t0_s_;
  for (const OperatorLoad& load : {dense_load(step), routed_load(step)}) {
    const SplitTime t = roofline_.time(load, step.tokens);
    time.linear_s += t.seconds;
    time.hbm_bound_s += t.memory_bound_s;
  }
}

Origin LinearLayers::origin(const RankStep&, const std::vector<UsedFigure>& figures) const {
  return origin_of(figures, "linear", "profile.linear");
}

std::vector<StepOperator> LinearLayers::take_experts(const RankStep& step, const std::vector<UsedFigure>& figures,
                                                     StepOperator& all) const {
  const LlmSpec& m = step.setup.model;
  if (m.moe.experts == 0) return {};
  OperatorLoad beside = beside_routed_load(step), routed = routed_load(step);
  double beside_s = 0, routed_s = 0;
  if (times_) {
    const MixtureTime t = mixture_time(step);
    beside_s = all.seconds * t.beside_s / t.all_s;
    routed_s = all.seconds * t.routed_s / t.all_s;
    // Bytes and FLOPs of shared experts that run while routed ones do count as theirs.
    const double shared = m.shared_of_expert() * static_cast<double>(m.expert_parameters());
    const double hidden = t.hidden_share * shared / (shared + static_cast<double>(m.hidden * m.moe.experts));
    const OperatorLoad moved{hidden * beside.bytes, hidden * beside.flops};
    beside = beside - moved;
    routed = routed + moved;
  } else {
    const OperatorLoad dense = dense_load(step);
    const bool streams = roofline_.time(dense, step.tokens).memory_bound_s > 0;
    routed_s = std::min(roofline_.time(routed, step.tokens).seconds, all.seconds);
    beside_s = (all.seconds - routed_s) * (streams ? beside.bytes / dense.bytes : beside.flops / dense.flops);
  }
  all.seconds -= beside_s + routed_s;
  all.bytes -= beside.bytes + routed.bytes;
  all.flops -= beside.flops + routed.flops;
  return {listed("router and shared experts", beside_s, beside, kBoundBy, origin(step, figures)),
          listed("routed experts", routed_s, routed, kBoundBy, origin_of(figures, "moe", "profile.linear"))};
}

double LinearLayers::share_before_attention(const LlmSpec& model, double tokens) const {
  return std::min(qkv_weight_bytes_ / (weight_bytes_read(model, tokens) - head_weight_bytes_), 1.0);
}

}  // namespace kvsim::models
