// The architecture of a decoder-only transformer, as its published configuration states it, and what follows from it:
// bytes of weights, bytes of KV per token, FLOPs. Nothing here knows a GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  std::int64_t shared_intermediate = 0;  ///< of all shared experts together; 0: shared_experts of expert_intermediate
  std::int64_t expert_hidden = 0;        ///< width that routed experts read and write; 0: hidden
  std::int64_t dense_layers = 0;         ///< layers with an ordinary feed-forward block

  /// Hidden width of all shared experts together.
  [[nodiscard]] std::int64_t shared_width() const {
    return shared_intermediate > 0 ? shared_intermediate : shared_experts * expert_intermediate;
  }
};

enum class WindowKind {
  sliding,  ///< the latest tokens; those before are dropped
  chunked,  ///< those of the token's own chunk, of so many tokens each; chunks before it are dropped
  selected  ///< so many that an indexer chooses for each token; all are kept
};

/// Layers that attend to a part of the tokens alone; layers = 0 where the model has none.
struct WindowLayers {
  std::int64_t layers = 0;            ///< of those with attention
  std::int64_t shared_kv_layers = 0;  ///< of `layers`, those without KV of their own
  std::int64_t tokens = 0;            ///< that a token attends to at most, itself included
  WindowKind kind = WindowKind::sliding;
  std::int64_t heads = 0;     ///< 0: as the other layers
  std::int64_t kv_heads = 0;  ///< likewise
  std::int64_t head_dim = 0;  ///< likewise

  /// There are such layers, and their KV stops growing.
  [[nodiscard]] bool drops() const { return layers > 0 && kind != WindowKind::selected; }
  /// KV tokens before and among `queries` tokens that follow `before` others, to which none of the queries attends
  /// in these layers. Of selected ones no two attend to the same, as far as there are enough.
  [[nodiscard]] double unread(double before, double queries) const;
  /// Pairs of the queries with the tokens up to each of them that these layers leave out.
  [[nodiscard]] double unattended(double before, double queries) const;
};

/// Indexer that chooses the tokens of selected layers; layers = 0: none. Published as DeepSeek-V3.2's lightning
/// indexer: every head scores all tokens before, by one key of each.
struct Indexer {
  std::int64_t layers = 0;  ///< with an indexer of their own; others take the choice of one before them
  std::int64_t heads = 0;
  std::int64_t head_dim = 0;
  double bytes_per_element = 1.03125;  ///< of keys as engines keep them: 8 bit, and a 32-bit scale for 128 of them
};

/// Layers that keep a state of fixed size of each sequence in place of KV: linear attention and state-space models;
/// layers = 0 where the model has none.
struct StateLayers {
  std::int64_t layers = 0;              ///< of all layers
  std::int64_t heads = 0;               ///< each with a state of head_dim x state_dim
  std::int64_t head_dim = 0;            ///< width of a head's value
  std::int64_t state_dim = 0;           ///< width of its key
  std::int64_t in_width = 0;            ///< columns of its projections of the residual stream together
  std::int64_t conv_channels = 0;       ///< that a causal convolution passes over
  std::int64_t conv_kernel = 0;         ///< tokens that it spans; its state is those before the last
  std::int64_t further_parameters = 0;  ///< of a layer, beside projections and convolution
  double bytes_per_element = 2.0;       ///< of the state; that of the convolution is in 16 bit

  /// Numbers that the states of one layer hold of a sequence.
  [[nodiscard]] std::int64_t elements() const { return heads * head_dim * state_dim; }
  [[nodiscard]] std::int64_t conv_elements() const { return conv_channels * (conv_kernel > 0 ? conv_kernel - 1 : 0); }
  /// Width of what a layer's output projection reads.
  [[nodiscard]] std::int64_t out_width() const { return heads * head_dim; }
  /// Bytes of one sequence, all layers.
  [[nodiscard]] double bytes() const;
};

/// Parameters by what they are part of.
struct ParameterGroups {
  double attention = 0;     ///< projections of attention, with their biases, and of layers that keep a state
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
  bool output_gate = false;      ///< what attention gives is gated by a projection as wide as the queries
  bool gated_blocks = true;      ///< feed-forward blocks and experts have three matrices; else two
  std::int64_t max_context = 0;  ///< tokens, prompt and output together
  AttentionKind attention = AttentionKind::gqa;
  MlaShape mla;
  MoeShape moe;
  WindowLayers window;
  Indexer indexer;
  StateLayers state;
  std::int64_t shared_kv_layers = 0;        ///< of those with attention, without KV of their own: each reads that of an
                                            ///< earlier layer of its kind (Gemma 3n, Hunyuan-Large)
  std::int64_t without_attention = 0;       ///< layers that are a feed-forward block alone
  std::int64_t without_block = 0;           ///< layers without a feed-forward block
  double weight_bytes_per_parameter = 2.0;  ///< of those without a format of their own; bf16: 2, fp8: 1
  std::optional<NumberFormat> stated_weight_format;     ///< none: what weight_bytes_per_parameter is the width of
  std::optional<NumberFormat> stated_attention_format;  ///< of attention's projections; none: that of all weights
  std::optional<NumberFormat> stated_head_format;       ///< of the LM head; none: 16 bit
  double kv_bytes_per_element = 2.0;                    ///< bf16: 2, fp8: 1
  std::int64_t weight_bytes_override = 0;               ///< > 0: use this for weights instead of deriving it
  std::int64_t encoder_parameters = 0;                  ///< held beside it in 16 bit: encoders of images and sound

  // Derived quantities (llm_spec.cpp).

