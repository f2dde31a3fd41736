#include "models/llm/config_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>

#include "models/llm/import_fields.h"
#include "models/llm/import_layers.h"
#include "models/llm/import_widths.h"
#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"
#include "models/schema/yaml.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

/// Width of a head: the mean of keys and values where they differ, which gives the same parameters, KV and arithmetic.
std::int64_t head_width(Fields& fields, const char* key, const char* value_key, std::vector<std::string>& remarks) {
  const std::int64_t width = fields.whole(key);
  const ConfigNode* value = fields.find(value_key);
  if (value == nullptr) return width;
  if (fields.whole(value_key) == 0) refuse(*value, value_key, "values of no width");
  const std::int64_t both = width + fields.whole(value_key);
  if (both % 2 != 0) refuse(*value, value_key, "keys and values whose mean width is no whole number");
  if (both != 2 * width) {
    remarks.push_back(
        fmt::format("Keys ({}) and values ({}) of different widths are heads of their mean width.", key, value_key));
  }
  return both / 2;
}

ConfigNode window_of(const Layers& layers) {
  ConfigNode window = ConfigNode::map(layers.window_at->origin());
  append(window, "layers", layers.count(Layers::Mixer::window), *layers.window_at);
  append(window, "tokens", fmt::format("{} tokens", layers.window_tokens), *layers.window_at);
  if (const std::int64_t sharing = layers.count_sharing(Layers::Mixer::window); sharing > 0) {
    append(window, "shared_kv_layers", sharing, *layers.window_at);
  }
  if (layers.window_kind != "sliding") append(window, "kind", std::string(layers.window_kind), *layers.window_at);
  return window;
}

/// Of Nemotron-NAS, whose layers say how many heads share one of KV: all those with attention the same.
std::int64_t grouped_kv_heads(Fields& fields, std::int64_t heads) {
  std::int64_t all = 0;
  const ConfigNode& configs = fields.need("block_configs");
  for (const ConfigNode& layer : configs.items()) {
    Fields outer(layer, "a map", "layer");
    Fields attention(outer.need("attention"), "a map", "part of a layer");
    if (attention.yes("no_op", false)) continue;
    const std::int64_t group = attention.whole("n_heads_in_group");
    const ConfigNode& stated = attention.need("n_heads_in_group");
    if (group == 0 || heads % group != 0) {
      throw InputError(stated.origin(), fmt::format("n_heads_in_group: {} heads are not groups of {}", heads, group));
    }
    if (all != 0 && heads / group != all) refuse(stated, "n_heads_in_group", "layers that differ from each other");
    all = heads / group;
  }
  return all;
}

/// Of layers with a window where heads of their own are stated: Gemma 4 states those of the other layers.
void add_heads(ConfigNode& entry, Fields& fields, const Family& family, const Layers& layers,
               std::vector<std::string>& remarks) {
  const std::int64_t hidden = fields.whole("hidden_size"), heads = fields.whole("num_attention_heads");
  const ConfigNode* kv_heads =
      family.says_heads ? &fields.need("num_key_value_heads") : fields.find("num_key_value_heads");
  if (kv_heads == nullptr) kv_heads = &fields.need("num_attention_heads");
  const ConfigNode* head_dim = fields.find("head_dim") ? fields.find("head_dim") : fields.find("attention_head_dim");
  // Those that normalise heads, and Gemma and Cohere, have heads of a width of their own.
  if (head_dim == nullptr && (family.qk_norm || family.tied)) head_dim = &fields.need("head_dim");
  if (head_dim == nullptr && (heads == 0 || hidden % heads != 0)) {
    throw InputError(
        fields.need("hidden_size").origin(),
        fmt::format("hidden_size: {} is not {} heads of equal width, and there is no head_dim", hidden, heads));
  }
  const ConfigNode* full_kv_heads = fields.find("num_global_key_value_heads");
  const ConfigNode* full_head_dim = fields.find("global_head_dim");
  if (family.type == "nemotron-nas") {
    append(entry, "kv_heads", grouped_kv_heads(fields, heads), fields.need("block_configs"));
  } else {
    append(entry, "kv_heads", full_kv_heads ? *full_kv_heads : *kv_heads);
  }
  if (full_head_dim != nullptr) {
    append(entry, "head_dim", *full_head_dim);
  } else if (head_dim == nullptr) {
    append(entry, "head_dim", hidden / heads, fields.need("hidden_size"));
  } else {
    append(entry, "head_dim",
           head_width(fields, fields.find("head_dim") ? "head_dim" : "attention_head_dim", "v_head_dim", remarks),
           *head_dim);
  }
  if (const ConfigNode* equal = fields.find("attention_k_eq_v"); equal && fields.yes("attention_k_eq_v", false)) {
    remarks.emplace_back("Keys and values that are the same (attention_k_eq_v) are each counted, in weights and KV.");
  }
  constexpr std::array<std::array<const char*, 2>, 2> kOfWindows{
      {{"swa_num_attention_heads", "heads"}, {"swa_num_key_value_heads", "kv_heads"}}};
  if (layers.window_at == nullptr) {
    fields.know({"sliding_window_size"});
    return;
  }
  ConfigNode window = window_of(layers);
  for (const auto& [key, own] : kOfWindows) {
    if (const ConfigNode* stated = fields.find(key)) append(window, own, *stated);
  }
  if (const ConfigNode* own = fields.find("swa_head_dim")) {
    append(window, "head_dim", head_width(fields, "swa_head_dim", "swa_v_head_dim", remarks), *own);
  }
  if (full_kv_heads != nullptr) append(window, "kv_heads", *kv_heads);
  if (full_head_dim != nullptr) append(window, "head_dim", *head_dim);
  if (const ConfigNode* again = fields.find("sliding_window_size");
      again && fields.whole("sliding_window_size") != layers.window_tokens) {
    refuse(*again, "sliding_window_size", "a second window");
  }
  entry.append("window", std::move(window), layers.window_at->origin());
}

