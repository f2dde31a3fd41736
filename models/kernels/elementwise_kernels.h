// The kernels of a forward pass that pass over activations once, and how many bytes each moves.
#pragma once

#include <vector>

#include "models/llm/llm_spec.h"

namespace kvsim::models {

struct ElementwiseKernel {
  const char* name = "";
  double bytes_per_token = 0;  ///< read and written, on one GPU
  double calls = 0;            ///< per forward pass
  double before = 0;           ///< of calls, those in a layer up to its attention
  double after = 0;            ///< of calls, those in a layer behind its attention
};

/// Embedding, two norms with their residual addition, rotary embedding and gated activation a layer, final norm; bf16
/// activations. Norms run whole on every GPU, heads and the feed-forward block are sharded over `gpus`.
[[nodiscard]] std::vector<ElementwiseKernel> elementwise_kernels(const LlmSpec& model, double gpus);

}  // namespace kvsim::models
