#include "models/llm/config_import.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "models/llm/import_fields.h"
#include "models/llm/import_layers.h"
#include "models/llm/import_parts.h"
#include "models/llm/import_widths.h"
#include "models/llm/llm_spec.h"
#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"
#include "models/schema/yaml.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

/// The mean width of Nemotron-NAS, whose layers' blocks are ffn_mult times two thirds of the hidden size wide, in
/// multiples of 256.
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
      const ConfigNode* type = scaling.first({"rope_type", "type"});
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

/// Parameters of a vision encoder. A layer has four projections and two matrices. Patches and their places are
/// embedded. Each merger takes the patches of a square together in two matrices; there is one more merger for each
/// layer that is tapped on the way.
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
  const ConfigNode* counted = fields.find("num_hidden_layers");
  append(entry, "layers", std::ssize(layers.mixers), counted ? *counted : type);
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
  fields.refuse_if_set({"mlp_bias"}, "biases of the feed-forward block");
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
