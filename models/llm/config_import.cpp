#include "models/llm/config_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <set>
#include <string_view>

#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"

namespace kvsim::models {
namespace {

namespace fs = std::filesystem;
using schema::ConfigNode;
using schema::InputError;

/// Where a family's configuration has its experts.
enum class ExpertKeys {
  none,
  mixtral,   ///< num_local_experts of intermediate_size
  qwen,      ///< num_experts of moe_intermediate_size, in every layer
  deepseek,  ///< n_routed_experts of moe_intermediate_size behind first_k_dense_replace dense layers, n_shared_experts
  step,      ///< the same with num_experts
  mimo,      ///< the same with a moe_layer_freq that lists which layers have them
  gemma      ///< num_experts of moe_intermediate_size, top_k_experts, beside a block of intermediate_size
};

struct Family {
  std::string_view type;  ///< model_type
  ExpertKeys experts = ExpertKeys::none;
  bool latent = false;
  bool qkv_bias = false;  ///< where attention_bias does not say
  bool qk_norm = false;
  bool says_heads = true;  ///< num_key_value_heads is there; else as many as query heads where it is not
  bool tied = false;       ///< where tie_word_embeddings does not say
};

// Blocks of all of these are gated; norms count as two a layer.
constexpr std::array<Family, 21> kFamilies{{{"cohere2", ExpertKeys::none, false, false, false, true, true},
                                            {"deepseek_v2", ExpertKeys::deepseek, true},
                                            {"deepseek_v3", ExpertKeys::deepseek, true},
                                            {"gemma2", ExpertKeys::none, false, false, false, true, true},
                                            {"gemma3_text", ExpertKeys::none, false, false, true, true, true},
                                            {"gemma4_text", ExpertKeys::gemma, false, false, true, true, true},
                                            {"gpt_oss", ExpertKeys::mixtral, false, true},
                                            {"kimi_k2", ExpertKeys::deepseek, true},
                                            {"llama", ExpertKeys::none, false, false, false, false},
                                            {"mimo", ExpertKeys::none, false, true},
                                            {"mimo_v2_flash", ExpertKeys::mimo},
                                            {"minimax_m2", ExpertKeys::mixtral, false, false, true},
                                            {"mistral"},
                                            {"mixtral", ExpertKeys::mixtral},
                                            {"olmo3", ExpertKeys::none, false, false, false},
                                            {"qwen2", ExpertKeys::none, false, true},
                                            {"qwen3", ExpertKeys::none, false, false, true},
                                            {"qwen3_moe", ExpertKeys::qwen, false, false, true},
                                            {"qwen3_vl_moe_text", ExpertKeys::qwen, false, false, true},
                                            {"qwen3_vl_text", ExpertKeys::none, false, false, true},
                                            {"step3p7", ExpertKeys::step}}};

/// Fields that change what layers keep or compute, in ways that an entry cannot say, unless they are 0.
struct Unsupported {
  std::string_view field;
  std::string_view what;
};
constexpr std::array<Unsupported, 13> kUnsupported{
    {{"attention_chunk_size", "layers that attend within chunks"},
     {"block_configs", "layers that differ from each other"},
     {"compress_ratios", "layers that keep a compressed context"},
     {"hidden_size_per_layer_input", "embeddings of each layer"},
     {"hybrid_override_pattern", "layers of state spaces"},
     {"index_topk", "a sparse indexer"},
     {"layers_block_type", "layers of state spaces"},
     {"linear_attn_config", "layers of linear attention"},
     {"linear_num_value_heads", "layers of linear attention"},
     {"num_kv_shared_layers", "layers that share another's KV"},
     {"shared_expert_intermediate_size", "a shared expert of a width of its own"},
     {"shared_intermediate_size", "a shared expert of a width of its own"},
     {"sparse_attention_config", "layers that read a selection of blocks"}}};

/// Fields that change neither sizes nor times here: numerics, training, tokens, generation, software.
constexpr std::string_view kWithoutEffect[] = {"_attn_implementation",
                                               "_name_or_path",
                                               "add_full_attention_sink_bias",
                                               "add_swa_attention_sink_bias",
                                               "architectures",
                                               "attention_dropout",
                                               "attention_probs_dropout_prob",
                                               "attention_value_scale",
                                               "attn_logit_softcapping",
                                               "audio_token_id",
                                               "auto_map",
                                               "aux_loss_alpha",
                                               "bad_words_ids",
                                               "begin_suppress_tokens",
                                               "boa_token_id",
                                               "boi_token_id",
                                               "bos_token_id",
                                               "chunk_size_feed_forward",
                                               "cross_attention_hidden_size",
                                               "decoder_start_token_id",
                                               "diversity_penalty",
                                               "do_sample",
                                               "early_stopping",
                                               "encoder_no_repeat_ngram_size",
                                               "eoa_token_id",
                                               "eoa_token_index",
                                               "eoi_token_id",
                                               "eos_token_id",
                                               "ep_size",
                                               "exponential_decay_length_penalty",
                                               "final_logit_softcapping",
                                               "finetuning_task",
                                               "forced_bos_token_id",
                                               "forced_eos_token_id",
                                               "hidden_act",
                                               "hidden_activation",
                                               "hidden_dropout",
                                               "id2label",
                                               "ignore_index",
                                               "image_token_id",
                                               "initial_context_length",
                                               "initializer_range",
                                               "is_decoder",
                                               "label2id",
                                               "layer_norm_eps",
                                               "layernorm_epsilon",
                                               "length_penalty",
                                               "logit_scale",
                                               "max_length",
                                               "media_placeholder_token_id",
                                               "min_length",
                                               "model_type",
                                               "moe_router_scaling_factor",
                                               "n_group",
                                               "no_repeat_ngram_size",
                                               "norm_topk_prob",
                                               "num_beam_groups",
                                               "num_beams",
                                               "num_return_sequences",
                                               "output_attentions",
                                               "output_hidden_states",
                                               "output_router_logits",
                                               "output_scores",
                                               "pad_token_id",
                                               "partial_rotary_factor",
                                               "prefix",
                                               "pretraining_tp",
                                               "problem_type",
                                               "qk_norm_type",
                                               "query_pre_attn_scalar",
                                               "remove_invalid_values",
                                               "repetition_penalty",
                                               "return_dict",
                                               "return_dict_in_generate",
                                               "rms_norm_eps",
                                               "rope_local_base_freq",
                                               "rope_parameters",
                                               "rope_scaling",
                                               "rope_theta",
                                               "rotary_dim",
                                               "routed_scaling_factor",
                                               "router_aux_loss_coef",
                                               "router_jitter_noise",
                                               "scoring_func",
                                               "sep_token_id",
                                               "seq_aux",
                                               "suppress_tokens",
                                               "swa_rope_theta",
                                               "swiglu_limit",
                                               "task_specific_params",
                                               "temperature",
                                               "tf_legacy_loss",
                                               "tie_encoder_decoder",
                                               "tie_word_embeddings",
                                               "tokenizer_class",
                                               "top_k",
                                               "top_p",
                                               "topk_group",
                                               "topk_method",
                                               "torchscript",
                                               "transformers_version",
                                               "typical_p",
                                               "use_bfloat16",
                                               "use_bidirectional_attention",
                                               "use_cache",
                                               "use_moe_router_bias",
                                               "use_mrope",
                                               "use_routing_bias",
                                               "use_unified_vision_chunk",
                                               "video_placeholder",
                                               "video_token_id",
                                               "vision_end_token_id",
                                               "vision_soft_tokens_per_image",
                                               "vision_start_token_id"};

/// Of a map of a configuration: null counts as not there, and what was asked for is known.
class Fields {
 public:
  /// `of`: what lacks a key that is needed, for messages.
  Fields(const ConfigNode& map, std::string_view what, std::string_view of) : map_(&map), of_(of) {
    if (!map.is_map()) throw InputError(map.origin(), fmt::format("expected {}, found {}", what, map.describe()));
  }

