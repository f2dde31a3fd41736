// Which families of models are read, and which fields are refused of them.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/llm/import_layers.h"
#include "models/schema/error.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

// Norms count as two a layer.
constexpr std::array<Family, 40> kFamilies{
    {{"cohere2", ExpertKeys::none, false, false, false, true, true},
     {"deepseek_v2", ExpertKeys::deepseek, true},
     {"deepseek_v3", ExpertKeys::deepseek, true},
     {"deepseek_v32", ExpertKeys::deepseek, true},
     {.type = "gemma2", .tied = true, .window_period = 2},                        // arXiv:2408.00118, section 2
     {.type = "gemma3_text", .qk_norm = true, .tied = true, .window_period = 6},  // arXiv:2503.19786, section 2
     {"gemma4_text", ExpertKeys::gemma, false, false, true, true, true},
     {"glm4_moe", ExpertKeys::deepseek},
     {"glm_moe_dsa", ExpertKeys::deepseek, true},
     {"gpt_oss", ExpertKeys::mixtral, false, true},
     {"granite"},
     {.type = "granitemoehybrid", .experts = ExpertKeys::granite, .state = StateKeys::granite},
     {"hunyuan_v1_dense", ExpertKeys::none, false, false, true},
     {.type = "jamba", .experts = ExpertKeys::jamba, .state = StateKeys::mamba1},
     {"kimi_k2", ExpertKeys::deepseek, true},
     {.type = "kimi_linear", .experts = ExpertKeys::kimi, .latent = true, .state = StateKeys::kda},
     {"llama", ExpertKeys::none, false, false, false, false},
     {"llama4_text", ExpertKeys::llama4},
     {"mimo", ExpertKeys::none, false, true},
     {"mimo_v2_flash", ExpertKeys::mimo},
     {.type = "minimax", .experts = ExpertKeys::mixtral, .state = StateKeys::lightning},
     {"minimax_m2", ExpertKeys::mixtral, false, false, true},
     {.type = "minimax_text_01", .experts = ExpertKeys::mixtral, .state = StateKeys::lightning},
     {"mistral"},
     {"mixtral", ExpertKeys::mixtral},
     {"nemotron-nas", ExpertKeys::none, false, false, false, false},
     {.type = "nemotron_h", .experts = ExpertKeys::nemotron, .state = StateKeys::mamba2, .gated_blocks = false},
     {"olmo3", ExpertKeys::none, false, false, false},
     {.type = "phi3", .fused_names = true},
     {"qwen2", ExpertKeys::none, false, true},
     {"qwen2_moe", ExpertKeys::qwen, false, true},
     {"qwen3", ExpertKeys::none, false, false, true},
     {.type = "qwen3_5_moe_text", .experts = ExpertKeys::qwen, .qk_norm = true, .state = StateKeys::delta},
     {.type = "qwen3_5_text", .qk_norm = true, .state = StateKeys::delta},
     {"qwen3_moe", ExpertKeys::qwen, false, false, true},
     {"qwen3_next", ExpertKeys::qwen, false, false, true, true, false, StateKeys::delta, true},
     {"qwen3_vl_moe_text", ExpertKeys::qwen, false, false, true},
     {"qwen3_vl_text", ExpertKeys::none, false, false, true},
     {"seed_oss", ExpertKeys::none, false, true},
     {"step3p7", ExpertKeys::step}}};

/// Fields that change what layers keep or compute, unless they are 0.
struct Changes {
  std::string_view field;
  std::string_view what;
  bool (*reads)(const Family&) = nullptr;  ///< families that they are read of; null: no entry can say it
};
constexpr auto kLatent = [](const Family& f) { return f.latent; };
constexpr auto kSingleBlocks = [](const Family& f) { return f.state == StateKeys::mamba2; };
constexpr Changes kUnsupported[] = {{"sparse_attention_config", "layers that read a selection of blocks"},
                                    {"compress_ratios", "layers that keep a compressed context"},
                                    {"hidden_size_per_layer_input", "embeddings of each layer"}};
