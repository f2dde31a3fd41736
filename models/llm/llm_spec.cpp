#include "models/llm/llm_spec.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {
namespace {

/// Wide enough for products of all dimensions that the schema accepts; what comes out is checked there (check_sizes).
__extension__ using Wide = __int128;

/// Parameters of one layer's attention block, norms excluded.
Wide own_attention_parameters(const LlmSpec& m) {
  if (m.attention == AttentionKind::mla) {
    const MlaShape& s = m.mla;
    const Wide query_width = Wide{m.heads} * (s.qk_nope_head_dim + s.qk_rope_head_dim);
    const Wide query =
        s.q_lora_rank > 0 ? Wide{m.hidden} * s.q_lora_rank + s.q_lora_rank * query_width : m.hidden * query_width;
    const Wide latent = Wide{m.hidden} * (s.kv_lora_rank + s.qk_rope_head_dim);
    const Wide expand = Wide{s.kv_lora_rank} * m.heads * (s.qk_nope_head_dim + s.v_head_dim);
    const Wide output = Wide{m.heads} * s.v_head_dim * m.hidden;
    return query + latent + expand + output * (m.output_gate ? 2 : 1);
  }
  const Wide query_width = Wide{m.heads} * m.head_dim;
  const Wide kv_width = Wide{2} * m.kv_heads * m.head_dim;
  const Wide gate = m.output_gate ? query_width : 0;
  const Wide bias = m.qkv_bias ? query_width + kv_width : 0;
  const Wide norms = m.qk_norm ? Wide{2} * m.head_dim : 0;
  return m.hidden * (query_width + gate + kv_width) + query_width * m.hidden + bias + norms;
}

/// Parameters of all layers with attention, as if alike: those that share KV have no projections of it.
Wide attention_parameters(const LlmSpec& m) {
  const Wide kv_width = Wide{2} * m.kv_heads * m.head_dim;
  const Wide of_kv = kv_width * (m.hidden + (m.qkv_bias ? 1 : 0));
  return m.attention_layers() * own_attention_parameters(m) - m.shared_kv_layers * of_kv;
}

/// Parameters of all indexers: queries from the compressed ones or the residual stream, one key, a weight of each head.
Wide indexer_parameters(const LlmSpec& m) {
  const Indexer& i = m.indexer;
  const std::int64_t from = m.mla.q_lora_rank > 0 ? m.mla.q_lora_rank : m.hidden;
  return i.layers * (Wide{from} * i.heads * i.head_dim + Wide{m.hidden} * (i.head_dim + i.heads));
}

/// Parameters of all layers that keep a state.
Wide state_parameters(const LlmSpec& m) {
  const StateLayers& s = m.state;
  return s.layers * (Wide{m.hidden} * (s.in_width + Wide{s.heads} * s.head_dim) +
                     Wide{s.conv_channels} * s.conv_kernel + s.further_parameters);
}

/// Parameters of all layers: attention or what is in its place.
Wide all_attention_parameters(const LlmSpec& m) {
  const Wide beside = indexer_parameters(m) + state_parameters(m);
  if (!m.window_heads_differ()) return attention_parameters(m) + beside;
  return attention_parameters(m.full_part()) + attention_parameters(m.window_part()) + beside;
}

Wide block_of(const LlmSpec& m, std::int64_t hidden, std::int64_t width) {
  return Wide{m.block_matrices()} * hidden * width;
}

Wide expert_of(const LlmSpec& m) {
  return block_of(m, m.expert_width(), m.moe.expert_intermediate);
}

std::int64_t dense_layers(const LlmSpec& m) {
  return m.block_layers() - m.routed_layers();
}

Wide embedding_table(const LlmSpec& m) {
  return Wide{m.vocabulary} * m.hidden;
}

Wide shared_expert_parameters(const LlmSpec& m) {
  // Where experts are narrower than the residual stream, two matrices lead there and back.
  return m.routed_layers() * (block_of(m, m.hidden, m.moe.shared_width()) + Wide{2} * m.hidden * m.moe.expert_hidden);
}

Wide routed_expert_parameters(const LlmSpec& m) {
  return Wide{m.routed_layers()} * m.moe.experts * expert_of(m);
}

/// Embeddings, LM head, norms and routers.
Wide other_parameters(const LlmSpec& m) {
  const Wide norms = (Wide{m.sublayers()} + 1) * m.hidden;
  return embedding_table(m) * (m.tied_embeddings ? 1 : 2) + m.routed_layers() * Wide{m.hidden} * m.moe.experts + norms;
}

/// Parameters outside the routed experts: everything that every token multiplies with, plus the embedding table.
Wide always_used_parameters(const LlmSpec& m) {
  return other_parameters(m) + all_attention_parameters(m) + dense_layers(m) * block_of(m, m.hidden, m.intermediate) +
         shared_expert_parameters(m);
}

Wide embedding_only_parameters(const LlmSpec& m) {
  return m.tied_embeddings ? 0 : embedding_table(m);
}

Wide all_parameters(const LlmSpec& m) {
  return always_used_parameters(m) + routed_expert_parameters(m);
}

/// Bytes that the weights of attention take beyond the width of all weights, where their format is one of their own.
double further_attention_bytes(const LlmSpec& m) {
  if (!m.stated_attention_format) return 0;
  return static_cast<double>(all_attention_parameters(m)) *
         (bytes_per_element(*m.stated_attention_format) - m.weight_bytes_per_parameter);
}

double embedding_width(const LlmSpec& m) {
  return std::max(bytes_per_element(NumberFormat::bf16), m.weight_bytes_per_parameter);
}

double head_width(const LlmSpec& m) {
  return m.stated_head_format ? bytes_per_element(*m.stated_head_format) : embedding_width(m);
}

/// Bytes that tables take beyond the width of all weights: the LM head, and an embedding table that is not the same.
double further_head_bytes(const LlmSpec& m) {
  return static_cast<double>(embedding_table(m)) * (head_width(m) - m.weight_bytes_per_parameter);
}

double further_embedding_bytes(const LlmSpec& m) {
  return static_cast<double>(embedding_only_parameters(m)) * (embedding_width(m) - m.weight_bytes_per_parameter);
}

/// Bytes of so many parameters, where the bytes of all weights are given together.
double share_of_override(const LlmSpec& m, double parameters) {
  return static_cast<double>(m.weight_bytes_override) * parameters / static_cast<double>(all_parameters(m));
}

/// Pairs of the first n tokens with those in chunks of `tokens` before their own.
double before_their_chunks(double n, double tokens) {
  const double chunks = std::floor(n / tokens);
  return tokens * (tokens * chunks * (chunks - 1) / 2 + chunks * (n - chunks * tokens));
}

}  // namespace