  [[nodiscard]] const ConfigNode* find(std::string_view key) {
    known_.emplace(key);
    const ConfigNode* node = map_->find(key);
    return node == nullptr || node->is_null() ? nullptr : node;
  }

  /// Keys that need not be read.
  void know(std::initializer_list<const char*> keys) { known_.insert(keys.begin(), keys.end()); }

  /// It is there, be it null.
  [[nodiscard]] bool has(std::string_view key) const { return map_->find(key) != nullptr; }

  [[nodiscard]] const ConfigNode& need(std::string_view key) {
    const ConfigNode* node = find(key);
    if (node != nullptr) return *node;
    throw InputError(map_->origin(), fmt::format("no \"{}\", which every {} has", key, of_));
  }

  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t otherwise) {
    const ConfigNode* node = find(key);
    return node ? read_whole(*node, key) : otherwise;
  }
  [[nodiscard]] std::int64_t whole(std::string_view key) { return read_whole(need(key), key); }

  [[nodiscard]] bool yes(std::string_view key, bool otherwise) {
    const ConfigNode* node = find(key);
    return node ? std::get<bool>(schema::boolean().read(*node, key)) : otherwise;
  }

  /// Keys that nobody asked for, but for those without effect.
  [[nodiscard]] std::vector<std::string> unknown() const {
    std::vector<std::string> keys;
    for (const auto& [key, value, origin] : map_->entries()) {
      const bool idle =
          std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), key) != std::end(kWithoutEffect);
      if (!idle && !value.is_null() && !known_.contains(key)) keys.push_back(key);
    }
    return keys;
  }

 private:
  static std::int64_t read_whole(const ConfigNode& node, std::string_view key) {
    return std::get<std::int64_t>(schema::integer().non_negative().usually(1, 1e9).read(node, key));
  }

  const ConfigNode* map_;
  std::string_view of_;
  std::set<std::string, std::less<>> known_;
};

/// A number of the entry that the configuration does not have as such.
void append(ConfigNode& entry, const char* key, std::string value, const ConfigNode& from) {
  entry.append(key, ConfigNode::scalar(std::move(value), false, from.origin()), from.origin());
}
void append(ConfigNode& entry, const char* key, std::int64_t value, const ConfigNode& from) {
  append(entry, key, std::to_string(value), from);
}
void append(ConfigNode& entry, const char* key, const ConfigNode& value) {
  entry.append(key, value, value.origin());
}

[[noreturn]] void refuse(const ConfigNode& at, std::string_view field, std::string_view what) {
  throw InputError(at.origin(), fmt::format("{}: {}, which kvsim does not model", field, what));
}