void add_latent(ConfigNode& entry, Fields& fields) {
  const ConfigNode& rank = fields.need("kv_lora_rank");
  if (!fields.has("q_lora_rank")) static_cast<void>(fields.need("q_lora_rank"));  // null: queries are not compressed
  ConfigNode mla = ConfigNode::map(rank.origin());
  if (const ConfigNode* query = fields.find("q_lora_rank")) append(mla, "q_lora_rank", *query);
  append(mla, "kv_lora_rank", rank);
  for (const char* key : {"qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"}) append(mla, key, fields.need(key));
  entry.append("attention", ConfigNode::scalar("mla", false, rank.origin()), rank.origin());
  entry.append("mla", std::move(mla), rank.origin());
}

/// Of latent layers that attend to what an indexer selects.
void add_indexer(ConfigNode& entry, Fields& fields, const Layers& layers, std::vector<std::string>& remarks) {
  const ConfigNode& at = *layers.window_at;
  std::int64_t own = layers.count(Layers::Mixer::window);
  if (const ConfigNode* types = fields.find("indexer_types")) {
    const auto entries = static_cast<std::int64_t>(types->items().size());
    if (entries != static_cast<std::int64_t>(layers.mixers.size())) {
      throw InputError(types->origin(),
                       fmt::format("indexer_types: {} of them for {} layers", entries, layers.mixers.size()));
    }
    for (const ConfigNode& type : types->items()) {
      if (type.text() == "shared") {
        own -= 1;
      } else if (type.text() != "full") {
        refuse(type, "indexer_types", fmt::format("\"{}\"", type.text()));
      }
    }
  }
  fields.know({"index_topk_freq", "index_skip_topk_offset", "index_topk_pattern", "index_share_for_mtp_iteration",
               "indexer_rope_interleave"});
  entry.append("window", window_of(layers), at.origin());
  ConfigNode indexer = ConfigNode::map(at.origin());
  append(indexer, "layers", own, at);
  append(indexer, "heads", fields.need("index_n_heads"));
  append(indexer, "head_dim", fields.need("index_head_dim"));
  entry.append("indexer", std::move(indexer), at.origin());
  remarks.emplace_back("Keys of indexers are kept in 8 bit with a 32-bit scale for 128 of them, as engines do.");
}

/// The width of numbers that states are held in, where a field names it.
std::int64_t state_bytes(Fields& fields, StateKeys keys, std::vector<std::string>& remarks) {
  constexpr std::int64_t kWide = 4, kNarrow = 2;
  for (const char* key : {"mamba_ssm_cache_dtype", "mamba_ssm_dtype"}) {
    const ConfigNode* type = fields.find(key);
    if (type == nullptr) continue;
    if (type->text() == "float32") return kWide;
    if (type->text() == "bfloat16" || type->text() == "float16") return kNarrow;
    refuse(*type, key, fmt::format("states in {}", type->text()));
  }
  if (keys == StateKeys::kda) {
    remarks.emplace_back(
        "No field says what states are held in: float32, as vLLM holds those of Kimi delta attention.");
    return kWide;
  }
  remarks.emplace_back("No field says what states are held in: 16 bit, as vLLM where none does.");
  return kNarrow;
}