constexpr Changes kOfSomeFamilies[] = {
    {"attention_chunk_size", "layers that attend within chunks", [](auto& f) { return f.type == "llama4_text"; }},
    {"block_configs", "layers that differ from each other", [](auto& f) { return f.type == "nemotron-nas"; }},
    {"hybrid_override_pattern", "layers of state spaces", kSingleBlocks},
    {"index_topk", "a sparse indexer", kLatent},
    {"kv_lora_rank", "latent attention", kLatent},
    {"layers_block_type", "layers of state spaces", kSingleBlocks},
    {"linear_attn_config", "layers of linear attention", [](auto& f) { return f.state == StateKeys::kda; }},
    {"linear_num_value_heads", "layers of linear attention", [](auto& f) { return f.state == StateKeys::delta; }},
    {"num_kv_shared_layers", "layers that share another's KV", [](auto& f) { return f.type == "gemma4_text"; }},
    {"shared_expert_intermediate_size", "a shared expert", [](auto& f) { return f.experts == ExpertKeys::qwen; }},
    {"shared_intermediate_size", "a shared expert", [](auto& f) { return f.experts == ExpertKeys::granite; }}};

}  // namespace

void refuse_unsupported(Fields& fields) {
  for (const Changes& u : kUnsupported) {
    const ConfigNode* node = fields.find(u.field);
    if (node && node->text() != "0") refuse(*node, u.field, u.what);
  }
  fields.refuse_if_set({"use_double_wide_mlp", "use_cla"}, "layers that differ from each other");
  fields.know({"vocab_size_per_layer_input"});  // of embeddings that are refused
  fields.refuse_if_set({"add_cross_attention", "is_encoder_decoder"}, "an encoder");
  if (const ConfigNode* pruned = fields.find("pruned_heads"); pruned && !pruned->entries().empty()) {
    refuse(*pruned, "pruned_heads", "layers that differ from each other");
  }
}

const Family& family_of(Fields& fields, std::string_view as) {
  const ConfigNode* type = fields.find("model_type");
  const std::string name = as.empty() && type != nullptr ? type->text() : std::string(as);
  const auto* const known =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& f) { return f.type == name; });
  if (known != kFamilies.end()) return *known;
  std::vector<std::string> names;
  for (const Family& f : kFamilies) names.emplace_back(f.type);
  const std::string those = fmt::format("those that are: {}", fmt::join(names, ", "));
  if (!as.empty()) throw InputError(fmt::format("--as: \"{}\" is not read; {}", as, those));
  const ConfigNode& stated = fields.need("model_type");
  throw InputError(stated.origin(),
                   fmt::format("model_type: {} is not read (`kvsim model import --as TYPE` reads it as another); {}",
                               stated.describe(), those));
}

void refuse_of_other_families(Fields& fields, const Family& family) {
  const ConfigNode* window = fields.find("sliding_window");
  const ConfigNode* again = fields.find("attention_chunk_size");
  // MiMo-V2 names its window twice.
  const bool twice = window && again && fields.find("hybrid_layer_pattern") && again->text() == window->text();
  for (const Changes& u : kOfSomeFamilies) {
    const ConfigNode* node = u.reads(family) ? nullptr : fields.find(u.field);
    if (!node || node->text() == "0" || (twice && node == again)) continue;
    throw InputError(node->origin(), fmt::format("{}: {}, which is not read of models of type {} (`kvsim model import "
                                                 "--as TYPE` reads them as another)",
                                                 u.field, u.what, family.type));
  }
  const ConfigNode* types = family.state == StateKeys::lightning ? nullptr : fields.find("attn_type_list");
  if (types == nullptr) return;
  for (const ConfigNode& type : types->items()) {
    if (type.text() != "1") refuse(type, "attn_type_list", fmt::format("attention of type {}", type.text()));
  }
}

}  // namespace kvsim::models::imports
