// Shapes of a model's kernels on one GPU of a tensor-parallel group.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "models/llm/llm_spec.h"

namespace kvsim::models {

struct LayerShape {
  std::string_view layer;  ///< qkv_proj, o_proj, gate_up_proj, down_proj, lm_head
  double n = 0;
  double k = 0;
};

/// The dense layers with grouped-query attention; none for models with a latent (MLA), no feed-forward block of a
/// mixture of experts.
[[nodiscard]] std::vector<LayerShape> linear_shapes(const LlmSpec& model, int tensor_parallel);

/// Query heads and KV heads; {0, 0} for a latent, and where the heads do not divide.
[[nodiscard]] std::pair<double, double> head_counts(const LlmSpec& model, int tensor_parallel);

}  // namespace kvsim::models
