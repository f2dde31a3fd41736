#include "models/kernels/elementwise_kernels.h"

namespace kvsim::models {

std::vector<ElementwiseKernel> elementwise_kernels(const LlmSpec& m, double gpus) {
  constexpr double kBytes = 2;
  const auto layers = static_cast<double>(m.layers);
  const auto hidden = static_cast<double>(m.hidden);
  const auto rotated = static_cast<double>((m.heads + m.kv_heads) * m.head_dim) / gpus;
  const auto inner = static_cast<double>(m.intermediate) / gpus;
  return {{"embedding", 2 * hidden * kBytes, 1, 0, 0},
          // input and residual, both read and written
          {"layernorm", 4 * hidden * kBytes, 2 * layers, layers, layers},
          {"rotary_emb", 2 * rotated * kBytes, layers, layers, 0},
          {"act_fn", 3 * inner * kBytes, layers, 0, layers},
          {"final_layernorm", 4 * hidden * kBytes, 1, 0, 0}};
}

}  // namespace kvsim::models
