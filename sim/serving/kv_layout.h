// KV memory as engines lay it out and state it in their start-up logs: groups of layers that share pools of blocks, KV
// tokens, and how many requests of the longest length fit.
#pragma once

#include <cstdint>
#include <vector>

#include "models/llm/llm_spec.h"

namespace kvsim::serving {

/// vLLM's hybrid KV cache (vllm/v1/core/kv_cache_utils.py, 0.19): layers of one kind are cut into groups of as many
/// layers, a block of any group takes the same memory, and every group has blocks of its own from one pool. Blocks of
/// attention are as large as the state of a layer that keeps one; those of narrower heads have more tokens.
class KvLayout {
 public:
  /// `block_tokens`: as configured. Bytes are those of a tensor-parallel group, replicated heads counted as often as
  /// they exist. `drafter_token_bytes`: of a token in an auxiliary drafter's layers, beside the model's.
  KvLayout(const models::LlmSpec& model, std::int64_t tensor_parallel, std::int64_t block_tokens,
           double drafter_token_bytes);

  [[nodiscard]] std::int64_t groups() const;
  /// Tokens of a block, of the group with fewest.
  [[nodiscard]] std::int64_t block_tokens() const { return block_tokens_; }
  /// Bytes of one block in all layers of a group.
  [[nodiscard]] double block_bytes() const { return block_bytes_; }
  /// Blocks in so many bytes.
  [[nodiscard]] std::int64_t blocks(double bytes) const;
  /// Blocks that a request of `length` tokens is counted with, in all groups: of layers with a window, those of
  /// min(window - 1 + max_batched_tokens, length) tokens.
  [[nodiscard]] std::int64_t blocks_of_request(std::int64_t length, std::int64_t max_batched_tokens) const;
  /// "Maximum concurrency for `length` tokens per request".
  [[nodiscard]] double concurrency(double bytes, std::int64_t length, std::int64_t max_batched_tokens) const;
  /// "GPU KV cache size", tokens: of layers alike and of models with states the blocks of a group, as vLLM up to 0.19
  /// has it; with windows concurrency x length, as vLLM 0.24 has it (the same where no window is left).
  [[nodiscard]] std::int64_t tokens(double bytes, std::int64_t length, std::int64_t max_batched_tokens) const;
  /// Bytes that blocks take, and the least bytes that are stated as so many tokens.
  [[nodiscard]] double bytes_of_blocks(std::int64_t blocks) const;
  [[nodiscard]] double bytes_of_tokens(std::int64_t tokens, std::int64_t length, std::int64_t max_batched_tokens) const;

 private:
  enum class Kind { full, window, state };
  struct Layers {
    Kind kind = Kind::full;
    std::int64_t layers = 0;
    double bytes = 0;  // of a token in one layer, or of a state
    std::int64_t block_tokens = 0;
    std::int64_t groups = 0;
  };
  [[nodiscard]] bool has(Kind kind) const;

  std::vector<Layers> kinds_;
  models::WindowLayers window_;
  std::int64_t block_tokens_;
  double block_bytes_ = 0;
};

}  // namespace kvsim::serving