  /// Layers by what they have: attention of any kind; that with KV of its own; a feed-forward block, routed experts or
  /// not; routed experts.
  [[nodiscard]] std::int64_t attention_layers() const { return layers - state.layers - without_attention; }
  [[nodiscard]] std::int64_t kv_layers() const { return attention_layers() - shared_kv_layers; }
  [[nodiscard]] std::int64_t block_layers() const { return layers - without_block; }
  [[nodiscard]] std::int64_t routed_layers() const {
    return moe.experts > 0 && block_layers() > moe.dense_layers ? block_layers() - moe.dense_layers : 0;
  }
  /// Parts of layers that write to the residual stream: attention or state, and feed-forward block; 2 a layer of most.
  [[nodiscard]] std::int64_t sublayers() const { return 2 * layers - without_attention - without_block; }
  /// Every token adds the same KV, which is kept: no layer drops any or keeps a state.
  [[nodiscard]] bool grows_evenly() const { return !window.drops() && state.layers == 0; }
  /// Matrices of hidden x width of a feed-forward block or an expert.
  [[nodiscard]] std::int64_t block_matrices() const { return gated_blocks ? 3 : 2; }
  /// Width that routed experts read and write.
  [[nodiscard]] std::int64_t expert_width() const { return moe.expert_hidden > 0 ? moe.expert_hidden : hidden; }
  /// Parameters of one routed expert.
  [[nodiscard]] std::int64_t expert_parameters() const {
    return block_matrices() * expert_width() * moe.expert_intermediate;
  }
  /// Shared experts of a layer, in routed ones of as many parameters.
  [[nodiscard]] double shared_of_expert() const {
    if (moe.shared_intermediate == 0 && moe.expert_hidden == 0) return static_cast<double>(moe.shared_experts);
    return static_cast<double>(block_matrices() * hidden * moe.shared_width()) /
           static_cast<double>(expert_parameters());
  }

  /// The format of the weights that kernels are looked up by: as stated, else by their width; widths between are taken
  /// for the wider one's.
  [[nodiscard]] NumberFormat weight_format() const;

  /// Whether weight_format() is what they are in, and no wider stand-in for a width that no kernels were measured in
  /// (MXFP4: 4.25 bits).
  [[nodiscard]] bool weights_are_measured() const;

  /// Format whose peak the products run at: weight_format(); for a width that no kernels were measured in 16 bit, which
  /// engines turn such weights into on their way (gpt-oss and 4-bit whole numbers with activations in 16 bit).
  [[nodiscard]] NumberFormat arithmetic_format() const {
    return weights_are_measured() ? weight_format() : NumberFormat::bf16;
  }

  /// Format of the projections of attention, which narrow checkpoints often leave in 16 bits.
  [[nodiscard]] NumberFormat attention_format() const { return stated_attention_format.value_or(weight_format()); }

  /// Format of the LM head, which checkpoints leave in 16 bits where nothing is stated.
  [[nodiscard]] NumberFormat head_format() const { return stated_head_format.value_or(NumberFormat::bf16); }

  /// Every format that linear layers are in, each once, that of most weights first.
  [[nodiscard]] std::vector<NumberFormat> weight_formats() const;

  /// All parameters, embeddings and LM head included, encoders not.
  [[nodiscard]] std::int64_t parameters() const;
  /// Parameters that one token's forward pass multiplies with (no embedding look-up; LM head included).
  [[nodiscard]] std::int64_t active_parameters() const;
  [[nodiscard]] ParameterGroups parameter_groups() const;
  /// Bytes of weights held in memory (symbol M before sharding): parameters() times their width, those of attention, of
  /// the embedding table and of the LM head times their own, and encoders; or the override.
  [[nodiscard]] std::int64_t weight_bytes() const;
  /// LM head, which a tied embedding table is, and an untied embedding table, as parts of weight_bytes(): in the head's
  /// format, and in 16 bits; as wide as other weights where those are wider; of an override their share by parameters.
  [[nodiscard]] double head_weight_bytes() const;
  [[nodiscard]] double embedding_weight_bytes() const;
  /// Part of weight_bytes(): the routed experts of all layers.
  [[nodiscard]] std::int64_t expert_weight_bytes() const;
  /// Bytes of weights that a forward pass over `tokens` tokens reads: all of a dense model but the embedding table
  /// (tied: it is read as the LM head); of an MoE layer the expected distinct experts,
  /// E (1 - (1 - k/E)^n) for n tokens routed independently and evenly.
  [[nodiscard]] double weight_bytes_read(double tokens) const;
  /// Expected distinct routed experts that n tokens touch in one MoE layer: E (1 - (1 - k/E)^n). 0 if dense.
  [[nodiscard]] double experts_touched(double tokens) const;
  /// Numbers that the KV cache holds of one token, over all layers, without the keys of indexers.
  [[nodiscard]] double kv_elements_per_token() const;
  /// Bytes of KV of one token over all layers with KV of their own: 2 L H_kv d b for GQA, L (r_kv + d_rope) b for MLA,
  /// with the keys of indexers. Where layers have a window, that of a token inside it; one that has left it keeps
  /// full_part().kv_bytes_per_token().
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
  /// Without its indexers, whose bytes of a token are indexer_bytes_per_token().
  [[nodiscard]] LlmSpec full_part() const;
  [[nodiscard]] LlmSpec window_part() const;
  /// As if every layer had KV of its own: what a step reads, which is more than is kept where layers share it.
  [[nodiscard]] LlmSpec as_read() const;
  /// Bytes that a step reads for each byte of KV kept, of a token inside all windows.
  [[nodiscard]] double reads_of_kv() const;
  [[nodiscard]] double indexer_bytes_per_token() const;
};

}  // namespace kvsim::models