/// Products of two and of three of these can be written.
std::int64_t width_of(Fields& fields, const char* key) {
  const std::int64_t n = fields.whole(key);
  constexpr std::int64_t kMost = 1000000;
  if (n > kMost) refuse(fields.need(key), key, fmt::format("{}, more than {}", n, kMost));
  return n;
}

/// Shapes of layers that keep a state, and the field that they are said at.
struct StateShape {
  const ConfigNode* at = nullptr;
  StateLayers of{};
};

/// Gated delta nets.
StateShape delta_shape(Fields& fields) {
  const std::int64_t heads = width_of(fields, "linear_num_value_heads");
  const std::int64_t head_dim = width_of(fields, "linear_value_head_dim");
  const std::int64_t state_dim = width_of(fields, "linear_key_head_dim");
  const std::int64_t key = width_of(fields, "linear_num_key_heads") * state_dim;
  return {&fields.need("linear_num_value_heads"),
          {.heads = heads,
           .head_dim = head_dim,
           .state_dim = state_dim,
           // queries, keys, values, gate; two numbers of each head
           .in_width = 2 * key + 2 * heads * head_dim + 2 * heads,
           .conv_channels = 2 * key + heads * head_dim,
           .conv_kernel = width_of(fields, "linear_conv_kernel_dim"),
           .further_parameters = 2 * heads + head_dim}};
}

/// Kimi delta attention.
StateShape kda_shape(Fields& fields) {
  const ConfigNode& at = fields.need("linear_attn_config");
  Fields linear(at, "a map", "configuration of linear attention");
  const std::int64_t heads = width_of(linear, "num_heads");
  const std::int64_t head_dim = width_of(linear, "head_dim");
  const std::int64_t width = heads * head_dim;
  const bool full_gate = linear.yes("use_full_rank_gate", false);
  return {&at,
          {.heads = heads,
           .head_dim = head_dim,
           .state_dim = head_dim,
           .in_width = 3 * width + head_dim + heads + (full_gate ? width : head_dim),
           .conv_channels = 3 * width,
           .conv_kernel = width_of(linear, "short_conv_kernel_size"),
           .further_parameters = head_dim * width * (full_gate ? 1 : 2) + heads + width + head_dim}};
}

StateShape lightning_shape(Fields& fields) {
  fields.know({"layernorm_full_attention_alpha", "layernorm_full_attention_beta", "layernorm_linear_attention_alpha",
               "layernorm_linear_attention_beta", "layernorm_mlp_alpha", "layernorm_mlp_beta", "postnorm",
               "shared_moe_mode", "block_size", "full_attn_alpha_factor", "full_attn_beta_factor",
               "linear_attn_alpha_factor", "linear_attn_beta_factor", "mlp_alpha_factor", "mlp_beta_factor"});
  const std::int64_t heads = width_of(fields, "num_attention_heads");
  const std::int64_t head_dim = width_of(fields, "head_dim");
  return {&fields.need("num_attention_heads"),
          {.heads = heads,
           .head_dim = head_dim,
           .state_dim = head_dim,
           .in_width = 4 * heads * head_dim,  // queries, keys, values, gate
           .further_parameters = heads * head_dim}};
}

StateShape mamba1_shape(Fields& fields) {
  if (const ConfigNode* bias = fields.find("mamba_proj_bias"); bias && fields.yes("mamba_proj_bias", false)) {
    refuse(*bias, "mamba_proj_bias", "biases");
  }
  fields.know({"use_mamba_kernels", "mamba_inner_layernorms", "calc_logits_for_entire_prompt", "num_logits_to_keep"});
  const std::int64_t inner = width_of(fields, "mamba_expand") * width_of(fields, "hidden_size");
  const std::int64_t rank = width_of(fields, "mamba_dt_rank");
  const std::int64_t state_dim = width_of(fields, "mamba_d_state");
  const std::int64_t narrow = rank + 2 * state_dim;  // step, input and output of the state
  const std::int64_t conv_bias = fields.yes("mamba_conv_bias", true) ? inner : 0;
  return {&fields.need("mamba_d_state"),
          {.heads = inner,  // each channel is one
           .head_dim = 1,
           .state_dim = state_dim,
           .in_width = 2 * inner,
           .conv_channels = inner,
           .conv_kernel = width_of(fields, "mamba_d_conv"),
           .further_parameters = inner * narrow + rank * inner + inner * state_dim + 2 * inner + narrow + conv_bias}};
}

