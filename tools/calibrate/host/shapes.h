// Matrix and head shapes of the catalogue's models, as tensor parallelism cuts them.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/llm/llm_spec.h"

namespace kvsim::calibrate {

/// A linear layer from k features to n.
struct LinearShape {
  std::int64_t n = 0;
  std::int64_t k = 0;
  auto operator<=>(const LinearShape&) const = default;
};

/// Widths of heads that kernels are built for.
inline constexpr std::array kHeadDims{64, 128, 256};

/// Heads of one GPU; several query heads share a KV head.
struct HeadShape {
  int heads = 0;
  int kv_heads = 0;
  int head_dim = 128;   ///< elements of a key
  int value_dim = 128;  ///< of a value
  auto operator<=>(const HeadShape&) const = default;
};

/// The linear layers of one transformer layer of a dense or GQA model on one GPU, in the order in which they run: QKV,
/// output, gate and up together, down.
struct LayerShapes {
  LinearShape qkv;
  LinearShape output;
  LinearShape gate_up;
  LinearShape down;
};

/// Throws schema::InputError for models without grouped-query attention.
LayerShapes layer_shapes(const models::LlmSpec& model, std::int64_t tensor_parallel);

/// Every distinct shape of these models at tensor parallelism 1, 2, 4 and 8 where it divides the heads, by size.
/// Experts are not cut: expert parallelism is what servers use.
std::vector<LinearShape> linear_shapes(std::span<const models::LlmSpec> models);

/// Likewise heads, of models with grouped-query attention over heads of one of kHeadDims, those of layers with a window
/// included.
std::vector<HeadShape> head_shapes(std::span<const models::LlmSpec> models);

/// Likewise latent attention (MLA) of models with DeepSeek's latent of 512 elements and 64 rotary ones: as decoding
/// absorbs it, all heads over one vector a token whose first elements are the value, and as prefill expands it.
struct LatentShapes {
  std::vector<HeadShape> absorbed;
  std::vector<HeadShape> expanded;
};
LatentShapes latent_shapes(std::span<const models::LlmSpec> models);

/// The routed experts of one layer, and what one GPU has of them.
struct ExpertShape {
  std::int64_t hidden = 0;
  std::int64_t intermediate = 0;  ///< of an expert on one GPU
  std::int64_t top_k = 1;
  std::int64_t experts = 1;  ///< of all GPUs
  std::int64_t tensor_parallel = 1;
  std::int64_t expert_parallel = 1;
  auto operator<=>(const ExpertShape&) const = default;

  [[nodiscard]] std::int64_t experts_here() const { return experts / expert_parallel; }
};

/// Those of models whose experts have three matrices, whole on one GPU, cut over 8, and an eighth of them each.
std::vector<ExpertShape> expert_shapes(std::span<const models::LlmSpec> models);

/// The named models of the built-in catalogue, all where there are no names. Throws schema::InputError for unknown
/// ones.
std::vector<models::LlmSpec> catalogue_models(std::span<const std::string> names);

}  // namespace kvsim::calibrate
