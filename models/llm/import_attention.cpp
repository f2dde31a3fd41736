// Heads, windows, latents and indexers of a configuration.
#include <fmt/format.h>

#include "models/llm/import_parts.h"
#include "models/schema/error.h"

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

/// Reads Nemotron-NAS, whose layers say how many heads share one of KV: all those with attention the same.
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

}  // namespace

void add_heads(ConfigNode& entry, Fields& fields, const Family& family, const Layers& layers,
               std::vector<std::string>& remarks) {
  const std::int64_t hidden = fields.whole("hidden_size"), heads = fields.whole("num_attention_heads");
  const ConfigNode* kv_heads =
      family.says_heads ? &fields.need("num_key_value_heads") : fields.find("num_key_value_heads");
  if (kv_heads == nullptr) kv_heads = &fields.need("num_attention_heads");
  const ConfigNode* head_dim = fields.first({"head_dim", "attention_head_dim"});
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
  if (fields.yes("attention_k_eq_v", false)) {
    remarks.emplace_back("Keys and values that are the same (attention_k_eq_v) are each counted, in weights and KV.");
  }
  if (layers.window_at == nullptr) {
    fields.know({"sliding_window_size"});
    return;
  }
  ConfigNode window = window_of(layers);
  if (const ConfigNode* stated = fields.find("swa_num_attention_heads")) append(window, "heads", *stated);
  if (const ConfigNode* stated = fields.find("swa_num_key_value_heads")) append(window, "kv_heads", *stated);
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

void add_indexer(ConfigNode& entry, Fields& fields, const Layers& layers, std::vector<std::string>& remarks) {
  const ConfigNode& at = *layers.window_at;
  std::int64_t own = layers.count(Layers::Mixer::window);
  if (const ConfigNode* types = fields.find("indexer_types")) {
    if (types->items().size() != layers.mixers.size()) {
      throw InputError(types->origin(), fmt::format("indexer_types: {} of them for {} layers", types->items().size(),
                                                    layers.mixers.size()));
    }
    for (const ConfigNode& type : types->items()) {
      const bool shares = type.text() == "shared";
      if (!shares && type.text() != "full") refuse(type, "indexer_types", fmt::format("\"{}\"", type.text()));
      if (shares) own -= 1;
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

}  // namespace kvsim::models::imports