/// Mamba-2, as Nemotron-H and Granite name its fields.
StateShape mamba2_shape(Fields& fields, bool granite) {
  const char* heads_key = granite ? "mamba_n_heads" : "mamba_num_heads";
  for (const char* key : {"mamba_proj_bias", "use_bias"}) {
    if (const ConfigNode* other = fields.find(key); other && fields.yes(key, false)) refuse(*other, key, "biases");
  }
  fields.know({"chunk_size", "expand", "mamba_chunk_size", "mamba_expand", "mamba_hidden_act", "time_step_floor",
               "time_step_limit", "time_step_max", "time_step_min", "time_step_rank", "use_mamba_kernels",
               "rescale_prenorm_residual", "residual_in_fp32", "num_logits_to_keep", "norm_eps", "layer_norm_epsilon"});
  const std::int64_t heads = width_of(fields, heads_key);
  const std::int64_t head_dim = width_of(fields, granite ? "mamba_d_head" : "mamba_head_dim");
  const std::int64_t state_dim = width_of(fields, granite ? "mamba_d_state" : "ssm_state_size");
  const std::int64_t inner = heads * head_dim,
                     groups = width_of(fields, granite ? "mamba_n_groups" : "n_groups") * state_dim;
  const std::int64_t channels = inner + 2 * groups;
  const std::int64_t kernel = width_of(fields, granite ? "mamba_d_conv" : "conv_kernel");
  const bool bias = fields.yes(granite ? "mamba_conv_bias" : "use_conv_bias", true);
  return {&fields.need(heads_key),
          {.heads = heads,
           .head_dim = head_dim,
           .state_dim = state_dim,
           .in_width = 2 * inner + 2 * groups + heads,
           .conv_channels = channels,
           .conv_kernel = kernel,
           .further_parameters = 3 * heads + inner + (bias ? channels : 0)}};
}

StateShape state_shape(Fields& fields, StateKeys keys) {
  switch (keys) {
    case StateKeys::delta:
      return delta_shape(fields);
    case StateKeys::kda:
      return kda_shape(fields);
    case StateKeys::lightning:
      return lightning_shape(fields);
    case StateKeys::mamba1:
      return mamba1_shape(fields);
    default:
      return mamba2_shape(fields, keys == StateKeys::granite);
  }
}

void add_state(ConfigNode& entry, Fields& fields, StateKeys keys, const Layers& layers,
               std::vector<std::string>& remarks) {
  const auto [at, shape] = state_shape(fields, keys);
  ConfigNode state = ConfigNode::map(at->origin());
  append(state, "layers", layers.count(Layers::Mixer::state), *at);
  append(state, "heads", shape.heads, *at);
  append(state, "head_dim", shape.head_dim, *at);
  append(state, "state_dim", shape.state_dim, *at);
  append(state, "in_width", shape.in_width, *at);
  append(state, "conv_channels", shape.conv_channels, *at);
  append(state, "conv_kernel", shape.conv_kernel, *at);
  append(state, "further_parameters", shape.further_parameters, *at);
  append(state, "bytes_per_element", state_bytes(fields, keys, remarks), *at);
  entry.append("state", std::move(state), at->origin());
}

/// Of Nemotron-NAS, whose layers' blocks are ffn_mult times two thirds of the hidden size wide, in multiples of 256.
std::int64_t mean_width(Fields& fields, std::vector<std::string>& remarks) {
  constexpr double kMultiple = 256;
  const auto hidden = static_cast<double>(fields.whole("hidden_size"));
  double sum = 0, count = 0;
  const ConfigNode& configs = fields.need("block_configs");
  for (const ConfigNode& layer : configs.items()) {
    Fields outer(layer, "a map", "layer");
    Fields block(outer.need("ffn"), "a map", "part of a layer");
    if (block.yes("no_op", false)) continue;
    const ConfigNode& factor = block.need("ffn_mult");
    const auto times = std::get<double>(schema::number().positive().usually(0.001, 1000).read(factor, "ffn_mult"));
    sum += std::ceil(std::floor(2 * times * hidden / 3) / kMultiple) * kMultiple;
    count += 1;
  }
  if (count == 0) refuse(configs, "block_configs", "no feed-forward block");
  remarks.emplace_back("Feed-forward blocks of different widths (ffn_mult) are of their mean width.");
  return std::llround(sum / count);
}