/// Layers that differ from each other or keep something other than every token's KV.
void refuse_unsupported(Fields& fields) {
  const ConfigNode* window = fields.find("sliding_window");
  for (const Unsupported& u : kUnsupported) {
    const ConfigNode* node = fields.find(u.field);
    // MiMo-V2 names its window twice.
    const bool windowed = u.field == "attention_chunk_size" && window && fields.find("hybrid_layer_pattern");
    if (windowed && node && node->text() == window->text()) continue;
    if (node && node->text() != "0") refuse(*node, u.field, u.what);
  }
  if (const ConfigNode* types = fields.find("attn_type_list")) {
    for (const ConfigNode& type : types->items()) {
      if (type.text() != "1") refuse(type, "attn_type_list", fmt::format("attention of type {}", type.text()));
    }
  }
  if (const ConfigNode* wide = fields.find("use_double_wide_mlp"); wide && fields.yes("use_double_wide_mlp", false)) {
    refuse(*wide, "use_double_wide_mlp", "layers that differ from each other");
  }
  fields.know({"vocab_size_per_layer_input"});  // of embeddings that are refused
  for (const char* key : {"add_cross_attention", "is_encoder_decoder"}) {
    if (const ConfigNode* other = fields.find(key); other && fields.yes(key, false)) refuse(*other, key, "an encoder");
  }
  if (const ConfigNode* pruned = fields.find("pruned_heads"); pruned && !pruned->entries().empty()) {
    refuse(*pruned, "pruned_heads", "layers that differ from each other");
  }
}

/// Which layers attend within a sliding window, and how long it is.
struct Windows {
  const ConfigNode* stated_at = nullptr;  ///< null: none do
  std::int64_t tokens = 0;
  std::vector<bool> layers;  ///< by layer

  [[nodiscard]] bool of(std::int64_t layer) const { return stated_at && layers[static_cast<std::size_t>(layer)]; }
  [[nodiscard]] std::int64_t count() const { return std::count(layers.begin(), layers.end(), true); }
};

/// One entry for each layer; `windowed` and `full` are the words for either kind.
std::vector<bool> windowed_layers(const ConfigNode& list, std::string_view key, std::int64_t layers,
                                  std::string_view windowed, std::string_view full) {
  std::vector<bool> all;
  for (const ConfigNode& type : list.items()) {
    if (type.text() != full && type.text() != windowed) refuse(type, key, fmt::format("\"{}\"", type.text()));
    all.push_back(type.text() == windowed);
  }
  if (static_cast<std::int64_t>(all.size()) == layers) return all;
  throw InputError(list.origin(), fmt::format("{}: {} of them for {} layers", key, all.size(), layers));
}

Windows read_windows(Fields& fields) {
  const ConfigNode* window = fields.find("sliding_window");
  const ConfigNode* types = fields.find("layer_types");
  const ConfigNode* pattern = fields.find("hybrid_layer_pattern");
  const ConfigNode* every = fields.find("sliding_window_pattern");
  const ConfigNode* first = fields.find("max_window_layers");
  const bool slides = fields.yes("use_sliding_window", true);
  Windows w;
  if (types == nullptr && pattern == nullptr && (window == nullptr || !slides)) return w;
  const std::int64_t layers = fields.whole("num_hidden_layers");
  constexpr std::int64_t kMostLayers = 10000;
  if (layers > kMostLayers) {
    throw InputError(fields.need("num_hidden_layers").origin(),
                     fmt::format("num_hidden_layers: {}: expected {} or fewer", layers, kMostLayers));
  }
  if (types != nullptr) {
    w.layers = windowed_layers(*types, "layer_types", layers, "sliding_attention", "full_attention");
  } else if (pattern != nullptr) {
    w.layers = windowed_layers(*pattern, "hybrid_layer_pattern", layers, "1", "0");
  } else if (every != nullptr) {  // the last of so many layers attends to all tokens
    const std::int64_t period = fields.whole("sliding_window_pattern");
    for (std::int64_t i = 1; i <= layers; ++i) w.layers.push_back(period > 0 && i % period != 0);
  } else if (first != nullptr && fields.find("use_sliding_window") != nullptr) {  // those before attend to all tokens
    const std::int64_t from = fields.whole("max_window_layers");
    for (std::int64_t i = 0; i < layers; ++i) w.layers.push_back(i >= from);
  } else {
    refuse(*window, "sliding_window", "a sliding window that no field gives to a part of the layers");
  }
  if (w.count() == 0) return w;
  if (w.count() == layers) {
    refuse(types ? *types : pattern ? *pattern : *window, "sliding_window", "a sliding window in every layer");
  }
  w.stated_at = &fields.need("sliding_window");
  w.tokens = fields.whole("sliding_window");
  if (w.tokens == 0) refuse(*w.stated_at, "sliding_window", "a window of no token");
  return w;
}

const Family& family_of(Fields& fields) {
  const ConfigNode& type = fields.need("model_type");
  const auto known =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.type == type.text(); });
  if (known != kFamilies.end()) return *known;
  std::vector<std::string> names;
  for (const Family& f : kFamilies) names.emplace_back(f.type);
  throw InputError(type.origin(), fmt::format("model_type: {} is not read; those that are: {}", type.describe(),
                                              fmt::join(names, ", ")));
}

