#include "models/llm/llm_spec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/schemas.h"

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

/// Of all layers with attention, as if alike: those that share KV have no projections of it.
Wide attention_parameters(const LlmSpec& m) {
  const Wide kv_width = Wide{2} * m.kv_heads * m.head_dim;
  const Wide of_kv = kv_width * (m.hidden + (m.qkv_bias ? 1 : 0));
  return m.attention_layers() * own_attention_parameters(m) - m.shared_kv_layers * of_kv;
}

/// Of all layers with one: queries from the compressed ones or the residual stream, one key, a weight of each head.
Wide indexer_parameters(const LlmSpec& m) {
  const Indexer& i = m.indexer;
  const std::int64_t from = m.mla.q_lora_rank > 0 ? m.mla.q_lora_rank : m.hidden;
  return i.layers * (Wide{from} * i.heads * i.head_dim + Wide{m.hidden} * (i.head_dim + i.heads));
}

/// Of all layers that keep a state.
Wide state_parameters(const LlmSpec& m) {
  const StateLayers& s = m.state;
  return s.layers * (Wide{m.hidden} * (s.in_width + Wide{s.heads} * s.head_dim) +
                     Wide{s.conv_channels} * s.conv_kernel + s.further_parameters);
}

/// Of all layers: attention or what is in its place.
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