/// Widths of the feed-forward block and its experts.
void add_blocks(ConfigNode& entry, Fields& fields, const Family& family, Layers& layers,
                std::vector<std::string>& remarks) {
  const ExpertKeys experts = family.experts;
  if (family.type == "nemotron-nas") {
    fields.know({"intermediate_size"});
    append(entry, "intermediate", mean_width(fields, remarks), fields.need("block_configs"));
    return;
  }
  const bool narrow_only = experts == ExpertKeys::qwen && fields.find("intermediate_size") == nullptr;
  // Granite's block beside its experts is all there is where it has none.
  const ConfigNode& width = fields.need(narrow_only                      ? "moe_intermediate_size"
                                        : experts == ExpertKeys::llama4  ? "intermediate_size_mlp"
                                        : experts == ExpertKeys::granite ? "shared_intermediate_size"
                                                                         : "intermediate_size");
  append(entry, "intermediate", width);
  if (experts == ExpertKeys::none) return;
  const bool has_none = (experts == ExpertKeys::gemma && !fields.yes("enable_moe_block", false)) ||
                        (experts == ExpertKeys::nemotron && layers.count(Layers::Block::routed) == 0) ||
                        (experts == ExpertKeys::granite && fields.whole("num_local_experts", 0) == 0);
  if (has_none) {
    fields.know({"num_experts", "top_k_experts", "expert_intermediate_size", "moe_intermediate_size",
                 "num_experts_per_tok", "n_routed_experts", "n_shared_experts", "moe_shared_expert_intermediate_size"});
    return;
  }
  const bool by_local =
      experts == ExpertKeys::mixtral || experts == ExpertKeys::llama4 || experts == ExpertKeys::granite;
  const bool by_routed =
      experts == ExpertKeys::deepseek || experts == ExpertKeys::mimo || experts == ExpertKeys::nemotron;
  const ConfigNode* count = &fields.need(by_local    ? "num_local_experts"
                                         : by_routed ? "n_routed_experts"
                                                     : "num_experts");
  ConfigNode moe = ConfigNode::map(count->origin());
  append(moe, "experts", *count);
  append(moe, "experts_per_token",
         fields.need(experts == ExpertKeys::gemma  ? "top_k_experts"
                     : experts == ExpertKeys::kimi ? "num_experts_per_token"
                                                   : "num_experts_per_tok"));
  const ConfigNode& own = by_local || experts == ExpertKeys::jamba ? fields.need("intermediate_size")
                                                                   : fields.need("moe_intermediate_size");
  if (experts == ExpertKeys::gemma) {  // the block beside the experts is as wide as so many of them
    const std::int64_t block = fields.whole("intermediate_size"), expert = fields.whole("moe_intermediate_size");
    if (expert == 0 || block % expert != 0) {
      refuse(width, "intermediate_size", fmt::format("a block of {} beside experts of {}", block, expert));
    }
    append(moe, "shared_experts", block / expert, width);
  } else if (experts == ExpertKeys::mimo) {
    if (!fields.has("n_shared_experts")) static_cast<void>(fields.need("n_shared_experts"));  // null: none
    append(moe, "shared_experts", fields.whole("n_shared_experts", 0), *count);
  } else if (experts == ExpertKeys::deepseek || experts == ExpertKeys::step || experts == ExpertKeys::nemotron) {
    append(moe, "shared_experts", fields.need("n_shared_experts"));
  } else if (experts == ExpertKeys::kimi) {
    append(moe, "shared_experts", fields.need("num_shared_experts"));
  } else if (experts == ExpertKeys::llama4) {
    append(moe, "shared_experts", std::int64_t{1}, *count);
  }
  for (const char* key :
       {"shared_expert_intermediate_size", "moe_shared_expert_intermediate_size", "shared_intermediate_size"}) {
    const ConfigNode* shared = fields.find(key);
    if (shared == nullptr || fields.whole(key) == 0) continue;
    if (!moe.find("shared_experts")) append(moe, "shared_experts", std::int64_t{1}, *shared);
    append(moe, "shared_intermediate", *shared);
  }
  for (const char* key : {"moe_latent_size", "routed_expert_hidden_size"}) {
    if (const ConfigNode* narrow = fields.find(key); narrow && narrow->text() != "0") {
      append(moe, "expert_hidden", *narrow);
    }
  }
  if (const ConfigNode* shared = fields.find("share_expert_dim"); shared && shared->text() != own.text()) {
    refuse(*shared, "share_expert_dim", "a shared expert of a width of its own");
  }
  append(moe, "expert_intermediate", own);
  read_expert_layers(layers, fields, experts);
  const std::int64_t dense = layers.count(Layers::Block::dense);
  if (dense > 0 || experts == ExpertKeys::deepseek || experts == ExpertKeys::step) {
    append(moe, "dense_layers", dense, *count);
  }
  if (const ConfigNode* types = fields.find("mlp_layer_types")) {
    for (std::size_t i = 0; i < types->items().size(); ++i) {
      const ConfigNode& type = types->items()[i];
      const bool routed = i < layers.blocks.size() && layers.blocks[i] == Layers::Block::routed;
      if (type.text() != (routed ? "sparse" : "dense")) refuse(type, "mlp_layer_types", "experts in other layers");
    }
  }
  if (experts == ExpertKeys::mixtral) fields.know({"experts_per_token"});  // gpt-oss says it twice
  entry.append("moe", std::move(moe), count->origin());
}

