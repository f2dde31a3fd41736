#include "models/kernels/elementwise_kernels.h"

namespace kvsim::models {

std::vector<ElementwiseKernel> elementwise_kernels(const LlmSpec& m, double gpus, bool rotary) {
  constexpr double kBytes = 2;
  const auto layers = static_cast<double>(m.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const auto rotated = static_cast<double>((m.heads + m.kv_heads) * m.head_dim) / gpus;
  const auto inner = static_cast<double>(m.intermediate) / gpus;
  // Of routed experts the activation is a part of their grouped products.
  const auto routed = static_cast<double>(m.moe.experts > 0 ? m.layers - m.moe.dense_layers : 0);
  const auto shared = static_cast<double>(m.moe.shared_experts * m.moe.expert_intermediate) / gpus;
  const double rotations = rotary ? layers : 0;
  return {{"embedding", 2 * hidden * kBytes, 1, 0, 0},
          // input and residual, both read and written
          {"layernorm", 4 * hidden * kBytes, 2 * layers, layers, layers},
          {"rotary_emb", 2 * rotated * kBytes, rotations, rotations, 0},
          {"act_fn", 3 * inner * kBytes, layers - routed, 0, layers - routed},
          {"act_fn", 3 * shared * kBytes, shared > 0 ? routed : 0, 0, shared > 0 ? routed : 0},
          {"final_layernorm", 4 * hidden * kBytes, 1, 0, 0}};
}

namespace {

/// `launches` calls that together pass over `bytes`, evenly; nothing of it is in L2 before.
double passes_s(const ElementwiseForm& form, const Machine& machine, double bytes, double launches) {
  return launches * form.t0_s + form.stream.seconds(bytes, machine, true);
}

}  // namespace

double top_k_s(const ElementwiseForm& form, const Machine& machine, double scores, double layers) {
  constexpr double kScoreBytes = 4;
  constexpr double kPasses = 3;
  return passes_s(form, machine, kPasses * kScoreBytes * scores, kPasses * layers);
}

double gather_s(const ElementwiseForm& form, const Machine& machine, double kept_bytes, double layers) {
  return passes_s(form, machine, 2 * kept_bytes, layers);
}

double quantise_s(const ElementwiseForm& form, const Machine& machine, double full_bytes, double kept_bytes,
                  double layers) {
  return passes_s(form, machine, full_bytes + kept_bytes, layers);
}

double compression_s(const ElementwiseForm& form, const Machine& machine, const CompressionWork& work) {
  double sum = 0;
  if (work.scores > 0) {
    sum += top_k_s(form, machine, work.scores, work.layers);
    if (!work.quantises) sum += gather_s(form, machine, work.kept_bytes, work.layers);
  }
  if (work.quantises) sum += quantise_s(form, machine, work.full_bytes, work.kept_bytes, work.layers);
  return sum;
}

}  // namespace kvsim::models
