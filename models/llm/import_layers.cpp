#include "models/llm/import_layers.h"

#include <fmt/format.h>

#include <initializer_list>
#include <variant>

#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

struct LayerWord {
  std::string_view word;
  Layers::Mixer mixer;
  Layers::Block block = Layers::Block::dense;
};

/// One entry for each layer, by its word. `states`: the family has layers that keep one.
void read_words(Layers& layers, const ConfigNode& list, std::string_view key, bool states,
                std::initializer_list<LayerWord> words) {
  for (const ConfigNode& type : list.items()) {
    const auto known = std::find_if(words.begin(), words.end(), [&](const LayerWord& w) {
      return w.word == type.text() && (states || w.mixer != Layers::Mixer::state);
    });
    if (known == words.end()) refuse(type, key, fmt::format("\"{}\"", type.text()));
    layers.mixers.push_back(known->mixer);
    layers.blocks.push_back(known->block);
  }
}

constexpr std::int64_t kMostLayers = 10000;

/// Reads layers of Nemotron-H: each is one of a state space, attention, a feed-forward block or experts.
void read_single_blocks(Layers& layers, Fields& fields) {
  using Mixer = Layers::Mixer;
  using Block = Layers::Block;
  if (const ConfigNode* list = fields.find("layers_block_type")) {
    read_words(layers, *list, "layers_block_type", true,
               {{"mamba", Mixer::state, Block::none},
                {"attention", Mixer::full, Block::none},
                {"mlp", Mixer::none, Block::dense},
                {"moe", Mixer::none, Block::routed}});
    return;
  }
  const ConfigNode& pattern = fields.need("hybrid_override_pattern");
  for (const char letter : pattern.text()) {
    const bool mixes = letter == 'M' || letter == '*';
    if (!mixes && letter != '-' && letter != 'E') {
      refuse(pattern, "hybrid_override_pattern", fmt::format("\"{}\"", letter));
    }
    layers.mixers.push_back(letter == 'M' ? Mixer::state : mixes ? Mixer::full : Mixer::none);
    layers.blocks.push_back(letter == 'E' ? Block::routed : mixes ? Block::none : Block::dense);
  }
}

/// Reads layers of Nemotron-NAS, whose attention or feed-forward block may be left out.
void read_block_configs(Layers& layers, const ConfigNode& configs) {
  const auto leaves_out = [](const ConfigNode& layer, const char* part) {
    Fields outer(layer, "a map", "layer");
    Fields inner(outer.need(part), "a map", "part of a layer");
    for (const char* key : {"replace_with_linear", "sparsify", "window_length"}) {
      if (const ConfigNode* other = inner.find(key); other && other->text() != "false") {
        refuse(*other, key, "layers that differ from each other");
      }
    }
    return inner.yes("no_op", false);
  };
  for (const ConfigNode& layer : configs.items()) {
    layers.mixers.push_back(leaves_out(layer, "attention") ? Layers::Mixer::none : Layers::Mixer::full);
    layers.blocks.push_back(leaves_out(layer, "ffn") ? Layers::Block::none : Layers::Block::dense);
  }
}

/// Reads the layers of Kimi Linear: numbers of those with attention, from 1; the others keep a state.
void read_kda_layers(Layers& layers, Fields& fields) {
  Fields linear(fields.need("linear_attn_config"), "a map", "configuration of linear attention");
  const auto mark = [&](const char* key, Layers::Mixer mixer) {
    const ConfigNode& list = linear.need(key);
    for (const ConfigNode& number : list.items()) {
      const auto at = std::get<std::int64_t>(schema::integer().positive().usually(1, 1e9).read(number, key));
      if (at > std::ssize(layers.mixers)) refuse(number, key, "a layer beyond the last");
      layers.mixers[static_cast<std::size_t>(at - 1)] = mixer;
    }
  };
  std::fill(layers.mixers.begin(), layers.mixers.end(), Layers::Mixer::none);
  mark("kda_layers", Layers::Mixer::state);
  mark("full_attn_layers", Layers::Mixer::full);
  if (layers.count(Layers::Mixer::none) > 0) {
    refuse(fields.need("linear_attn_config"), "linear_attn_config", "layers in neither of its lists");
  }
}

/// Whether a layer is the one at `offset` of its `period` layers.
auto every_so_many(Fields& fields, const char* period_key, const char* offset_key) {
  const std::int64_t period = fields.whole(period_key), offset = fields.whole(offset_key);
  if (offset >= period) refuse(fields.need(offset_key), offset_key, fmt::format("{} of {} layers", offset, period));
  return [period, offset](std::int64_t layer) { return layer % period == offset; };
}