/// Maps of a scaling of positions below a key: one of all layers, or one of each kind of layer.
std::vector<const ConfigNode*> scalings_of(const ConfigNode& map) {
  std::vector<const ConfigNode*> all;
  if (map.find("rope_type") || map.find("type")) return {&map};
  for (const ConfigNode::Entry& kind : map.entries()) {
    if (kind.value.is_map()) all.push_back(&kind.value);
  }
  return all;
}

/// The longest context in tokens, as vLLM derives it (_get_and_verify_max_len in vllm/config/model.py): the factor of a
/// scaling times max_position_embeddings, or with YaRN times the context of training. With longrope (su) and llama3,
/// and in Gemma 3, max_position_embeddings is what comes out already.
std::int64_t longest_context(Fields& fields, std::vector<std::string>& remarks) {
  const std::int64_t stated = fields.whole("max_position_embeddings");
  const ConfigNode* family = fields.find("model_type");
  if (family != nullptr && family->text().find("gemma3") != std::string::npos) return stated;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const ConfigNode* map = fields.find(key);
    if (map == nullptr || !map->is_map()) continue;
    for (const ConfigNode* one : scalings_of(*map)) {
      Fields scaling(*one, "a map", "scaling of positions");
      const ConfigNode* type = scaling.find("rope_type") ? scaling.find("rope_type") : scaling.find("type");
      const ConfigNode* factor = scaling.find("factor");
      if (type == nullptr || factor == nullptr) continue;
      if (type->text() == "llama3" || type->text() == "longrope" || type->text() == "su") continue;
      const auto times = std::get<double>(schema::number().positive().usually(1e-3, 1e6).read(*factor, "factor"));
      const std::int64_t base =
          type->text() == "yarn" ? scaling.whole("original_max_position_embeddings", stated) : stated;
      const std::int64_t scaled = std::llround(times * static_cast<double>(base));
      if (scaled != stated) {
        remarks.push_back(
            fmt::format("The context is {} tokens, {:g} x {} by {} ({}), as vLLM derives it; max_position_embeddings "
                        "is {}.",
                        scaled, times, base, key, type->text(), stated));
      }
      return scaled;
    }
  }
  return stated;
}