/// Numbers that the KV cache holds of one token, over all layers.
Wide kv_elements_per_token(const LlmSpec& m) {
  if (m.window_heads_differ()) return kv_elements_per_token(m.full_part()) + kv_elements_per_token(m.window_part());
  const std::int64_t layers = m.kv_layers();
  return m.attention == AttentionKind::mla ? Wide{layers} * (m.mla.kv_lora_rank + m.mla.qk_rope_head_dim)
                                           : Wide{2} * layers * m.kv_heads * m.head_dim;
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

/// Of weights that are given together, those that so many parameters are.
double share_of_override(const LlmSpec& m, double parameters) {
  return static_cast<double>(m.weight_bytes_override) * parameters / static_cast<double>(all_parameters(m));
}

/// Of the first n tokens together, those in chunks of `tokens` before their own.
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

std::int64_t LlmSpec::kv_bytes_per_token() const {
  return std::llround(static_cast<double>(kv_elements_per_token(*this)) * kv_bytes_per_element +
                      indexer_bytes_per_token());
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

namespace {

using namespace schema;

constexpr double kMostWeights = 1e15;  // bytes

ObjectSchema<Source> source_schema() {
  ObjectSchema<Source> s("source", "Where the architecture is published.");
  add_source_fields(
      s, [](auto& x) -> auto& { return x; }, Presence::required);
  return s;
}

ObjectSchema<MlaShape> mla_schema() {
  ObjectSchema<MlaShape> s("mla", "Dimensions of multi-head latent attention (arXiv:2405.04434, section 2.1).");
  s.optional("q_lora_rank", &MlaShape::q_lora_rank, integer().non_negative().usually(1, 65536),
             "rank of the query projection; 0: queries are not compressed");
  s.required("kv_lora_rank", &MlaShape::kv_lora_rank, integer().positive().usually(1, 65536),
             "width of the latent that is cached");
  s.required("qk_nope_head_dim", &MlaShape::qk_nope_head_dim, integer().positive().usually(1, 65536),
             "width of a head's query and key without position");
  s.required("qk_rope_head_dim", &MlaShape::qk_rope_head_dim, integer().positive().usually(1, 65536),
             "width of the shared rotary key that is cached");
  s.required("v_head_dim", &MlaShape::v_head_dim, integer().positive().usually(1, 65536), "width of a head's value");
  return s;
}

ObjectSchema<MoeShape> moe_schema() {
  ObjectSchema<MoeShape> s("moe", "Mixture of experts in place of the feed-forward block.");
  s.required("experts", &MoeShape::experts, integer().positive().usually(1, 1e5), "routed experts per MoE layer");
  s.required("experts_per_token", &MoeShape::experts_per_token, integer().positive().usually(1, 1e5),
             "routed experts each token uses");
  s.optional("shared_experts", &MoeShape::shared_experts, integer().non_negative().usually(1, 1e5),
             "experts every token uses");
  s.required("expert_intermediate", &MoeShape::expert_intermediate, integer().positive().usually(1, 1e7),
             "hidden width of one expert");
  s.optional("shared_intermediate", &MoeShape::shared_intermediate, integer().non_negative().usually(1, 1e7),
             "hidden width of all shared experts together; 0: shared_experts of expert_intermediate");
  s.optional("expert_hidden", &MoeShape::expert_hidden, integer().non_negative().usually(1, 1e6),
             "width that routed experts read and write, where two matrices lead there and back; 0: hidden");
  s.optional("dense_layers", &MoeShape::dense_layers, integer().non_negative().usually(1, 1e4),
             "layers with an ordinary feed-forward block");
  s.check([](const MoeShape& moe, const Reporter& report) {
    if (moe.experts_per_token > moe.experts) {
      report.fail("experts_per_token", fmt::format("{} experts per token, but there are only {} experts",
                                                   moe.experts_per_token, moe.experts));
    }
  });
  return s;
}

ObjectSchema<WindowLayers> window_schema() {
  ObjectSchema<WindowLayers> s("window", "Layers that attend to a part of the tokens alone.");
  s.required("layers", &WindowLayers::layers, integer().positive().usually(1, 1e4),
             "of the layers with attention, so many");
  s.optional("shared_kv_layers", &WindowLayers::shared_kv_layers, integer().non_negative().usually(1, 1e4),
             "of these layers, those without KV of their own: they read that of an earlier one of these");
  s.required("tokens", &WindowLayers::tokens, tokens().positive().usually(1, 1e8),
             "that a token attends to there at most, itself included");
  s.optional("kind", &WindowLayers::kind,
             choice<WindowKind>(
                 {{"sliding", WindowKind::sliding, "the latest; KV of those before is dropped"},
                  {"chunked", WindowKind::chunked, "those of its own chunk of `tokens`; chunks before it are dropped"},
                  {"selected", WindowKind::selected, "those that an indexer chooses; KV of all is kept"}}),
             "which ones");
  s.optional("heads", &WindowLayers::heads, integer().positive().usually(1, 1e4),
             "query heads of these layers; left out: as the others");
  s.optional("kv_heads", &WindowLayers::kv_heads, integer().positive().usually(1, 1e4),
             "KV heads of these layers; left out: as the others");
  s.optional("head_dim", &WindowLayers::head_dim, integer().positive().usually(1, 65536),
             "width of a head of these layers; left out: as the others");
  return s;
}

ObjectSchema<Indexer> indexer_schema() {
  ObjectSchema<Indexer> s("indexer", "What chooses the tokens of selected layers: it reads a key of every token.");
  s.required("layers", &Indexer::layers, integer().positive().usually(1, 1e4),
             "that have one of their own; others take the choice of one before them");
  s.required("heads", &Indexer::heads, integer().positive().usually(1, 1e4), "that score the tokens");
  s.required("head_dim", &Indexer::head_dim, integer().positive().usually(1, 65536), "width of a key");
  s.optional("bytes_per_element", &Indexer::bytes_per_element, number().positive().usually(0.1, 8),
             "of the keys as they are cached; 1.03125: 8 bit, and a 32-bit scale for 128 of them, as vLLM and SGLang "
             "keep them");
  return s;
}

ObjectSchema<StateLayers> state_schema() {
  ObjectSchema<StateLayers> s("state",
                              "Layers that keep a state of fixed size of each sequence in place of KV: linear "
                              "attention and state-space models.");
  s.required("layers", &StateLayers::layers, integer().non_negative().usually(1, 1e4), "of all layers, so many");
  s.required("heads", &StateLayers::heads, integer().positive().usually(1, 1e6),
             "each with a state of head_dim x state_dim numbers");
  s.required("head_dim", &StateLayers::head_dim, integer().positive().usually(1, 65536), "width of a head's value");
  s.required("state_dim", &StateLayers::state_dim, integer().positive().usually(1, 65536), "width of a head's key");
  s.required("in_width", &StateLayers::in_width, integer().positive().usually(1, 1e7),
             "columns of the projections of the residual stream together");
  s.optional("conv_channels", &StateLayers::conv_channels, integer().non_negative().usually(1, 1e7),
             "that a causal convolution passes over");
  s.optional("conv_kernel", &StateLayers::conv_kernel, integer().non_negative().usually(1, 1024),
             "tokens that it spans: it keeps those before the last, in 16 bit");
  s.optional("further_parameters", &StateLayers::further_parameters, integer().non_negative().usually(1, 1e12),
             "of a layer, beside its projections and its convolution");
  s.optional("bytes_per_element", &StateLayers::bytes_per_element, number().positive().usually(0.1, 8),
             "of the state: bf16: 2, float32: 4");
  return s;
}

void check_weights(const LlmSpec& llm, const Reporter& report) {
  if (!llm.stated_weight_format) return;
  // Some layers of a checkpoint may be left in 16 bits.
  const double least = bytes_per_element(*llm.stated_weight_format);
  constexpr double kMost = bytes_per_element(NumberFormat::bf16);
  const double width = llm.weight_bytes_per_parameter;
  if (width == kMost && least < kMost) {
    report.fail("weight_format",
                fmt::format("{}, but weight_bytes_per_parameter is the {} of 16 bits: give weight_bytes_per_parameter: "
                            "{} with it, or what the checkpoint comes to",
                            word(*llm.stated_weight_format), width, least));
  }
  if (width >= least && width <= kMost) return;
  report.fail("weight_bytes_per_parameter", fmt::format("{} bytes, but weights in {} take {} to {} each", width,
                                                        word(*llm.stated_weight_format), least, kMost));
}

/// Dimensions that are each possible may be absurd together: sizes that follow are worked out with room to overflow
/// first.
void check_sizes(const LlmSpec& llm, const Reporter& report) {
  constexpr double kMostKv = 64e6;
  const auto parameters = static_cast<double>(all_parameters(llm));
  const double weights = parameters * llm.weight_bytes_per_parameter;
  if (weights > kMostWeights) {
    report.fail("", fmt::format("the dimensions make {:.3g} parameters, {:.3g} bytes of weights: expected {} or less",
                                parameters, weights, format_bytes(static_cast<std::int64_t>(kMostWeights))));
  }
  const double kv = static_cast<double>(kv_elements_per_token(llm)) * llm.kv_bytes_per_element;
  if (kv < 1 || kv > kMostKv) {
    report.fail("", fmt::format("the dimensions make {:.3g} bytes of KV per token: expected 1 B to {}", kv,
                                format_bytes(static_cast<std::int64_t>(kMostKv))));
  }
  constexpr double kMostState = 1e12;
  if (const double state = llm.state.bytes(); state > kMostState) {
    report.fail("state", fmt::format("the dimensions make {:.3g} bytes of state of a request: expected {} or less",
                                     state, format_bytes(static_cast<std::int64_t>(kMostState))));
  }
}

void check_config(const LlmSpec& llm, const Reporter& report) {
  if (llm.config.empty()) return;
  report.fail("config", "is read in a scenario's `model` alone: `kvsim model import` makes a catalogue entry of it");
}

void check_heads(const LlmSpec& llm, const Reporter& report) {
  if (llm.kv_heads > 0 && llm.heads % llm.kv_heads != 0) {
    report.fail("kv_heads",
                fmt::format("must divide heads: {} heads do not share {} KV heads evenly", llm.heads, llm.kv_heads));
  }
  const bool has_latent = report.node().find("mla") != nullptr;
  if (llm.attention == AttentionKind::mla && !has_latent) {
    report.fail("attention", "mla needs the key \"mla\" with its dimensions");
  }
  if (llm.attention != AttentionKind::mla && has_latent) {
    report.fail("mla", "given, but attention is not mla");
  }
}

void check_window(const LlmSpec& llm, const Reporter& report) {
  if (llm.window.layers == 0) return;
  const bool selects = llm.window.kind == WindowKind::selected, latent = llm.attention == AttentionKind::mla;
  if (latent && !selects) report.fail("window", "given, but layers that keep a latent have none");
  if (!latent && selects) report.fail("window.kind", "selected is known for layers that keep a latent alone");
  if (llm.window.layers > llm.attention_layers() || (!selects && llm.window.layers >= llm.attention_layers())) {
    report.fail("window.layers",
                fmt::format("must be below layers{} ({}): no layer is left that attends to all tokens",
                            llm.attention_layers() < llm.layers ? " with attention" : "", llm.attention_layers()));
  }
  const LlmSpec part = llm.window_part();
  if (part.heads % part.kv_heads != 0) {
    report.fail("window.kv_heads", fmt::format("must divide the heads: {} heads do not share {} KV heads evenly",
                                               part.heads, part.kv_heads));
  }
}

/// Of each kind, a layer is there whose KV the others read.
void check_shared_kv(const LlmSpec& llm, const Reporter& report) {
  const std::int64_t in_window = llm.window.shared_kv_layers, elsewhere = llm.shared_kv_layers - in_window;
  if (llm.shared_kv_layers == 0 && in_window == 0) return;
  if (llm.attention == AttentionKind::mla) {
    report.fail("shared_kv_layers", "given, but layers that keep a latent share none");
  }
  const auto none_left = [](std::int64_t shared, std::int64_t of) {
    return fmt::format("{} of {}: no layer is left whose KV they could read", shared, of);
  };
  if (elsewhere < 0) {
    report.fail("shared_kv_layers",
                fmt::format("{}, fewer than the {} of window.shared_kv_layers, which are among them",
                            llm.shared_kv_layers, in_window));
  } else if (elsewhere > 0 && elsewhere >= llm.attention_layers() - llm.window.layers) {
    report.fail("shared_kv_layers", none_left(elsewhere, llm.attention_layers() - llm.window.layers));
  }
  if (in_window > 0 && in_window >= llm.window.layers) {
    report.fail("window.shared_kv_layers", none_left(in_window, llm.window.layers));
  }
}

void check_indexer(const LlmSpec& llm, const Reporter& report) {
  const bool selects = llm.window.layers > 0 && llm.window.kind == WindowKind::selected;
  if (selects && llm.indexer.layers == 0) report.fail("window.kind", "selected needs the key \"indexer\"");
  if (llm.indexer.layers == 0) return;
  if (!selects) report.fail("indexer", "given, but no layer attends to what it selects (window.kind)");
  if (llm.indexer.layers > llm.window.layers) {
    report.fail("indexer.layers", fmt::format("more than the {} layers that select", llm.window.layers));
  }
}

void check_layers(const LlmSpec& llm, const Reporter& report) {
  if (llm.state.layers + llm.without_attention >= llm.layers) {
    report.fail(llm.state.layers > 0 ? "state.layers" : "without_attention",
                fmt::format("{} layers keep a state and {} have no attention, of {}: no layer is left that keeps KV",
                            llm.state.layers, llm.without_attention, llm.layers));
  }
  if (llm.without_block >= llm.layers) {
    report.fail("without_block", fmt::format("must be below layers ({})", llm.layers));
  }
  if (llm.without_attention + llm.without_block > llm.layers) {
    report.fail("without_attention", "a layer has neither attention nor state nor feed-forward block");
  }
}

void check_moe(const LlmSpec& llm, const Reporter& report) {
  if (llm.moe.experts > 0 && llm.moe.dense_layers >= llm.block_layers()) {
    report.fail("moe.dense_layers",
                fmt::format("must be below layers ({}): no layer is left for the experts", llm.block_layers()));
  }
}

ScalarSpec weight_formats() {
  return choice<NumberFormat>({{"bf16", NumberFormat::bf16, "16-bit floating point"},
                               {"fp8", NumberFormat::fp8, "8-bit floating point, a scale for each matrix"},
                               {"fp8_block", NumberFormat::fp8_block, "8-bit, a scale for each block of 128 x 128"},
                               {"nvfp4", NumberFormat::nvfp4, "4-bit, a scale for each 16 numbers"}});
}

ObjectSchema<LlmSpec> llm_fields() {
  ObjectSchema<LlmSpec> s("model", "The architecture of a decoder-only transformer, as its configuration states it.");
  s.optional("name", &LlmSpec::name, text(), "name in the catalogue");
  s.required("description", &LlmSpec::description, text().non_empty(), "one line for lists");
  s.optional("config", &LlmSpec::config, text().non_empty(),
             "in a scenario alone: path of a Hugging Face config.json, from the scenario's folder, which all keys are "
             "taken from that are not given beside it");
  s.object("source", &LlmSpec::source, source_schema(), Presence::optional, "where the architecture is published");
  s.required("layers", &LlmSpec::layers, integer().positive().usually(1, 1e4), "transformer layers");
  s.required("hidden", &LlmSpec::hidden, integer().positive().usually(1, 1e6), "width of the residual stream");
  s.required("heads", &LlmSpec::heads, integer().positive().usually(1, 1e4), "query heads");
  s.required("kv_heads", &LlmSpec::kv_heads, integer().positive().usually(1, 1e4), "KV heads; must divide heads");
  s.required("head_dim", &LlmSpec::head_dim, integer().positive().usually(1, 65536), "width of one head");
  s.required("intermediate", &LlmSpec::intermediate, integer().positive().usually(1, 1e7),
             "width of the gated feed-forward block (three matrices)");
  s.required("vocabulary", &LlmSpec::vocabulary, integer().positive().usually(1, 1e8), "rows of the embedding table");
  s.optional("tied_embeddings", &LlmSpec::tied_embeddings, boolean(), "the LM head is the embedding table");
  s.optional("qkv_bias", &LlmSpec::qkv_bias, boolean(), "query, key and value projections have biases");
  s.optional("qk_norm", &LlmSpec::qk_norm, boolean(), "queries and keys are normalised per head");
  s.optional("output_gate", &LlmSpec::output_gate, boolean(),
             "what attention gives is gated by a projection as wide as its output");
  s.optional("gated_blocks", &LlmSpec::gated_blocks, boolean(),
             "feed-forward blocks and experts have three matrices; false: two");
  s.required("max_context", &LlmSpec::max_context, tokens().positive().usually(1, 1e8),
             "longest context, prompt and output together");
  s.optional("attention", &LlmSpec::attention,
             choice<AttentionKind>(
                 {{"gqa", AttentionKind::gqa, "grouped-query attention, multi-head and multi-query included"},
                  {"mla", AttentionKind::mla, "multi-head latent attention"}}),
             "what the KV cache holds");
  s.object("mla", &LlmSpec::mla, mla_schema(), Presence::optional, "dimensions where attention is mla");
  s.object("moe", &LlmSpec::moe, moe_schema(), Presence::optional, "experts; left out: a dense model");
  s.object("window", &LlmSpec::window, window_schema(), Presence::optional,
           "layers that attend to a part of the tokens; left out: every layer attends to all");
  s.object("indexer", &LlmSpec::indexer, indexer_schema(), Presence::optional, "where window.kind is selected");
  s.object("state", &LlmSpec::state, state_schema(), Presence::optional,
           "layers that keep a state in place of KV; left out: none");
  s.optional("shared_kv_layers", &LlmSpec::shared_kv_layers, integer().non_negative().usually(1, 1e4),
             "of the layers with attention, those with a window included, so many have no KV of their own: each reads "
             "that of an earlier layer of its kind");
  s.optional("without_attention", &LlmSpec::without_attention, integer().non_negative().usually(1, 1e4),
             "layers that are a feed-forward block alone");
  s.optional("without_block", &LlmSpec::without_block, integer().non_negative().usually(1, 1e4),
             "layers without a feed-forward block");
  s.optional(
      "weight_bytes_per_parameter", &LlmSpec::weight_bytes_per_parameter, number().positive().usually(0.1, 8),
      "bf16: 2, fp8: 1, nvfp4: 0.5625, other 4-bit: 0.5; of all but attention's projections where their format is "
      "given, and but the embedding table and LM head, which take 2 bytes at least");
  s.optional("weight_format", &LlmSpec::stated_weight_format, weight_formats(),
             "whose kernels time the linear layers; left out: what weight_bytes_per_parameter is the width of");
  s.optional("attention_weight_format", &LlmSpec::stated_attention_format, weight_formats(),
             "of the projections of attention, where a checkpoint leaves them in another format than the rest; left "
             "out: that of all weights");
  s.optional(
      "head_weight_format", &LlmSpec::stated_head_format, weight_formats(),
      "of the LM head; left out: bf16, as checkpoints in narrow formats leave it and, always, an embedding table "
      "of its own; both are as wide as all else where that is wider");
  s.optional("kv_bytes_per_element", &LlmSpec::kv_bytes_per_element, number().positive().usually(0.1, 8),
             "bf16: 2, fp8: 1");
  s.optional("weights", &LlmSpec::weight_bytes_override, bytes().positive().usually(1, kMostWeights),
             "bytes of all weights, where they are not parameters times their width");
  s.optional("encoder_parameters", &LlmSpec::encoder_parameters, integer().non_negative().usually(1, 1e13),
             "of encoders of images and sound: held as weights in 16 bit, and never run");
  s.check(check_config);
  s.check(check_heads);
  s.check(check_layers);
  s.check(check_window);
  s.check(check_shared_kv);
  s.check(check_indexer);
  s.check(check_moe);
  s.check(check_weights);
  s.check(check_sizes);
  return s;
}

}  // namespace

const ObjectSchema<LlmSpec>& llm_schema() {
  static const ObjectSchema<LlmSpec> schema = llm_fields();
  return schema;
}

}  // namespace kvsim::models
