// The architecture of a decoder-only transformer, as its published configuration states it, and what follows from it:
// bytes of weights, bytes of KV per token, FLOPs. Nothing here knows a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/llm/number_format.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

enum class AttentionKind {
  gqa,  ///< grouped-query attention; multi-head (kv_heads = heads) and multi-query (kv_heads = 1) are its ends
  mla   ///< multi-head latent attention (DeepSeek-V2, arXiv:2405.04434, section 2.1): one compressed latent per token
};

/// Dimensions of multi-head latent attention; zero where the model has none.
struct MlaShape {
  std::int64_t q_lora_rank = 0;
  std::int64_t kv_lora_rank = 0;
  std::int64_t qk_nope_head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t v_head_dim = 0;
};

/// Mixture of experts; experts = 0 where the model is dense.
struct MoeShape {
  std::int64_t experts = 0;              ///< routed experts per MoE layer
  std::int64_t experts_per_token = 0;    ///< routed experts each token uses
  std::int64_t shared_experts = 0;       ///< experts every token uses
  std::int64_t expert_intermediate = 0;  ///< hidden width of one expert
  std::int64_t dense_layers = 0;         ///< leading layers with an ordinary feed-forward block
};

/// Layers that attend to the latest tokens alone; layers = 0 where the model has none.
struct WindowLayers {
  std::int64_t layers = 0;    ///< of all layers
  std::int64_t tokens = 0;    ///< that a token attends to, itself included
  std::int64_t heads = 0;     ///< 0: as the other layers
  std::int64_t kv_heads = 0;  ///< likewise
  std::int64_t head_dim = 0;  ///< likewise

  /// Of the KV tokens before and among `queries` tokens that follow `before` others, those that none of them attends
  /// to in these layers.
  [[nodiscard]] double unread(double before, double queries) const;
  /// Of their pairs with the tokens up to each of them, those that these layers leave out.
  [[nodiscard]] double unattended(double before, double queries) const;
};

/// Parameters by what they are part of.
struct ParameterGroups {
  double attention = 0;     ///< projections, with their biases
  double dense_blocks = 0;  ///< feed-forward blocks of layers without experts
  double shared_experts = 0;
  double experts = 0;  ///< routed ones
  double rest = 0;     ///< embeddings, LM head, norms of layers, routers
};

struct LlmSpec {
  std::string name;
  std::string description;
  std::string config;     ///< never there: a scenario puts what the file comes to in its place
  schema::Source source;  ///< where the architecture is published
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t intermediate = 0;  ///< width of the gated feed-forward block (three matrices)
  std::int64_t vocabulary = 0;
  bool tied_embeddings = false;  ///< the LM head is the embedding table
  bool qkv_bias = false;
  bool qk_norm = false;
  std::int64_t max_context = 0;  ///< tokens, prompt and output together
  AttentionKind attention = AttentionKind::gqa;
  MlaShape mla;
  MoeShape moe;
  WindowLayers window;
  double weight_bytes_per_parameter = 2.0;              ///< bf16: 2, fp8: 1
  std::optional<NumberFormat> stated_weight_format;     ///< none: what weight_bytes_per_parameter is the width of
  std::optional<NumberFormat> stated_attention_format;  ///< of attention's projections; none: that of all weights
  double kv_bytes_per_element = 2.0;                    ///< bf16: 2, fp8: 1
  std::int64_t weight_bytes_override = 0;               ///< > 0: use this for weights instead of deriving it
  std::int64_t encoder_parameters = 0;                  ///< held beside it in 16 bit: encoders of images and sound

  // Derived quantities (llm_spec.cpp).

  /// The format of the weights that kernels are looked up by: as stated, else by their width; widths between are taken
  /// for the wider one's.
  [[nodiscard]] NumberFormat weight_format() const;

  /// Whether weight_format() is what they are in, and no wider stand-in for a width that no kernels were measured in
  /// (MXFP4: 4.25 bits).
  [[nodiscard]] bool weights_are_measured() const;

  /// Of the projections of attention, which narrow checkpoints often leave in 16 bits.
  [[nodiscard]] NumberFormat attention_format() const { return stated_attention_format.value_or(weight_format()); }

  /// All parameters, embeddings and LM head included, encoders not.
  [[nodiscard]] std::int64_t parameters() const;
  /// Parameters that one token's forward pass multiplies with (no embedding look-up; LM head included).
  [[nodiscard]] std::int64_t active_parameters() const;
  [[nodiscard]] ParameterGroups parameter_groups() const;
  /// Bytes of weights held in memory (symbol M before sharding): parameters() times their width, those of attention
  /// times that of their format, and encoders; or the override.
  [[nodiscard]] std::int64_t weight_bytes() const;
  /// Of weight_bytes(), the routed experts of all layers.
  [[nodiscard]] std::int64_t expert_weight_bytes() const;
  /// Bytes of weights that a forward pass over `tokens` tokens reads: all of a dense model but the embedding table
  /// (tied: it is read as the LM head); of an MoE layer the expected distinct experts,
  /// E (1 - (1 - k/E)^n) for n tokens routed independently and evenly.
  [[nodiscard]] double weight_bytes_read(double tokens) const;
  /// Expected distinct routed experts that n tokens touch in one MoE layer: E (1 - (1 - k/E)^n). 0 if dense.
  [[nodiscard]] double experts_touched(double tokens) const;
  /// Bytes of KV of one token over all layers: 2 L H_kv d b for GQA, L (r_kv + d_rope) b for MLA. Where layers have a
  /// window, that of a token inside it; one that has left it keeps full_part().kv_bytes_per_token().
  [[nodiscard]] std::int64_t kv_bytes_per_token() const;
  /// How many copies of the KV a tensor-parallel group of `tensor_parallel` GPUs holds together: KV heads shard until
  /// each GPU has one, then they are replicated; a latent (MLA) is on every GPU. Of layers that differ: by their bytes.
  [[nodiscard]] double kv_copies(std::int64_t tensor_parallel) const;
  /// FLOPs of the linear layers per token: 2 per active parameter.
  [[nodiscard]] double linear_flops_per_token() const;
  /// FLOPs of attention per (query token, key token) pair over all layers: 4 L H d for GQA (scores and values, 2 each);
  /// 2 L H (2 r_kv + d_rope) for MLA in its absorbed form.
  [[nodiscard]] double attention_flops_per_pair() const;

  /// Whether heads of layers with a window are of other numbers or widths than the other layers'.
  [[nodiscard]] bool window_heads_differ() const;
  /// The model as if its layers without a window, or with one, were all that it has: for what is asked of attention.
  [[nodiscard]] LlmSpec full_part() const;
  [[nodiscard]] LlmSpec window_part() const;
};

}  // namespace kvsim::models