/// Of a vision encoder: a layer has four projections and two matrices; patches and their places are embedded; and each
/// merger takes the patches of a square together in two matrices, of which there is one more for each layer that is
/// tapped on the way.
std::int64_t encoder_parameters(const ConfigNode& vision) {
  Fields fields(vision, "a map", "vision encoder");
  const auto first = [&](std::initializer_list<const char*> keys) {
    for (const char* key : keys) {
      if (fields.find(key)) return static_cast<double>(fields.whole(key));
    }
    return 0.0;
  };
  const double layers = first({"depth", "num_hidden_layers", "vt_num_hidden_layers"});
  const double hidden = first({"hidden_size", "vt_hidden_size"});
  const double width = first({"intermediate_size", "vt_intermediate_size"});
  if (layers == 0 || hidden == 0 || width == 0) {
    throw InputError(vision.origin(), "vision_config: expected its layers, hidden size and intermediate size");
  }
  double merged = first({"spatial_merge_size"});
  merged *= merged;
  if (const ConfigNode* kernel = fields.find("merge_kernel_size"); kernel && kernel->items().size() == 2) {
    merged = 1;
    for (const ConfigNode& side : kernel->items()) {
      merged *= static_cast<double>(
          std::get<std::int64_t>(schema::integer().positive().usually(1, 1e3).read(side, "merge_kernel_size")));
    }
  }
  const double in = hidden * merged, out = first({"out_hidden_size", "text_hidden_size"});
  const ConfigNode* taps = fields.find("deepstack_visual_indexes");
  const double mergers = 1 + (taps ? static_cast<double>(taps->items().size()) : 0.0);
  const double patch = first({"patch_size"});
  const double pixels =
      patch * patch * std::max(first({"in_channels"}), 3.0) * std::max(first({"temporal_patch_size"}), 1.0);
  const double count = layers * (4 * hidden * hidden + 2 * hidden * width) + mergers * (in * in + in * out) +
                       (pixels + first({"num_position_embeddings"})) * hidden;
  constexpr double kMost = 1e13;
  if (count <= kMost) return static_cast<std::int64_t>(count);
  throw InputError(vision.origin(),
                   fmt::format("vision_config: {:.3g} parameters: expected {:g} or fewer", count, kMost));
}

}  // namespace
}  // namespace kvsim::models::imports

namespace kvsim::models {

ImportedModel import_model(const schema::ConfigNode& config, const schema::ConfigNode* quantisation,
                           std::string_view as) {
  using namespace imports;
  ImportedModel imported;
  imported.entry = ConfigNode::map(config.origin());
  ConfigNode& entry = imported.entry;
  std::vector<std::string>& remarks = imported.remarks;

  Fields outer(config, "a map, the configuration of a model", "model");
  const ConfigNode* text = outer.find("text_config");
  Fields fields(text ? *text : config, "a map", "model of this type");
  refuse_unsupported(fields);
  const Family& family = family_of(fields, as);
  refuse_of_other_families(fields, family);
  if (!as.empty()) remarks.push_back(fmt::format("Read as a model of type {} (--as), whatever model_type says.", as));

  Layers layers = read_layers(fields, family);
  if (!layers.assumed.empty()) remarks.emplace_back(layers.assumed);
  const ConfigNode& type = fields.need("model_type");
  append(entry, "layers", static_cast<std::int64_t>(layers.mixers.size()),
         fields.find("num_hidden_layers") ? *fields.find("num_hidden_layers") : type);
  append(entry, "hidden", fields.need("hidden_size"));
  append(entry, "heads", fields.need("num_attention_heads"));
  if (family.latent) {
    if (layers.window_at != nullptr && layers.window_kind != "selected") {
      refuse(*layers.window_at, "sliding_window", "a sliding window over latents");
    }
    append(entry, "kv_heads", fields.need("num_attention_heads"));
    append(entry, "head_dim", fields.whole("qk_nope_head_dim") + fields.whole("qk_rope_head_dim"),
           fields.need("qk_nope_head_dim"));
    fields.know({"num_key_value_heads", "head_dim", "qk_head_dim"});
  } else {
    add_heads(entry, fields, family, layers, remarks);
  }
  add_blocks(entry, fields, family, layers, remarks);
  append(entry, "vocabulary", fields.need("vocab_size"));
  const ConfigNode* tied = fields.find("tie_word_embeddings");
  if (tied == nullptr) tied = outer.find("tie_word_embeddings");
  if (tied != nullptr) {
    append(entry, "tied_embeddings", *tied);
  } else if (family.tied) {
    append(entry, "tied_embeddings", "true", fields.need("model_type"));
  }
  const bool bias = fields.yes("attention_bias", family.qkv_bias) || fields.yes("qkv_bias", false);
  append(entry, "qkv_bias", bias ? "true" : "false", fields.need("model_type"));
  // Llama 4 normalises without weights.
  const bool norm = fields.yes("use_qk_norm", family.qk_norm) && family.type != "llama4_text";
  append(entry, "qk_norm", norm ? "true" : "false", fields.need("model_type"));
  bool gate = family.output_gate;
  for (const char* key : {"attn_output_gate", "attention_output_gate", "mla_use_output_gate"}) {
    gate = fields.yes(key, gate);
  }
  if (gate) append(entry, "output_gate", "true", type);
  if (!family.gated_blocks) append(entry, "gated_blocks", "false", type);
  if (const ConfigNode* mlp_bias = fields.find("mlp_bias"); mlp_bias && fields.yes("mlp_bias", false)) {
    refuse(*mlp_bias, "mlp_bias", "biases of the feed-forward block");
  }
  append(entry, "max_context", fmt::format("{} tokens", longest_context(fields, remarks)),
         fields.need("max_position_embeddings"));
  if (family.latent) add_latent(entry, fields);
  if (layers.window_kind == "selected") add_indexer(entry, fields, layers, remarks);
  if (layers.count(Layers::Mixer::state) > 0) add_state(entry, fields, family.state, layers, remarks);
  const auto count_layers = [&](const char* key, std::int64_t count) {
    if (count > 0) append(entry, key, count, type);
  };
  count_layers("shared_kv_layers", layers.shared_kv);
  count_layers("without_attention", layers.count(Layers::Mixer::none));
  count_layers("without_block", layers.count(Layers::Block::none));

  const ConfigNode* in_config = fields.find("quantization_config");
  if (in_config == nullptr) in_config = outer.find("quantization_config");
  const Quantisation widths = read_quantisation(quantisation, in_config, remarks);
  add_widths(entry, widths, family, layers, remarks);
  if (widths.fp8_kv) append(entry, "kv_bytes_per_element", "1", *widths.stated_at);

  for (const char* key : {"torch_dtype", "dtype"}) {
    const ConfigNode* stated = fields.find(key);
    if (stated && stated->text() != "bfloat16" && stated->text() != "float16") {
      remarks.push_back(fmt::format("Weights in {} are taken for 16 bit, as engines load them.", stated->text()));
    }
  }
  outer.know({"torch_dtype", "dtype"});
  if (const ConfigNode* vision = outer.find("vision_config")) {
    append(entry, "encoder_parameters", encoder_parameters(*vision), *vision);
    remarks.emplace_back("The vision encoder is held as weights in 16 bit; encoding takes no time.");
  }
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_modules", "mtp_num_hidden_layers"}) {
    if (const std::int64_t more = fields.whole(key, 0); more > 0) {
      remarks.push_back(fmt::format("Multi-token prediction ({} = {}) is neither held nor run.", key, more));
    }
  }
  if (family.type == "hunyuan_v1_dense") {  // of other models of its code
    const ConfigNode* experts = fields.find("num_experts");
    if (experts != nullptr && fields.whole("num_experts") > 1) refuse(*experts, "num_experts", "experts of this type");
    fields.know({"add_classification_head", "attention_head_dim", "cla_share_factor", "class_num", "dense_list",
                 "enable_lm_head_fp32", "norm_type", "org_vocab_size", "pool_type", "use_rotary_pos_emb"});
  }
  fields.know({"use_mtp", "mtp_transformer_layers", "mtp_hybrid_override_pattern", "mtp_use_dedicated_embeddings",
               "mtp_layers_block_type", "text_config"});
  std::vector<std::string> unknown = fields.unknown();
  if (text != nullptr) {
    for (std::string& key : outer.unknown()) unknown.push_back(std::move(key));
  }
  if (!unknown.empty()) {
    remarks.push_back(fmt::format("Fields that kvsim does not know and did not read: {}.", fmt::join(unknown, ", ")));
  }
  return imported;
}

