#include "models/kernels/operators/experts.h"

namespace kvsim::models {

double routed_layers(const LlmSpec& m) {
  return static_cast<double>(m.routed_layers());
}

ExpertLayer routed_layer(const LlmSpec& m, const Parallelism& parallel) {
  ExpertLayer layer;
  layer.hidden = static_cast<double>(m.expert_width());
  // Forms are of gated experts: those of two matrices are gated ones of as many parameters.
  layer.intermediate = static_cast<double>(m.moe.expert_intermediate) * (m.gated_blocks ? 1.0 : 2.0 / 3.0);
  layer.top_k = static_cast<double>(m.moe.experts_per_token);
  layer.experts = static_cast<double>(m.moe.experts);
  layer.expert_parallel = static_cast<double>(parallel.expert);
  layer.tensor_parallel = static_cast<double>(parallel.expert_gpus()) / layer.expert_parallel;
  return layer;
}

MoeCall experts_call(const LlmSpec& model, const Parallelism& parallel, double tokens) {
  const ExpertLayer layer = routed_layer(model, parallel);
  return {layer, tokens,
          layer.expert_parallel > 1 ? routed_at_random_to_fullest(layer, tokens, parallel.expert_imbalance)
                                    : routed_at_random(layer, tokens)};
}

double experts_streamed_s(const LlmSpec& m, const Parallelism& parallel, const Machine& machine, double tokens) {
  const double expert = static_cast<double>(m.expert_parameters()) * m.weight_bytes_per_parameter;
  const double bytes = expert * (m.shared_of_expert() / static_cast<double>(parallel.tensor) +
                                 m.experts_touched(tokens) / static_cast<double>(parallel.expert_gpus()));
  return routed_layers(m) * bytes / machine.memory_bytes_per_s;
}

SplitTime routed_time(const KernelProfile& profile, const LlmSpec& model, const Parallelism& parallel,
                      const Machine& machine, double tokens) {
  const MoeForm* form = form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format());
  const FormTime t = form->time(experts_call(model, parallel, tokens), machine, false);
  const double all_s = routed_layers(model) * t.seconds;
  return {all_s, t.memory_bound ? all_s : 0};
}

double routed_weight_bytes(const LlmSpec& m, double tokens) {
  return static_cast<double>(m.expert_weight_bytes()) * m.experts_touched(tokens) /
         static_cast<double>(std::max<std::int64_t>(m.moe.experts, 1));
}

OperatorLoad routed_load(const RankStep& step) {
  const LlmSpec& m = step.setup.model;
  if (m.moe.experts == 0) return {};
  const auto ranks = static_cast<double>(step.setup.parallel.attention_data);
  const double token_flops =
      routed_layers(m) * static_cast<double>(m.moe.experts_per_token) * 2 * static_cast<double>(m.expert_parameters());
  return {routed_weight_bytes(m, step.all_tokens) / ranks / step.setup.gpus,
          token_flops * step.all_tokens / ranks / step.setup.gpus};
}

OperatorLoad beside_routed_load(const RankStep& step) {
  const LlmSpec& m = step.setup.model;
  const auto expert = static_cast<double>(m.expert_parameters()), experts = static_cast<double>(m.moe.experts);
  const double parameters =
      routed_layers(m) * (m.shared_of_expert() * expert + static_cast<double>(m.hidden) * experts) / step.setup.gpus;
  const double parameter_bytes = static_cast<double>(m.expert_weight_bytes()) / (routed_layers(m) * expert * experts);
  return {parameters * parameter_bytes, 2 * parameters * step.tokens};
}

}  // namespace kvsim::models
