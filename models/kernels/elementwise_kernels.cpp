#include "models/kernels/elementwise_kernels.h"

#include <algorithm>

namespace kvsim::models {

std::vector<ElementwiseKernel> elementwise_kernels(const LlmSpec& m, double gpus, bool rotary, bool norms) {
  constexpr double kBytes = 2;
  const auto blocks = static_cast<double>(m.block_layers());
  const auto attention = static_cast<double>(m.attention_layers()),
             mixers = attention + static_cast<double>(m.state.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const auto rotated = [gpus](const LlmSpec& part) {
    return static_cast<double>((part.heads + part.kv_heads) * part.head_dim) / gpus;
  };
  const auto inner = static_cast<double>(m.intermediate) / gpus;
  // The activation of routed experts is a part of their grouped products.
  const auto routed = static_cast<double>(m.routed_layers());
  const auto shared = static_cast<double>(m.moe.shared_width()) / gpus;
  const double rotations = rotary ? attention : 0;
  const double before = norms ? mixers : 0, after = norms ? blocks : 0;
  std::vector<ElementwiseKernel> kernels{
      {"embedding", 2 * hidden * kBytes, 1, 0, 0},
      // input and residual, both read and written
      {"layernorm", 4 * hidden * kBytes, before + after, before, after},
      {"rotary_emb", 2 * rotated(m) * kBytes, rotations, rotations, 0},
      {"act_fn", 3 * inner * kBytes, blocks - routed, 0, blocks - routed},
      {"act_fn", 3 * shared * kBytes, shared > 0 ? routed : 0, 0, shared > 0 ? routed : 0},
      {"final_layernorm", 4 * hidden * kBytes, 1, 0, 0}};
  if (rotary && m.window_heads_differ()) {
    constexpr std::size_t kRotary = 2;
    const auto slide = static_cast<double>(m.window.layers);
    kernels[kRotary].calls = kernels[kRotary].before = attention - slide;
    kernels.push_back({"rotary_emb", 2 * rotated(m.window_part()) * kBytes, slide, slide, 0});
  }
  return kernels;
}

namespace {

/// `launches` calls that together pass over `bytes`, evenly; nothing of it is in L2 before.
double passes_s(const ElementwiseForm& form, const Machine& machine, double bytes, double launches) {
  return launches * form.t0_s + form.stream.seconds(bytes, machine, true);
}

}  // namespace

double TopKForm::seconds(double rows, double columns, const Machine& machine) const {
  const double side_by_side = rows_at_once * std::max(machine.multiprocessors, 1.0);
  return t0_s + columns * per_score_s * std::max(1.0, rows / side_by_side);
}

double top_k_s(const CompressionKernels& kernels, const Machine& machine, double scores, double rows, double layers) {
  if (kernels.top_k) return layers * kernels.top_k->seconds(rows, scores / (rows * layers), machine);
  constexpr double kScoreBytes = 4;
  constexpr double kPasses = 3;
  return passes_s(kernels.passes, machine, kPasses * kScoreBytes * scores, kPasses * layers);
}

double gather_s(const ElementwiseForm& form, const Machine& machine, double kept_bytes, double layers) {
  return passes_s(form, machine, 2 * kept_bytes, layers);
}

double quantise_s(const CompressionKernels& kernels, const Machine& machine, double full_bytes, double kept_bytes,
                  double layers) {
  return passes_s(kernels.quantise.value_or(kernels.passes), machine, full_bytes + kept_bytes, layers);
}

double dequantise_s(const CompressionKernels& kernels, const Machine& machine, double full_bytes, double kept_bytes,
                    double layers) {
  if (!kernels.dequantise) return quantise_s(kernels, machine, full_bytes, kept_bytes, layers);
  return passes_s(*kernels.dequantise, machine, full_bytes + kept_bytes, layers);
}

double compression_s(const CompressionKernels& kernels, const Machine& machine, const CompressionWork& work) {
  double sum = 0;
  if (work.scores > 0) {
    sum += top_k_s(kernels, machine, work.scores, work.rows, work.layers);
    if (!work.quantises) sum += gather_s(kernels.passes, machine, work.kept_bytes, work.layers);
  }
  if (work.quantises) sum += quantise_s(kernels, machine, work.full_bytes, work.kept_bytes, work.layers);
  return sum;
}

}  // namespace kvsim::models