/// Width of a head: the mean of keys and values where they differ, which gives the same parameters, KV and arithmetic.
std::int64_t head_width(Fields& fields, const char* key, const char* value_key, std::vector<std::string>& remarks) {
  const std::int64_t width = fields.whole(key);
  const ConfigNode* value = fields.find(value_key);
  if (value == nullptr) return width;
  const std::int64_t both = width + fields.whole(value_key);
  if (both % 2 != 0) refuse(*value, value_key, "keys and values whose mean width is no whole number");
  if (both != 2 * width) {
    remarks.push_back(
        fmt::format("Keys ({}) and values ({}) of different widths are heads of their mean width.", key, value_key));
  }
  return both / 2;
}

/// Of layers with a window where heads of their own are stated: Gemma 4 states those of the other layers.
void add_heads(ConfigNode& entry, Fields& fields, const Family& family, const Windows& windows,
               std::vector<std::string>& remarks) {
  const std::int64_t hidden = fields.whole("hidden_size"), heads = fields.whole("num_attention_heads");
  const ConfigNode* kv_heads =
      family.says_heads ? &fields.need("num_key_value_heads") : fields.find("num_key_value_heads");
  if (kv_heads == nullptr) kv_heads = &fields.need("num_attention_heads");
  // Those that normalise heads, and Gemma and Cohere, have heads of a width of their own.
  const ConfigNode* head_dim = family.qk_norm || family.tied ? &fields.need("head_dim") : fields.find("head_dim");
  if (head_dim == nullptr && (heads == 0 || hidden % heads != 0)) {
    throw InputError(
        fields.need("hidden_size").origin(),
        fmt::format("hidden_size: {} is not {} heads of equal width, and there is no head_dim", hidden, heads));
  }
  const ConfigNode* full_kv_heads = fields.find("num_global_key_value_heads");
  const ConfigNode* full_head_dim = fields.find("global_head_dim");
  append(entry, "kv_heads", full_kv_heads ? *full_kv_heads : *kv_heads);
  if (full_head_dim != nullptr) {
    append(entry, "head_dim", *full_head_dim);
  } else if (head_dim == nullptr) {
    append(entry, "head_dim", hidden / heads, fields.need("hidden_size"));
  } else {
    append(entry, "head_dim", head_width(fields, "head_dim", "v_head_dim", remarks), *head_dim);
  }
  if (const ConfigNode* equal = fields.find("attention_k_eq_v"); equal && fields.yes("attention_k_eq_v", false)) {
    remarks.emplace_back("Keys and values that are the same (attention_k_eq_v) are each counted, in weights and KV.");
  }
  constexpr std::array<std::array<const char*, 2>, 2> kOfWindows{
      {{"swa_num_attention_heads", "heads"}, {"swa_num_key_value_heads", "kv_heads"}}};
  if (windows.stated_at == nullptr) {
    fields.know({"sliding_window_size"});
    return;
  }
  ConfigNode window = ConfigNode::map(windows.stated_at->origin());
  append(window, "layers", windows.count(), *windows.stated_at);
  append(window, "tokens", fmt::format("{} tokens", windows.tokens), *windows.stated_at);
  for (const auto& [key, own] : kOfWindows) {
    if (const ConfigNode* stated = fields.find(key)) append(window, own, *stated);
  }
  if (const ConfigNode* own = fields.find("swa_head_dim")) {
    append(window, "head_dim", head_width(fields, "swa_head_dim", "swa_v_head_dim", remarks), *own);
  }
  if (full_kv_heads != nullptr) append(window, "kv_heads", *kv_heads);
  if (full_head_dim != nullptr) append(window, "head_dim", *head_dim);
  if (const ConfigNode* again = fields.find("sliding_window_size");
      again && fields.whole("sliding_window_size") != windows.tokens) {
    refuse(*again, "sliding_window_size", "a second window");
  }
  entry.append("window", std::move(window), windows.stated_at->origin());
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

/// Leading layers without experts, of a list that has 0 for those and 1 for all after them.
std::int64_t layers_before_experts(const ConfigNode& list, std::string_view key) {
  std::int64_t dense = 0, read = 0;
  for (const ConfigNode& has : list.items()) {
    if (has.text() == "0" && dense == read) {
      dense += 1;
    } else if (has.text() != "1") {
      refuse(has, key, "experts in some layers alone");
    }
    read += 1;
  }
  return dense;
}

/// Widths of the feed-forward block and its experts.
void add_blocks(ConfigNode& entry, Fields& fields, ExpertKeys experts) {
  const ConfigNode& width = fields.need("intermediate_size");
  append(entry, "intermediate", width);
  if (experts == ExpertKeys::none) return;
  if (experts == ExpertKeys::gemma && !fields.yes("enable_moe_block", false)) {
    fields.know({"num_experts", "top_k_experts", "expert_intermediate_size", "moe_intermediate_size"});
    return;
  }
  const bool behind_dense =
      experts == ExpertKeys::deepseek || experts == ExpertKeys::step || experts == ExpertKeys::mimo;
  const char* count_key = experts == ExpertKeys::mixtral                                   ? "num_local_experts"
                          : experts == ExpertKeys::deepseek || experts == ExpertKeys::mimo ? "n_routed_experts"
                                                                                           : "num_experts";
  const ConfigNode* count = &fields.need(count_key);
  ConfigNode moe = ConfigNode::map(count->origin());
  append(moe, "experts", *count);
  append(moe, "experts_per_token", fields.need(experts == ExpertKeys::gemma ? "top_k_experts" : "num_experts_per_tok"));
  const ConfigNode& own = experts == ExpertKeys::mixtral ? width : fields.need("moe_intermediate_size");
  if (experts == ExpertKeys::gemma) {  // the block beside the experts is as wide as so many of them
    const std::int64_t block = fields.whole("intermediate_size"), expert = fields.whole("moe_intermediate_size");
    if (expert == 0 || block % expert != 0) {
      refuse(width, "intermediate_size", fmt::format("a block of {} beside experts of {}", block, expert));
    }
    append(moe, "shared_experts", block / expert, width);
  } else if (experts == ExpertKeys::mimo) {
    if (!fields.has("n_shared_experts")) static_cast<void>(fields.need("n_shared_experts"));  // null: none
    append(moe, "shared_experts", fields.whole("n_shared_experts", 0), *count);
  } else if (behind_dense) {
    append(moe, "shared_experts", fields.need("n_shared_experts"));
  }
  if (const ConfigNode* shared = fields.find("share_expert_dim"); shared && shared->text() != own.text()) {
    refuse(*shared, "share_expert_dim", "a shared expert of a width of its own");
  }
  append(moe, "expert_intermediate", own);
  const ConfigNode* frequency = fields.find("moe_layer_freq");
  if (frequency && frequency->is_sequence()) {
    const auto layers = static_cast<std::size_t>(fields.whole("num_hidden_layers"));
    if (frequency->items().size() != layers) refuse(*frequency, "moe_layer_freq", "not one entry for each layer");
    append(moe, "dense_layers", layers_before_experts(*frequency, "moe_layer_freq"), *frequency);
  } else if (behind_dense) {
    append(moe, "dense_layers", fields.need("first_k_dense_replace"));
  }
  for (const char* key : {"moe_layer_freq", "decoder_sparse_step"}) {
    if (const ConfigNode* every = fields.find(key); every && !every->is_sequence() && every->text() != "1") {
      refuse(*every, key, "experts in some layers alone");
    }
  }
  if (const ConfigNode* dense = fields.find("mlp_only_layers"); dense && !dense->items().empty()) {
    refuse(*dense, "mlp_only_layers", "experts in some layers alone");
  }
  if (experts == ExpertKeys::mixtral) fields.know({"experts_per_token"});  // gpt-oss says it twice
  entry.append("moe", std::move(moe), count->origin());
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

// Quantisation.

/// How weights are held, and which are left in 16 bit.
struct Quantisation {
  std::optional<NumberFormat> format;  ///< none: kernels are chosen by width
  double bytes = 2;                    ///< of a weight, scales included
  bool fp8_kv = false;
  std::vector<std::string> excluded;  ///< patterns, `*` for anything
  const ConfigNode* stated_at = nullptr;
};

/// A regular expression of literals, `.*`, `\.` and alternatives in brackets, as patterns.
std::vector<std::string> patterns_of(std::string_view expression, const ConfigNode& at) {
  std::vector<std::string> all{""};
  const auto add = [&all](std::string_view text) {
    for (std::string& pattern : all) pattern += text;
  };
  for (std::size_t i = 0; i < expression.size(); ++i) {
    const std::string_view rest = expression.substr(i);
    const std::size_t closing = rest.find(')');
    const bool edge = (rest[0] == '^' && i == 0) || rest == "$";
    const auto plain = [](std::string_view names) {
      return names.find_first_of("()[]{}+?\\^$*") == std::string_view::npos;
    };
    if (rest.starts_with(".*") || rest.starts_with("\\.")) {
      add(rest[0] == '.' ? "*" : ".");
      ++i;
    } else if (rest[0] == '(' && closing != std::string_view::npos && plain(rest.substr(1, closing - 1)) &&
               all.size() < 64) {
      std::vector<std::string> longer;
      std::string_view inside = rest.substr(1, closing - 1);
      for (bool more = true; more;) {
        const std::size_t bar = inside.find('|');
        for (const std::string& pattern : all) longer.push_back(pattern + std::string(inside.substr(0, bar)));
        more = bar != std::string_view::npos;
        if (more) inside.remove_prefix(bar + 1);
      }
      all = std::move(longer);
      i += closing;
    } else if (edge) {
      continue;
    } else if (plain(rest.substr(0, 1))) {
      add(rest.substr(0, 1));
    } else {
      throw InputError(at.origin(), fmt::format("the expression {}: expected names, \".*\", \"\\.\" and (one|other)",
                                                at.describe()));
    }
  }
  if (!expression.ends_with("$")) add("*");  // it may match a part
  return all;
}

void read_excluded(Quantisation& q, const ConfigNode* list) {
  if (list == nullptr) return;
  if (!list->is_sequence()) {
    throw InputError(list->origin(),
                     fmt::format("expected a list of what is not quantised, found {}", list->describe()));
  }
  for (const ConfigNode& item : list->items()) {
    std::vector<std::string> patterns{item.text()};
    if (item.text().starts_with("re:")) patterns = patterns_of(std::string_view(item.text()).substr(3), item);
    for (std::string& pattern : patterns) {
      for (const std::string_view outer : {"model.language_model.", "language_model.model.", "language_model."}) {
        if (pattern.starts_with(outer)) pattern = "model." + pattern.substr(outer.size());
      }
      q.excluded.push_back(std::move(pattern));
    }
  }
}

/// KV caches in 8 bit: "FP8", "8 bit float", {num_bits: 8, type: float}.
bool is_fp8(const ConfigNode* scheme) {
  if (scheme == nullptr) return false;
  if (scheme->is_map()) {
    const ConfigNode* bits = scheme->find("num_bits");
    const ConfigNode* type = scheme->find("type");
    if (bits && bits->text() == "8" && type && type->text() == "float") return true;
  } else if (scheme->text() == "FP8") {
    return true;
  }
  throw InputError(scheme->origin(), fmt::format("a KV cache in {}: expected FP8, 8 bits of type float, or none for "
                                                 "16 bit",
                                                 scheme->describe()));
}

void set_format(Quantisation& q, NumberFormat format) {
  q.format = format;
  q.bytes = bytes_per_element(format);
}

/// Of modelopt's file, or of config.json where that repeats it.
void read_algorithm(Quantisation& q, const ConfigNode& algorithm) {
  q.stated_at = &algorithm;
  if (algorithm.text() == "FP8") return set_format(q, NumberFormat::fp8);
  if (algorithm.text() == "NVFP4") return set_format(q, NumberFormat::nvfp4);
  throw InputError(algorithm.origin(), fmt::format("quant_algo: {}: expected FP8 or NVFP4", algorithm.describe()));
}

/// {num_bits: 8, type: float, strategy: block}, of compressed-tensors.
void read_weights(Quantisation& q, const ConfigNode& weights, std::vector<std::string>& remarks) {
  Fields fields(weights, "a map", "format of weights");
  q.stated_at = &weights;
  const std::int64_t bits = fields.whole("num_bits");
  const std::string type = fields.need("type").text();
  const std::int64_t group = fields.whole("group_size", 0);
  const ConfigNode* strategy = fields.find("strategy");
  if (bits == 8 && type == "float") {
    return set_format(q, strategy && strategy->text() == "block" ? NumberFormat::fp8_block : NumberFormat::fp8);
  }
  if (bits == 4 && type == "float" && group == 16) return set_format(q, NumberFormat::nvfp4);
  if (bits == 4 && type == "int" && group > 0) {
    constexpr double kScale = 2;  // bf16
    q.format.reset();
    q.bytes = 0.5 + kScale / static_cast<double>(group);
    remarks.emplace_back(
        "Weights are whole numbers of 4 bits, whose kernels nobody measured: steps say how they are timed.");
    return;
  }
  throw InputError(weights.origin(),
                   fmt::format("weights of {} bits, type {}, groups of {}: expected fp8, nvfp4 or 4-bit whole numbers",
                               bits, type, group));
}

void refuse_layers_apart(Fields& fields) {
  if (const ConfigNode* layers = fields.find("quantized_layers")) {
    refuse(*layers, "quantized_layers", "layers in formats of their own");
  }
}

Quantisation read_quantisation(const ConfigNode* file, const ConfigNode* in_config, std::vector<std::string>& remarks) {
  Quantisation q;
  if (file != nullptr) {
    Fields outer(*file, "a map, the file of a quantisation", "quantisation");
    const ConfigNode* inner = outer.find("quantization");
    Fields fields(inner ? *inner : *file, "a map", "quantisation");
    read_algorithm(q, fields.need("quant_algo"));
    refuse_layers_apart(fields);
    q.fp8_kv = is_fp8(fields.find("kv_cache_quant_algo"));
    read_excluded(q, fields.find("exclude_modules"));
    return q;
  }
  if (in_config == nullptr) return q;
  Fields fields(*in_config, "a map", "quantisation");
  refuse_layers_apart(fields);
  for (const char* key : {"kv_cache_scheme", "kv_cache_quant_algo"}) q.fp8_kv = is_fp8(fields.find(key)) || q.fp8_kv;
  for (const char* key : {"ignore", "modules_to_not_convert", "ignored_layers"}) read_excluded(q, fields.find(key));
  const ConfigNode* algorithm = fields.find("quant_algo");
  const ConfigNode* groups = fields.find("config_groups");
  const ConfigNode* blocks = fields.find("weight_block_size");
  const ConfigNode* method = fields.find("quant_method");
  if (algorithm != nullptr) {
    read_algorithm(q, *algorithm);
  } else if (groups != nullptr) {
    if (!groups->is_map() || groups->entries().size() != 1) {
      throw InputError(groups->origin(),
                       fmt::format("config_groups: {} groups of weights, expected one", groups->entries().size()));
    }
    Fields group(groups->entries().front().value, "a map", "group of weights");
    if (const ConfigNode* targets = group.find("targets");
        targets && !(targets->items().size() == 1 && targets->items().front().text() == "Linear")) {
      throw InputError(targets->origin(), "targets: expected [Linear], all linear layers");
    }
    read_weights(q, group.need("weights"), remarks);
  } else {
    const ConfigNode& stated = method ? *method : fields.need("quant_method");
    q.stated_at = &stated;
    if (stated.text() == "mxfp4") {
      constexpr double kScale = 1, kGroup = 32;  // 8 bit for each 32 numbers
      q.bytes = 0.5 + kScale / kGroup;
      remarks.emplace_back("Weights in MXFP4, whose kernels nobody measured: steps say how they are timed.");
    } else if (stated.text() == "fp8") {
      set_format(q, blocks ? NumberFormat::fp8_block : NumberFormat::fp8);
    } else {
      throw InputError(stated.origin(),
                       fmt::format("quant_method: {}: expected fp8, mxfp4, or config_groups", stated.describe()));
    }
  }
  fields.know({"activation_scheme", "fmt", "format", "global_compression_ratio", "producer", "quantization_status",
               "scale_fmt", "version"});
  if (const auto unknown = fields.unknown(); !unknown.empty()) {
    remarks.push_back(fmt::format("Fields of the quantisation that kvsim does not know and did not read: {}.",
                                  fmt::join(unknown, ", ")));
  }
  return q;
}

/// `*` stands for anything.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, after = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      after = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++after;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

/// A module is excluded by its name, by one that it is a part of, and by the end of either.
bool excludes(const Quantisation& q, std::string_view module) {
  const std::string dotted = fmt::format(".{}.", module);
  return std::any_of(q.excluded.begin(), q.excluded.end(), [&](const std::string& pattern) {
    if (pattern.find('*') != std::string::npos) return matches(pattern, module) || matches(pattern + ".*", module);
    return !pattern.empty() && dotted.find("." + pattern + ".") != std::string::npos;
  });
}

/// The matrices of one layer, by module, with their parameters.
struct Matrix {
  std::string module;
  double parameters = 0;
  bool of_attention = false;
};

std::vector<Matrix> matrices_of(const LlmSpec& m, bool dense, ExpertKeys keys) {
  const auto hidden = static_cast<double>(m.hidden), heads = static_cast<double>(m.heads);
  std::vector<Matrix> all;
  const auto attention = [&](const char* name, double parameters) {
    if (parameters > 0) all.push_back({std::string("self_attn.") + name, parameters, true});
  };
  if (m.attention == AttentionKind::mla) {
    const auto rank = static_cast<double>(m.mla.kv_lora_rank), queries = static_cast<double>(m.mla.q_lora_rank);
    const auto nope = static_cast<double>(m.mla.qk_nope_head_dim), rope = static_cast<double>(m.mla.qk_rope_head_dim);
    const auto value = static_cast<double>(m.mla.v_head_dim);
    attention("q_proj", queries > 0 ? 0 : hidden * heads * (nope + rope));
    attention("q_a_proj", hidden * queries);
    attention("q_b_proj", queries * heads * (nope + rope));
    attention("kv_a_proj_with_mqa", hidden * (rank + rope));
    attention("kv_b_proj", rank * heads * (nope + value));
    attention("o_proj", heads * value * hidden);
  } else {
    const auto head = static_cast<double>(m.head_dim), kv_heads = static_cast<double>(m.kv_heads);
    attention("q_proj", hidden * heads * head);
    attention("k_proj", hidden * kv_heads * head);
    attention("v_proj", hidden * kv_heads * head);
    attention("o_proj", heads * head * hidden);
  }
  const auto block = [&](const std::string& at, double width, std::array<const char*, 3> names) {
    for (const char* name : names) all.push_back({at + name, hidden * width});
  };
  constexpr std::array<const char*, 3> kNames{"gate_proj", "up_proj", "down_proj"};
  if (dense) {
    block("mlp.", static_cast<double>(m.intermediate), kNames);
    return all;
  }
  const auto width = static_cast<double>(m.moe.expert_intermediate), experts = static_cast<double>(m.moe.experts);
  const bool gemma = keys == ExpertKeys::gemma;
  keys == ExpertKeys::mixtral ? block("block_sparse_moe.experts.0.", width * experts, {"w1", "w3", "w2"})
                              : block(gemma ? "experts.0." : "mlp.experts.0.", width * experts, kNames);
  if (m.moe.shared_experts > 0) {
    block(gemma ? "mlp." : "mlp.shared_experts.", width * static_cast<double>(m.moe.shared_experts), kNames);
  }
  return all;
}

/// The mean width of weights: of matrices of layers by what is excluded, of all else 16 bit. Where most of attention's
/// are left in 16 bit, its kernels are; of the rest, likewise.
void add_widths(ConfigNode& entry, const Quantisation& q, ExpertKeys keys, const Windows& windows,
                std::vector<std::string>& remarks) {
  if (q.stated_at == nullptr) return;
  constexpr double kWide = 2, kMost = 0.5;
  ConfigNode whole = entry;
  append(whole, "description", "imported", *q.stated_at);
  const LlmSpec model = llm_schema().parse(whole, {"model", nullptr});
  struct Part {
    double parameters = 0, wide = 0;
    [[nodiscard]] double wide_share() const { return parameters > 0 ? wide / parameters : 0; }
  } attention, blocks;
  const std::int64_t dense_layers = model.moe.experts > 0 ? model.moe.dense_layers : model.layers;
  const auto both = [keys](const LlmSpec& part) {
    return std::array<std::vector<Matrix>, 2>{matrices_of(part, true, keys), matrices_of(part, false, keys)};
  };
  const std::array<std::array<std::vector<Matrix>, 2>, 2> matrices{both(model.full_part()), both(model.window_part())};
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    for (const Matrix& matrix : matrices.at(windows.of(layer) ? 1 : 0).at(layer < dense_layers ? 0 : 1)) {
      Part& part = matrix.of_attention ? attention : blocks;
      part.parameters += matrix.parameters;
      if (excludes(q, fmt::format("model.layers.{}.{}", layer, matrix.module))) part.wide += matrix.parameters;
    }
  }
  const auto parameters = static_cast<double>(model.parameters());
  const double wide = parameters - (attention.parameters - attention.wide) - (blocks.parameters - blocks.wide);
  double bytes = wide * kWide + (parameters - wide) * q.bytes, count = parameters;
  const bool wide_attention = attention.wide_share() >= kMost;
  if (wide_attention) {
    const double of_attention = model.parameter_groups().attention;
    bytes -= of_attention * kWide;
    count -= of_attention;
  }
  const bool narrow = blocks.wide_share() < kMost;
  append(entry, "weight_bytes_per_parameter",
         fmt::format("{:.5g}", std::clamp(bytes / count, std::min(q.bytes, kWide), kWide)), *q.stated_at);
  if (q.format && narrow) append(entry, "weight_format", word(*q.format), *q.stated_at);
  if (wide_attention && narrow) append(entry, "attention_weight_format", "bf16", *q.stated_at);
  const auto say = [&remarks](const Part& part, const char* what, bool timed_wide) {
    const double share = part.wide_share();
    if (share == 0 || share == 1) return;
    remarks.push_back(fmt::format("Of {}, {:.3g} % are left in 16 bit: held so, and timed as {}.", what, 100 * share,
                                  timed_wide ? "if all of them were" : "if none of them were"));
  };
  say(attention, "attention's projections", wide_attention);
  say(blocks, "the weights of feed-forward blocks", !narrow);
}

}  // namespace

