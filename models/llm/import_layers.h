// Which families of models are read, and what each layer of a configuration has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/llm/import_fields.h"

namespace kvsim::models::imports {

/// Where a family's configuration has its experts.
enum class ExpertKeys {
  none,
  mixtral,   ///< num_local_experts of intermediate_size
  qwen,      ///< num_experts of moe_intermediate_size, in every layer; a shared one of shared_expert_intermediate_size
  deepseek,  ///< n_routed_experts of moe_intermediate_size behind first_k_dense_replace dense layers, n_shared_experts
  step,      ///< the same with num_experts
  mimo,      ///< the same with a moe_layer_freq that lists which layers have them
  kimi,      ///< as step, with num_experts_per_token and num_shared_experts; routed_expert_hidden_size
  gemma,     ///< num_experts of moe_intermediate_size, top_k_experts, beside a block of intermediate_size
  llama4,    ///< num_local_experts of intermediate_size in every interleave_moe_layer_step-th layer, one shared one;
             ///< other layers have intermediate_size_mlp
  nemotron,  ///< where hybrid_override_pattern has an E: n_routed_experts, moe_shared_expert_intermediate_size
  granite,   ///< num_local_experts of intermediate_size, and a shared one of shared_intermediate_size
  jamba      ///< num_experts of intermediate_size in every expert_layer_period-th layer
};

/// Where it has the layers that keep a state.
enum class StateKeys {
  none,
  delta,      ///< gated delta nets: linear_num_value_heads and others
  kda,        ///< Kimi delta attention: linear_attn_config
  lightning,  ///< of the heads that attention has
  mamba1,     ///< mamba_d_state, mamba_dt_rank; every attn_layer_period-th layer has attention
  mamba2,     ///< mamba_num_heads, ssm_state_size
  granite     ///< the same as mamba_n_heads, mamba_d_state
};

struct Family {
  std::string_view type;  ///< model_type
  ExpertKeys experts = ExpertKeys::none;
  bool latent = false;
  bool qkv_bias = false;  ///< where attention_bias does not say
  bool qk_norm = false;
  bool says_heads = true;  ///< num_key_value_heads is there; else as many as query heads where it is not
  bool tied = false;       ///< where tie_word_embeddings does not say
  StateKeys state = StateKeys::none;
  bool output_gate = false;  ///< where attn_output_gate does not say
  bool gated_blocks = true;  ///< feed-forward blocks of three matrices
  /// The last of so many layers attends to all tokens, the others have the window, where no field says; 0: unknown.
  std::int64_t window_period = 0;
  bool fused_names = false;  ///< checkpoints hold qkv_proj and gate_up_proj in place of their parts
};

/// Parts of each layer, by layer.
struct Layers {
  enum class Mixer { full, window, state, none };
  enum class Block { dense, routed, none };
  std::vector<Mixer> mixers;
  std::vector<Block> blocks;
  const ConfigNode* window_at = nullptr;  ///< where the window is stated; null: no layer has one
  std::int64_t window_tokens = 0;
  std::string_view window_kind = "sliding";
  std::int64_t shared_kv = 0;  ///< the last so many read the KV of the last one of their kind before those
  std::string assumed{};       ///< what no field says and is taken for granted, in a sentence; empty: nothing

  /// Layers whose number, from 0, is chosen.
  template <class Chosen>
  void give(Mixer mixer, const Chosen& chosen) {
    for (std::size_t i = 0; i < mixers.size(); ++i) {
      if (chosen(static_cast<std::int64_t>(i))) mixers[i] = mixer;
    }
  }
  /// Layers that are not chosen have a dense block.
  template <class Chosen>
  void route(const Chosen& chosen) {
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      blocks[i] = chosen(static_cast<std::int64_t>(i)) ? Block::routed : Block::dense;
    }
  }

  [[nodiscard]] std::int64_t count(Mixer m) const { return std::count(mixers.begin(), mixers.end(), m); }
  /// Number of them that share another's KV.
  [[nodiscard]] std::int64_t count_sharing(Mixer m) const {
    return std::count(mixers.end() - shared_kv, mixers.end(), m);
  }
  [[nodiscard]] std::int64_t count(Block b) const { return std::count(blocks.begin(), blocks.end(), b); }
};

/// Refuses fields that change what layers keep or compute, in ways that no entry can say.
void refuse_unsupported(Fields& fields);

/// The family called `as`; empty: that of `model_type`. Throws schema::InputError where it is none that is read.
[[nodiscard]] const Family& family_of(Fields& fields, std::string_view as);

/// Refuses fields that change layers, and are read in other families alone.
void refuse_of_other_families(Fields& fields, const Family& family);

/// Reads the parts of each layer, but for experts. Throws schema::InputError at the field.
[[nodiscard]] Layers read_layers(Fields& fields, const Family& family);

/// Which of them have experts, of families that have any.
void read_expert_layers(Layers& layers, Fields& fields, ExpertKeys experts);

}  // namespace kvsim::models::imports