/// Which of the layers with attention have a sliding window, where no list of kinds says so.
void read_windows_by_rule(Layers& layers, Fields& fields, const Family& family, const ConfigNode& window) {
  if (fields.find("sliding_window_pattern") != nullptr) {  // the last of so many layers attends to all tokens
    const std::int64_t period = fields.whole("sliding_window_pattern");
    layers.give(Layers::Mixer::window, [&](std::int64_t i) { return period > 0 && (i + 1) % period != 0; });
  } else if (fields.find("max_window_layers") != nullptr && fields.find("use_sliding_window") != nullptr) {
    const std::int64_t from = fields.whole("max_window_layers");  // those before attend to all tokens
    layers.give(Layers::Mixer::window, [&](std::int64_t i) { return i >= from; });
  } else if (family.window_period > 0) {
    layers.give(Layers::Mixer::window, [&](std::int64_t i) { return (i + 1) % family.window_period != 0; });
    layers.assumed =
        fmt::format("No field says which layers have the sliding window: all but one in {}, as published for {}.",
                    family.window_period, family.type);
  } else {
    refuse(window, "sliding_window", "a sliding window that no field gives to a part of the layers");
  }
}

/// Reads layers of Llama 4 where no list says which attend within chunks: all but every no_rope_layer_interval-th.
void read_chunked_layers(Layers& layers, Fields& fields) {
  constexpr std::int64_t kPublishedCode = 4;
  const std::int64_t period = fields.whole("no_rope_layer_interval", kPublishedCode);
  if (period == 0) refuse(fields.need("no_rope_layer_interval"), "no_rope_layer_interval", "no period of layers");
  layers.give(Layers::Mixer::window, [&](std::int64_t i) { return (i + 1) % period != 0; });
  if (fields.find("no_rope_layer_interval") == nullptr) {
    layers.assumed = "No field says which layers attend within chunks: all but every fourth, as in the published code.";
  }
}

}  // namespace

Layers read_layers(Fields& fields, const Family& family) {
  using Mixer = Layers::Mixer;
  Layers layers;
  const ConfigNode* types = fields.find("layer_types");
  const ConfigNode* pattern = fields.find("hybrid_layer_pattern");
  const bool chunked = family.type == "llama4_text";
  const ConfigNode* positions = chunked ? fields.find("no_rope_layers") : nullptr;
  const ConfigNode* window = fields.find("sliding_window");
  // Without a list of kinds a window as long as the context leaves nothing out.
  const bool slides = fields.yes("use_sliding_window", true) && window != nullptr &&
                      (types != nullptr || fields.whole("sliding_window") < fields.whole("max_position_embeddings"));
  fields.know({"max_window_layers", "sliding_window_pattern"});
  const bool listed = family.state == StateKeys::mamba2 && fields.find("num_hidden_layers") == nullptr;
  const std::int64_t count = listed ? 0 : fields.whole("num_hidden_layers");
  if (count > kMostLayers) {
    throw InputError(fields.need("num_hidden_layers").origin(),
                     fmt::format("num_hidden_layers: {}: expected {} or fewer", count, kMostLayers));
  }
  const ConfigNode* list = types;
  if (family.state == StateKeys::mamba2) {
    read_single_blocks(layers, fields);
    list = fields.first({"layers_block_type", "hybrid_override_pattern"});
  } else if (family.type == "nemotron-nas") {
    list = &fields.need("block_configs");
    read_block_configs(layers, *list);
  } else if (types != nullptr) {
    read_words(layers, *types, "layer_types", family.state != StateKeys::none,
               {{"full_attention", Mixer::full},
                {"attention", Mixer::full},
                {"deepseek_sparse_attention", Mixer::full},
                {"sliding_attention", Mixer::window},
                {"chunked_attention", Mixer::window},
                {"linear_attention", Mixer::state},
                {"mamba", Mixer::state}});
  } else if (family.state == StateKeys::lightning) {
    list = &fields.need("attn_type_list");
    read_words(layers, *list, "attn_type_list", true, {{"0", Mixer::state}, {"1", Mixer::full}});
  } else if (positions != nullptr && !positions->items().empty()) {  // those with rotary positions, within chunks
    list = positions;
    read_words(layers, *positions, "no_rope_layers", false, {{"0", Mixer::full}, {"1", Mixer::window}});
    fields.know({"no_rope_layer_interval"});
  } else if (pattern != nullptr) {
    list = pattern;
    read_words(layers, *pattern, "hybrid_layer_pattern", false, {{"0", Mixer::full}, {"1", Mixer::window}});
  } else {
    layers.mixers.assign(static_cast<std::size_t>(count), Mixer::full);
    layers.blocks.assign(static_cast<std::size_t>(count), Layers::Block::dense);
    if (family.state == StateKeys::kda) {
      read_kda_layers(layers, fields);
    } else if (family.state == StateKeys::mamba1) {
      const auto chosen = every_so_many(fields, "attn_layer_period", "attn_layer_offset");
      layers.give(Mixer::state, [&](std::int64_t i) { return !chosen(i); });
    } else if (family.state == StateKeys::delta) {  // the last of so many layers has attention
      const std::int64_t period = fields.whole("full_attention_interval");
      layers.give(Mixer::state, [&](std::int64_t i) { return period == 0 || (i + 1) % period != 0; });
    } else if (chunked) {
      read_chunked_layers(layers, fields);
    } else if (family.state == StateKeys::granite) {
      static_cast<void>(fields.need("layer_types"));
    } else if (slides) {
      read_windows_by_rule(layers, fields, family, *window);
    }
  }
  fields.know({"full_attention_interval"});
  // Families whose layers are named by something else than kinds of attention say nothing of a sliding window.
  const bool silent = chunked || family.type == "nemotron-nas" || (types == nullptr && family.state != StateKeys::none);
  if (slides && silent && window->text() != "0") {
    refuse(*window, "sliding_window", "a sliding window that no field gives to a part of the layers");
  }
  if (const ConfigNode* indexer = family.latent ? fields.find("index_n_heads") : nullptr;
      indexer != nullptr && fields.find("index_topk") == nullptr) {
    refuse(*indexer, "index_n_heads", "an indexer without the number of tokens that it selects (index_topk)");
  }
  if (list != nullptr && count > 0 && std::ssize(layers.mixers) != count) {
    throw InputError(list->origin(), fmt::format("{}: {} of them for {} layers",
                                                 list == types       ? "layer_types"
                                                 : list == pattern   ? "hybrid_layer_pattern"
                                                 : list == positions ? "no_rope_layers"
                                                                     : "layers",
                                                 layers.mixers.size(), count));
  }
  if (family.latent && fields.find("index_topk") != nullptr && fields.whole("index_topk") > 0) {
    for (Mixer& m : layers.mixers) m = m == Mixer::full ? Mixer::window : m;
    layers.window_at = &fields.need("index_topk");
    layers.window_tokens = fields.whole("index_topk");
    layers.window_kind = "selected";
    return layers;
  }
  if (family.type == "gemma4_text") {
    layers.shared_kv = fields.whole("num_kv_shared_layers", 0);
    for (const Mixer m : {Mixer::full, Mixer::window}) {
      if (layers.shared_kv >= std::ssize(layers.mixers) ||
          (layers.count(m) > 0 && layers.count_sharing(m) == layers.count(m))) {
        refuse(fields.need("num_kv_shared_layers"), "num_kv_shared_layers", "no layer of a kind with KV of its own");
      }
    }
  }
  const std::int64_t windowed = layers.count(Mixer::window);
  if (windowed == 0) return layers;
  if (layers.count(Mixer::full) == 0) {
    refuse(list ? *list : *window, "sliding_window", "a sliding window in every layer");
  }
  const char* key = chunked ? "attention_chunk_size" : "sliding_window";
  if (chunked) layers.window_kind = "chunked";
  layers.window_at = &fields.need(key);
  layers.window_tokens = fields.whole(key);
  if (layers.window_tokens == 0) refuse(*layers.window_at, key, "a window of no token");
  return layers;
}