ImportedModel import_model(const ConfigNode& config, const ConfigNode* quantisation) {
  ImportedModel imported;
  imported.entry = ConfigNode::map(config.origin());
  ConfigNode& entry = imported.entry;
  std::vector<std::string>& remarks = imported.remarks;

  Fields outer(config, "a map, the configuration of a model", "model");
  const ConfigNode* text = outer.find("text_config");
  Fields fields(text ? *text : config, "a map", "model of this type");
  refuse_unsupported(fields);
  const Family& family = family_of(fields);

  const Windows windows = read_windows(fields);
  append(entry, "layers", fields.need("num_hidden_layers"));
  append(entry, "hidden", fields.need("hidden_size"));
  append(entry, "heads", fields.need("num_attention_heads"));
  if (family.latent) {
    if (windows.stated_at != nullptr) refuse(*windows.stated_at, "sliding_window", "a sliding window over latents");
    append(entry, "kv_heads", fields.need("num_attention_heads"));
    append(entry, "head_dim", fields.whole("qk_nope_head_dim") + fields.whole("qk_rope_head_dim"),
           fields.need("qk_nope_head_dim"));
    fields.know({"num_key_value_heads", "head_dim", "qk_head_dim"});
  } else {
    add_heads(entry, fields, family, windows, remarks);
  }
  add_blocks(entry, fields, family.experts);
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
  append(entry, "qk_norm", fields.yes("use_qk_norm", family.qk_norm) ? "true" : "false", fields.need("model_type"));
  if (const ConfigNode* mlp_bias = fields.find("mlp_bias"); mlp_bias && fields.yes("mlp_bias", false)) {
    refuse(*mlp_bias, "mlp_bias", "biases of the feed-forward block");
  }
  append(entry, "max_context", fmt::format("{} tokens", fields.whole("max_position_embeddings")),
         fields.need("max_position_embeddings"));
  if (family.latent) add_latent(entry, fields);

  const ConfigNode* in_config = fields.find("quantization_config");
  if (in_config == nullptr) in_config = outer.find("quantization_config");
  const Quantisation widths = read_quantisation(quantisation, in_config, remarks);
  add_widths(entry, widths, family.experts, windows, remarks);
  if (widths.fp8_kv) append(entry, "kv_bytes_per_element", "1", *widths.stated_at);

  for (const char* key : {"torch_dtype", "dtype"}) {
    const ConfigNode* type = fields.find(key);
    if (type && type->text() != "bfloat16" && type->text() != "float16") {
      remarks.push_back(fmt::format("Weights in {} are taken for 16 bit, as engines load them.", type->text()));
    }
  }
  outer.know({"torch_dtype", "dtype"});
  if (const ConfigNode* vision = outer.find("vision_config")) {
    append(entry, "encoder_parameters", encoder_parameters(*vision), *vision);
    remarks.emplace_back("The vision encoder is held as weights in 16 bit; encoding takes no time.");
  }
  for (const char* key : {"num_nextn_predict_layers", "num_mtp_modules"}) {
    if (const std::int64_t layers = fields.whole(key, 0); layers > 0) {
      remarks.push_back(fmt::format("Multi-token prediction ({} = {}) is neither held nor run.", key, layers));
    }
  }
  fields.know({"use_mtp", "mtp_transformer_layers", "text_config"});
  std::vector<std::string> unknown = fields.unknown();
  if (text != nullptr) {
    for (std::string& key : outer.unknown()) unknown.push_back(std::move(key));
  }
  if (!unknown.empty()) {
    remarks.push_back(fmt::format("Fields that kvsim does not know and did not read: {}.", fmt::join(unknown, ", ")));
  }
  return imported;
}

ImportedModel import_model_file(const std::string& path, const std::string& quantisation_path) {
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
  ImportedModel imported = import_model(config, quantisation ? &*quantisation : nullptr);
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
