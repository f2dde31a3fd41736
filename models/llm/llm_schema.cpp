// The keys of a model, and which of them go together.
#include <fmt/format.h>

#include "models/llm/llm_spec.h"
#include "models/schemas.h"

namespace kvsim::models {
namespace {

using namespace schema;

constexpr double kMostWeights = 1e15;  // bytes

/// Numbers of things in a model, at least one of them; `most`: with a wide margin.
ScalarSpec count(double most) {
  return integer().positive().usually(1, most);
}

/// None of them, too.
ScalarSpec any_count(double most) {
  return integer().non_negative().usually(1, most);
}

ObjectSchema<Source> source_schema() {
  ObjectSchema<Source> s("source", "Where the architecture is published.");
  add_source_fields(
      s, [](auto& x) -> auto& { return x; }, Presence::required);
  return s;
}

ObjectSchema<MlaShape> mla_schema() {
  ObjectSchema<MlaShape> s("mla", "Dimensions of multi-head latent attention (arXiv:2405.04434, section 2.1).");
  s.optional("q_lora_rank", &MlaShape::q_lora_rank, any_count(65536),
             "rank of the query projection; 0: queries are not compressed");
  s.required("kv_lora_rank", &MlaShape::kv_lora_rank, count(65536), "width of the latent that is cached");
  s.required("qk_nope_head_dim", &MlaShape::qk_nope_head_dim, count(65536),
             "width of a head's query and key without position");
  s.required("qk_rope_head_dim", &MlaShape::qk_rope_head_dim, count(65536),
             "width of the shared rotary key that is cached");
  s.required("v_head_dim", &MlaShape::v_head_dim, count(65536), "width of a head's value");
  return s;
}

ObjectSchema<MoeShape> moe_schema() {
  ObjectSchema<MoeShape> s("moe", "Mixture of experts in place of the feed-forward block.");
  s.required("experts", &MoeShape::experts, count(1e5), "routed experts per MoE layer");
  s.required("experts_per_token", &MoeShape::experts_per_token, count(1e5), "routed experts each token uses");
  s.optional("shared_experts", &MoeShape::shared_experts, any_count(1e5), "experts every token uses");
  s.required("expert_intermediate", &MoeShape::expert_intermediate, count(1e7), "hidden width of one expert");
  s.optional("shared_intermediate", &MoeShape::shared_intermediate, any_count(1e7),
             "hidden width of all shared experts together; 0: shared_experts of expert_intermediate");
  s.optional("expert_hidden", &MoeShape::expert_hidden, any_count(1e6),
             "width that routed experts read and write, where two matrices lead there and back; 0: hidden");
  s.optional("dense_layers", &MoeShape::dense_layers, any_count(1e4), "layers with an ordinary feed-forward block");
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
  s.required("layers", &WindowLayers::layers, count(1e4), "of the layers with attention, so many");
  s.optional("shared_kv_layers", &WindowLayers::shared_kv_layers, any_count(1e4),
             "of these layers, those without KV of their own: they read that of an earlier one of these");
  s.required("tokens", &WindowLayers::tokens, tokens().positive().usually(1, 1e8),
             "that a token attends to there at most, itself included");
  s.optional("kind", &WindowLayers::kind,
             choice<WindowKind>(
                 {{"sliding", WindowKind::sliding, "the latest; KV of those before is dropped"},
                  {"chunked", WindowKind::chunked, "those of its own chunk of `tokens`; chunks before it are dropped"},
                  {"selected", WindowKind::selected, "those that an indexer chooses; KV of all is kept"}}),
             "which ones");
  s.optional("heads", &WindowLayers::heads, count(1e4), "query heads of these layers; left out: as the others");
  s.optional("kv_heads", &WindowLayers::kv_heads, count(1e4), "KV heads of these layers; left out: as the others");
  s.optional("head_dim", &WindowLayers::head_dim, count(65536),
             "width of a head of these layers; left out: as the others");
  return s;
}

ObjectSchema<Indexer> indexer_schema() {
  ObjectSchema<Indexer> s("indexer", "What chooses the tokens of selected layers: it reads a key of every token.");
  s.required("layers", &Indexer::layers, count(1e4),
             "that have one of their own; others take the choice of one before them");
  s.required("heads", &Indexer::heads, count(1e4), "that score the tokens");
  s.required("head_dim", &Indexer::head_dim, count(65536), "width of a key");
  s.optional("bytes_per_element", &Indexer::bytes_per_element, number().positive().usually(0.1, 8),
             "of the keys as they are cached; 1.03125: 8 bit, and a 32-bit scale for 128 of them, as vLLM and SGLang "
             "keep them");
  return s;
}

ObjectSchema<StateLayers> state_schema() {
  ObjectSchema<StateLayers> s("state",
                              "Layers that keep a state of fixed size of each sequence in place of KV: linear "
                              "attention and state-space models.");
  s.required("layers", &StateLayers::layers, any_count(1e4), "of all layers, so many");
  s.required("heads", &StateLayers::heads, count(1e6), "each with a state of head_dim x state_dim numbers");
  s.required("head_dim", &StateLayers::head_dim, count(65536), "width of a head's value");
  s.required("state_dim", &StateLayers::state_dim, count(65536), "width of a head's key");
  s.required("in_width", &StateLayers::in_width, count(1e7),
             "columns of the projections of the residual stream together");
  s.optional("conv_channels", &StateLayers::conv_channels, any_count(1e7), "that a causal convolution passes over");
  s.optional("conv_kernel", &StateLayers::conv_kernel, any_count(1024),
             "tokens that it spans: it keeps those before the last, in 16 bit");
  s.optional("further_parameters", &StateLayers::further_parameters, any_count(1e12),
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
  const ParameterGroups groups = llm.parameter_groups();
  const double parameters =
      groups.attention + groups.dense_blocks + groups.shared_experts + groups.experts + groups.rest;
  const double weights = parameters * llm.weight_bytes_per_parameter;
  if (weights > kMostWeights) {
    report.fail("", fmt::format("the dimensions make {:.3g} parameters, {:.3g} bytes of weights: expected {} or less",
                                parameters, weights, format_bytes(static_cast<std::int64_t>(kMostWeights))));
  }
  const double kv = llm.kv_elements_per_token() * llm.kv_bytes_per_element;
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

/// A layer of each kind is there whose KV the others read.
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

ObjectSchema<LlmSpec> llm_fields() {
  ObjectSchema<LlmSpec> s("model", "The architecture of a decoder-only transformer, as its configuration states it.");
  add_entry_fields(s);
  s.optional("config", &LlmSpec::config, text().non_empty(),
             "in a scenario alone: path of a Hugging Face config.json, from the scenario's folder, which all keys are "
             "taken from that are not given beside it");
  s.object("source", &LlmSpec::source, source_schema(), Presence::optional, "where the architecture is published");
  s.required("layers", &LlmSpec::layers, count(1e4), "transformer layers");
  s.required("hidden", &LlmSpec::hidden, count(1e6), "width of the residual stream");
  s.required("heads", &LlmSpec::heads, count(1e4), "query heads");
  s.required("kv_heads", &LlmSpec::kv_heads, count(1e4), "KV heads; must divide heads");
  s.required("head_dim", &LlmSpec::head_dim, count(65536), "width of one head");
  s.required("intermediate", &LlmSpec::intermediate, count(1e7),
             "width of the gated feed-forward block (three matrices)");
  s.required("vocabulary", &LlmSpec::vocabulary, count(1e8), "rows of the embedding table");
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
  s.optional("shared_kv_layers", &LlmSpec::shared_kv_layers, any_count(1e4),
             "of the layers with attention, those with a window included, so many have no KV of their own: each reads "
             "that of an earlier layer of its kind");
  s.optional("without_attention", &LlmSpec::without_attention, any_count(1e4),
             "layers that are a feed-forward block alone");
  s.optional("without_block", &LlmSpec::without_block, any_count(1e4), "layers without a feed-forward block");
  s.optional(
      "weight_bytes_per_parameter", &LlmSpec::weight_bytes_per_parameter, number().positive().usually(0.1, 8),
      "bf16: 2, fp8: 1, nvfp4: 0.5625, other 4-bit: 0.5; of all but attention's projections where their format is "
      "given, and but the embedding table and LM head, which take 2 bytes at least");
  s.optional("weight_format", &LlmSpec::stated_weight_format, weight_number_format(),
             "whose kernels time the linear layers; left out: what weight_bytes_per_parameter is the width of");
  s.optional("attention_weight_format", &LlmSpec::stated_attention_format, weight_number_format(),
             "of the projections of attention, where a checkpoint leaves them in another format than the rest; left "
             "out: that of all weights");
  s.optional(
      "head_weight_format", &LlmSpec::stated_head_format, weight_number_format(),
      "of the LM head; left out: bf16, as checkpoints in narrow formats leave it and, always, an embedding table "
      "of its own; both are as wide as all else where that is wider");
  s.optional("kv_bytes_per_element", &LlmSpec::kv_bytes_per_element, number().positive().usually(0.1, 8),
             "bf16: 2, fp8: 1");
  s.optional("weights", &LlmSpec::weight_bytes_override, bytes().positive().usually(1, kMostWeights),
             "bytes of all weights, where they are not parameters times their width");
  s.optional("encoder_parameters", &LlmSpec::encoder_parameters, any_count(1e13),
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

ScalarSpec weight_number_format() {
  return choice<NumberFormat>({{"bf16", NumberFormat::bf16, "16-bit floating point"},
                               {"fp8", NumberFormat::fp8, "8-bit floating point, a scale for each matrix"},
                               {"fp8_block", NumberFormat::fp8_block, "8-bit, a scale for each block of 128 x 128"},
                               {"nvfp4", NumberFormat::nvfp4, "4-bit, a scale for each 16 numbers"}});
}

const ObjectSchema<LlmSpec>& llm_schema() {
  static const ObjectSchema<LlmSpec> schema = llm_fields();
  return schema;
}

}  // namespace kvsim::models