double WindowLayers::unread(double before, double queries) const {
  if (layers == 0 || queries <= 0) return 0;
  const auto most = static_cast<double>(tokens);
  if (kind == WindowKind::chunked) return std::floor(before / most) * most;
  if (kind == WindowKind::selected) return std::max(before + queries - queries * most, 0.0);
  return std::max(before + 1 - most, 0.0);
}

double WindowLayers::unattended(double before, double queries) const {
  if (layers == 0) return 0;
  if (kind == WindowKind::chunked) {
    const auto most = static_cast<double>(tokens);
    return before_their_chunks(before + queries, most) - before_their_chunks(before, most);
  }
  // The i-th of them leaves out before + i - tokens, where that is anything.
  const double first = before - static_cast<double>(tokens);
  if (first >= 0) return queries * first + queries * (queries + 1) / 2;
  const double leaving = std::max(queries + first, 0.0);
  return leaving * (leaving + 1) / 2;
}

double StateLayers::bytes() const {
  constexpr double kConvBytes = 2;
  return static_cast<double>(layers) *
         (static_cast<double>(elements()) * bytes_per_element + static_cast<double>(conv_elements()) * kConvBytes);
}

std::int64_t LlmSpec::parameters() const {
  return static_cast<std::int64_t>(all_parameters(*this));
}

std::int64_t LlmSpec::active_parameters() const {
  return static_cast<std::int64_t>(always_used_parameters(*this) - embedding_only_parameters(*this) +
                                   Wide{routed_layers()} * moe.experts_per_token * expert_of(*this));
}

bool LlmSpec::weights_are_measured() const {
  return stated_weight_format || bytes_per_element(weight_format()) == weight_bytes_per_parameter;
}

NumberFormat LlmSpec::weight_format() const {
  if (stated_weight_format) return *stated_weight_format;
  if (weight_bytes_per_parameter > 1.0) return NumberFormat::bf16;
  return weight_bytes_per_parameter == bytes_per_element(NumberFormat::nvfp4) ? NumberFormat::nvfp4 : NumberFormat::fp8;
}

std::vector<NumberFormat> LlmSpec::weight_formats() const {
  std::vector<NumberFormat> all;
  for (const NumberFormat f : {weight_format(), attention_format(), head_format()}) {
    if (std::find(all.begin(), all.end(), f) == all.end()) all.push_back(f);
  }
  return all;
}

ParameterGroups LlmSpec::parameter_groups() const {
  return {static_cast<double>(all_attention_parameters(*this)),
          static_cast<double>(dense_layers(*this)) * static_cast<double>(block_of(*this, hidden, intermediate)),
          static_cast<double>(shared_expert_parameters(*this)), static_cast<double>(routed_expert_parameters(*this)),
          static_cast<double>(other_parameters(*this))};
}

std::int64_t LlmSpec::weight_bytes() const {
  if (weight_bytes_override > 0) return weight_bytes_override;
  return std::llround(static_cast<double>(parameters()) * weight_bytes_per_parameter + further_attention_bytes(*this) +
                      further_head_bytes(*this) + further_embedding_bytes(*this)) +
         2 * encoder_parameters;
}

double LlmSpec::head_weight_bytes() const {
  const auto count = static_cast<double>(embedding_table(*this));
  return weight_bytes_override > 0 ? share_of_override(*this, count) : count * head_width(*this);
}

