// Layers of a configuration that keep a state.
#include <utility>

#include <fmt/format.h>

#include "models/llm/import_parts.h"
#include "models/llm/llm_spec.h"
#include "models/schema/error.h"

namespace kvsim::models::imports {

namespace {

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
  const bool kda = keys == StateKeys::kda;
  remarks.push_back(
      fmt::format("No field says what states are held in: {}.",
                  kda ? "float32, as vLLM holds those of Kimi delta attention" : "16 bit, as vLLM where none does"));
  return kda ? kWide : kNarrow;
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
  fields.refuse_if_set({"mamba_proj_bias"}, "biases");
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
  fields.refuse_if_set({"mamba_proj_bias", "use_bias"}, "biases");
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
  if (keys == StateKeys::delta) return delta_shape(fields);
  if (keys == StateKeys::kda) return kda_shape(fields);
  if (keys == StateKeys::lightning) return lightning_shape(fields);
  if (keys == StateKeys::mamba1) return mamba1_shape(fields);
  return mamba2_shape(fields, keys == StateKeys::granite);
}

}  // namespace

void add_state(ConfigNode& entry, Fields& fields, StateKeys keys, const Layers& layers,
               std::vector<std::string>& remarks) {
  const auto [at, shape] = state_shape(fields, keys);
  ConfigNode state = ConfigNode::map(at->origin());
  const std::pair<const char*, std::int64_t> members[] = {{"layers", layers.count(Layers::Mixer::state)},
                                                          {"heads", shape.heads},
                                                          {"head_dim", shape.head_dim},
                                                          {"state_dim", shape.state_dim},
                                                          {"in_width", shape.in_width},
                                                          {"conv_channels", shape.conv_channels},
                                                          {"conv_kernel", shape.conv_kernel},
                                                          {"further_parameters", shape.further_parameters},
                                                          {"bytes_per_element", state_bytes(fields, keys, remarks)}};
  for (const auto& [key, value] : members) append(state, key, value, *at);
  entry.append("state", std::move(state), at->origin());
}

}  // namespace kvsim::models::imports