namespace {

/// Reads a list that has 0 for layers without experts and 1 for those with.
void read_expert_list(Layers& layers, const ConfigNode& list, std::string_view key) {
  if (list.items().size() != layers.blocks.size()) refuse(list, key, "not one entry for each layer");
  for (std::size_t i = 0; i < layers.blocks.size(); ++i) {
    const ConfigNode& has = list.items()[i];
    if (has.text() != "0" && has.text() != "1") refuse(has, key, fmt::format("\"{}\"", has.text()));
    layers.blocks[i] = has.text() == "1" ? Layers::Block::routed : Layers::Block::dense;
  }
}

}  // namespace

void read_expert_layers(Layers& layers, Fields& fields, ExpertKeys experts) {
  if (experts == ExpertKeys::nemotron) return;  // its pattern says
  const ConfigNode* frequency = fields.find("moe_layer_freq");
  if (frequency && frequency->is_sequence()) {
    read_expert_list(layers, *frequency, "moe_layer_freq");
    return;
  }
  const bool behind_dense = experts == ExpertKeys::deepseek || experts == ExpertKeys::step ||
                            experts == ExpertKeys::mimo || experts == ExpertKeys::kimi;
  if (frequency && frequency->text() != "1") refuse(*frequency, "moe_layer_freq", "experts in some layers alone");
  if (experts == ExpertKeys::jamba) {
    layers.route(every_so_many(fields, "expert_layer_period", "expert_layer_offset"));
    return;
  }
  const bool llama = experts == ExpertKeys::llama4;
  const char* step_key = llama ? "interleave_moe_layer_step" : "decoder_sparse_step";
  const std::int64_t dense = behind_dense ? fields.whole("first_k_dense_replace") : 0;
  const std::int64_t step = llama ? fields.whole(step_key) : fields.whole(step_key, 1);
  if (step == 0) refuse(fields.need(step_key), step_key, "no layer with experts");
  layers.route([&](std::int64_t i) { return i >= dense && (i + 1) % step == 0; });
  if (llama) return;
  if (const ConfigNode* list = fields.find("mlp_only_layers")) {
    if (!list->is_sequence()) refuse(*list, "mlp_only_layers", "something other than a list of layers");
    for (const ConfigNode& number : list->items()) {
      const auto at =
          std::get<std::int64_t>(schema::integer().non_negative().usually(1, 1e9).read(number, "mlp_only_layers"));
      if (at >= std::ssize(layers.blocks)) refuse(number, "mlp_only_layers", "a layer beyond the last");
      layers.blocks[static_cast<std::size_t>(at)] = Layers::Block::dense;
    }
  }
}

}  // namespace kvsim::models::imports