double LlmSpec::embedding_weight_bytes() const {
  const auto count = static_cast<double>(embedding_only_parameters(*this));
  return weight_bytes_override > 0 ? share_of_override(*this, count) : count * embedding_width(*this);
}

std::int64_t LlmSpec::expert_weight_bytes() const {
  const Wide count = routed_expert_parameters(*this);
  if (weight_bytes_override == 0) return std::llround(static_cast<double>(count) * weight_bytes_per_parameter);
  return std::llround(static_cast<double>(weight_bytes()) * static_cast<double>(count) /
                      static_cast<double>(parameters()));
}

double LlmSpec::experts_touched(double tokens) const {
  if (moe.experts == 0) return 0;
  const auto experts = static_cast<double>(moe.experts);
  const double miss = 1.0 - static_cast<double>(moe.experts_per_token) / experts;
  return experts * (1.0 - std::pow(miss, tokens));
}

double LlmSpec::weight_bytes_read(double tokens) const {
  const auto expert = static_cast<double>(routed_layers() * expert_of(*this));
  const auto all = static_cast<double>(parameters());
  const double untouched = expert * (static_cast<double>(moe.experts) - experts_touched(tokens));
  if (weight_bytes_override > 0) return static_cast<double>(weight_bytes_override) * (1.0 - untouched / all);
  return (all - static_cast<double>(embedding_only_parameters(*this)) - untouched) * weight_bytes_per_parameter +
         further_attention_bytes(*this) + further_head_bytes(*this);
}

double LlmSpec::kv_elements_per_token() const {
  if (window_heads_differ()) return full_part().kv_elements_per_token() + window_part().kv_elements_per_token();
  const std::int64_t each =
      attention == AttentionKind::mla ? mla.kv_lora_rank + mla.qk_rope_head_dim : 2 * kv_heads * head_dim;
  return static_cast<double>(Wide{kv_layers()} * each);
}

std::int64_t LlmSpec::kv_bytes_per_token() const {
  return std::llround(kv_elements_per_token() * kv_bytes_per_element + indexer_bytes_per_token());
}

double LlmSpec::indexer_bytes_per_token() const {
  return static_cast<double>(indexer.layers * indexer.head_dim) * indexer.bytes_per_element;
}

double LlmSpec::kv_copies(std::int64_t tensor_parallel) const {
  if (window_heads_differ()) {
    double held = 0;
    for (const LlmSpec& part : {full_part(), window_part()}) {
      held += static_cast<double>(part.kv_bytes_per_token()) * part.kv_copies(tensor_parallel);
    }
    return held / static_cast<double>(kv_bytes_per_token());
  }
  const std::int64_t shards = attention == AttentionKind::mla ? 1 : std::min(tensor_parallel, kv_heads);
  return static_cast<double>(tensor_parallel) / static_cast<double>(shards);
}

double LlmSpec::linear_flops_per_token() const {
  return 2.0 * static_cast<double>(active_parameters());
}

bool LlmSpec::window_heads_differ() const {
  const auto other = [](std::int64_t own, std::int64_t usual) { return own > 0 && own != usual; };
  return window.layers > 0 &&
         (other(window.heads, heads) || other(window.kv_heads, kv_heads) || other(window.head_dim, head_dim));
}

namespace {

/// The layers that have attention, as if alike and without indexers.
LlmSpec attention_alone(const LlmSpec& m) {
  LlmSpec part = m;
  part.layers = m.attention_layers();
  part.without_attention = part.without_block = 0;
  part.window = {};
  part.indexer = {};
  part.state = {};
  return part;
}

}  // namespace

LlmSpec LlmSpec::full_part() const {
  LlmSpec part = attention_alone(*this);
  part.layers -= window.layers;
  part.shared_kv_layers -= window.shared_kv_layers;
  return part;
}

LlmSpec LlmSpec::window_part() const {
  LlmSpec part = attention_alone(*this);
  part.layers = window.layers;
  part.shared_kv_layers = window.shared_kv_layers;
  if (window.heads > 0) part.heads = window.heads;
  if (window.kv_heads > 0) part.kv_heads = window.kv_heads;
  if (window.head_dim > 0) part.head_dim = window.head_dim;
  return part;
}

LlmSpec LlmSpec::as_read() const {
  LlmSpec read = *this;
  read.shared_kv_layers = read.window.shared_kv_layers = 0;
  return read;
}

double LlmSpec::reads_of_kv() const {
  if (shared_kv_layers == 0) return 1;
  return static_cast<double>(as_read().kv_bytes_per_token()) / static_cast<double>(kv_bytes_per_token());
}

double LlmSpec::attention_flops_per_pair() const {
  if (window_heads_differ()) {
    return full_part().attention_flops_per_pair() + window_part().attention_flops_per_pair();
  }
  const auto l = static_cast<double>(attention_layers());
  const auto h = static_cast<double>(heads);
  if (attention == AttentionKind::mla) {
    return 2.0 * l * h * static_cast<double>(2 * mla.kv_lora_rank + mla.qk_rope_head_dim);
  }
  return 4.0 * l * h * static_cast<double>(head_dim);
}

}  // namespace kvsim::models
