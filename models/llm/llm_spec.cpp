#include "models/llm/llm_spec.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

/// Parameters of one layer's attention block, norms excluded.
std::int64_t attention_parameters(const LlmSpec& m) {
  if (m.attention == AttentionKind::mla) {
    const MlaShape& s = m.mla;
    const std::int64_t query_width = m.heads * (s.qk_nope_head_dim + s.qk_rope_head_dim);
    const std::int64_t query =
        s.q_lora_rank > 0 ? m.hidden * s.q_lora_rank + s.q_lora_rank * query_width : m.hidden * query_width;
    const std::int64_t latent = m.hidden * (s.kv_lora_rank + s.qk_rope_head_dim);
    const std::int64_t expand = s.kv_lora_rank * m.heads * (s.qk_nope_head_dim + s.v_head_dim);
    return query + latent + expand + m.heads * s.v_head_dim * m.hidden;
  }
  const std::int64_t query_width = m.heads * m.head_dim;
  const std::int64_t kv_width = 2 * m.kv_heads * m.head_dim;
  const std::int64_t bias = m.qkv_bias ? query_width + kv_width : 0;
  const std::int64_t norms = m.qk_norm ? 2 * m.head_dim : 0;
  return m.hidden * (query_width + kv_width) + query_width * m.hidden + bias + norms;
}

std::int64_t gated_block(std::int64_t hidden, std::int64_t width) {
  return 3 * hidden * width;
}

std::int64_t moe_layers(const LlmSpec& m) {
  return m.moe.experts > 0 ? m.layers - std::min(m.layers, m.moe.dense_layers) : 0;
}

std::int64_t dense_layers(const LlmSpec& m) {
  return m.layers - moe_layers(m);
}

/// Parameters outside the routed experts: everything that every token multiplies with, plus the embedding table.
std::int64_t always_used_parameters(const LlmSpec& m) {
  const std::int64_t norms = (2 * m.layers + 1) * m.hidden;
  const std::int64_t shared = moe_layers(m) * (gated_block(m.hidden, m.moe.expert_intermediate) * m.moe.shared_experts +
                                               m.hidden * m.moe.experts);
  return m.vocabulary * m.hidden * (m.tied_embeddings ? 1 : 2) + m.layers * attention_parameters(m) +
         dense_layers(m) * gated_block(m.hidden, m.intermediate) + shared + norms;
}

std::int64_t embedding_only_parameters(const LlmSpec& m) {
  return m.tied_embeddings ? 0 : m.vocabulary * m.hidden;
}

}  // namespace

std::int64_t LlmSpec::parameters() const {
  return always_used_parameters(*this) + moe_layers(*this) * moe.experts * gated_block(hidden, moe.expert_intermediate);
}

std::int64_t LlmSpec::active_parameters() const {
  return always_used_parameters(*this) - embedding_only_parameters(*this) +
         moe_layers(*this) * moe.experts_per_token * gated_block(hidden, moe.expert_intermediate);
}

std::int64_t LlmSpec::weight_bytes() const {
  if (weight_bytes_override > 0) return weight_bytes_override;
  return std::llround(static_cast<double>(parameters()) * weight_bytes_per_parameter);
}

double LlmSpec::experts_touched(double tokens) const {
  if (moe.experts == 0) return 0;
  const auto experts = static_cast<double>(moe.experts);
  const double miss = 1.0 - static_cast<double>(moe.experts_per_token) / experts;
  return experts * (1.0 - std::pow(miss, tokens));
}

double LlmSpec::weight_bytes_read(double tokens) const {
  const auto expert = static_cast<double>(moe_layers(*this) * gated_block(hidden, moe.expert_intermediate));
  const auto all = static_cast<double>(parameters());
  const double untouched = expert * (static_cast<double>(moe.experts) - experts_touched(tokens));
  if (weight_bytes_override > 0) return static_cast<double>(weight_bytes_override) * (1.0 - untouched / all);
  return (all - static_cast<double>(embedding_only_parameters(*this)) - untouched) * weight_bytes_per_parameter;
}

std::int64_t LlmSpec::kv_bytes_per_token() const {
  const std::int64_t elements = attention == AttentionKind::mla ? layers * (mla.kv_lora_rank + mla.qk_rope_head_dim)
                                                                : 2 * layers * kv_heads * head_dim;
  return std::llround(static_cast<double>(elements) * kv_bytes_per_element);
}

double LlmSpec::kv_copies(std::int64_t tensor_parallel) const {
  const std::int64_t shards = attention == AttentionKind::mla ? 1 : std::min(tensor_parallel, kv_heads);
  return static_cast<double>(tensor_parallel) / static_cast<double>(shards);
}

double LlmSpec::linear_flops_per_token() const {
  return 2.0 * static_cast<double>(active_parameters());
}

double LlmSpec::attention_flops_per_pair() const {
  const auto l = static_cast<double>(layers);
  const auto h = static_cast<double>(heads);
  if (attention == AttentionKind::mla) {
    return 2.0 * l * h * static_cast<double>(2 * mla.kv_lora_rank + mla.qk_rope_head_dim);
  }
  return 4.0 * l * h * static_cast<double>(head_dim);
}

}  // namespace kvsim::models