ImportedModel import_model_file(const std::string& path, const std::string& quantisation_path, std::string_view as) {
  namespace fs = std::filesystem;
  using imports::append;
  using schema::ConfigNode;
  const ConfigNode config = schema::read_yaml_file(path);
  const fs::path folder = fs::path(path).parent_path();
  std::string beside = quantisation_path;
  if (beside.empty()) {
    std::error_code ignored;
    const fs::path usual = folder / "hf_quant_config.json";
    if (fs::is_regular_file(usual, ignored)) beside = usual.string();
  }
  std::optional<ConfigNode> quantisation;
  if (!beside.empty()) quantisation = schema::read_yaml_file(beside);
  ImportedModel imported = import_model(config, quantisation ? &*quantisation : nullptr, as);
  const std::string stem = fs::path(path).stem().string();
  const std::string name = stem == "config" && folder.has_filename() ? folder.filename().string() : stem;
  ConfigNode entry = ConfigNode::map(imported.entry.origin());
  append(entry, "name", name, config);
  entry.append("description", ConfigNode::scalar(fmt::format("imported from {}", fs::path(path).filename().string()),
                                                 true, config.origin()));
  for (auto& each : imported.entry.entries()) entry.entries().push_back(std::move(each));
  imported.entry = std::move(entry);
  return imported;
}

}  // namespace kvsim::models
