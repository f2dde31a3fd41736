#include "models/llm/import_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <variant>

#include "models/schema/error.h"
#include "models/schema/not_modelled.h"
#include "models/schema/scalar_spec.h"

namespace kvsim::models::imports {

using schema::InputError;

namespace {

/// Fields that change neither sizes nor times here: numerics, training, tokens, generation, software.
constexpr std::string_view kWithoutEffect[] = {"_attn_implementation",
                                               "_name_or_path",
                                               "add_full_attention_sink_bias",
                                               "add_swa_attention_sink_bias",
                                               "architectures",
                                               "attention_dropout",
                                               "attention_multiplier",
                                               "attention_out_bias",
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
                                               "cache_implementation",
                                               "chunk_size_feed_forward",
                                               "cross_attention_hidden_size",
                                               "decoder_start_token_id",
                                               "diversity_penalty",
                                               "do_sample",
                                               "early_stopping",
                                               "embd_pdrop",
                                               "embedding_multiplier",
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
                                               "logits_scaling",
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
                                               "original_max_position_embeddings",
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
                                               "resid_pdrop",
                                               "residual_dropout",
                                               "residual_multiplier",
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

std::int64_t read_whole(const ConfigNode& node, std::string_view key) {
  return std::get<std::int64_t>(schema::integer().non_negative().usually(1, 1e9).read(node, key));
}

}  // namespace

Fields::Fields(const ConfigNode& map, std::string_view what, std::string_view of) : map_(&map), of_(of) {
  if (!map.is_map()) throw InputError(map.origin(), fmt::format("expected {}, found {}", what, map.describe()));
}

const ConfigNode* Fields::find(std::string_view key) {
  known_.emplace(key);
  const ConfigNode* node = map_->find(key);
  return node == nullptr || node->is_null() ? nullptr : node;
}

const ConfigNode& Fields::need(std::string_view key) {
  const ConfigNode* node = find(key);
  if (node != nullptr) return *node;
  throw InputError(map_->origin(), fmt::format("no \"{}\", which every {} has", key, of_));
}

const ConfigNode* Fields::first(std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (const ConfigNode* node = find(key)) return node;
  }
  return nullptr;
}

std::int64_t Fields::whole(std::string_view key, std::int64_t otherwise) {
  const ConfigNode* node = find(key);
  return node ? read_whole(*node, key) : otherwise;
}

std::int64_t Fields::whole(std::string_view key) {
  return read_whole(need(key), key);
}

bool Fields::yes(std::string_view key, bool otherwise) {
  const ConfigNode* node = find(key);
  return node ? std::get<bool>(schema::boolean().read(*node, key)) : otherwise;
}

void Fields::refuse_if_set(std::initializer_list<const char*> keys, std::string_view what) {
  for (const char* key : keys) {
    if (yes(key, false)) refuse(need(key), key, what);
  }
}

std::vector<std::string> Fields::unknown() const {
  std::vector<std::string> keys;
  for (const auto& [key, value, origin] : map_->entries()) {
    const bool idle = std::find(std::begin(kWithoutEffect), std::end(kWithoutEffect), key) != std::end(kWithoutEffect);
    if (!idle && !value.is_null() && !known_.contains(key)) keys.push_back(key);
  }
  return keys;
}

void append(ConfigNode& entry, const char* key, std::string value, const ConfigNode& from) {
  entry.append(key, ConfigNode::scalar(std::move(value), false, from.origin()), from.origin());
}

void append(ConfigNode& entry, const char* key, std::int64_t value, const ConfigNode& from) {
  append(entry, key, std::to_string(value), from);
}

void append(ConfigNode& entry, const char* key, const ConfigNode& value) {
  entry.append(key, value, value.origin());
}

void refuse(const ConfigNode& at, std::string_view field, std::string_view what) {
  throw InputError(at.origin(),
                   fmt::format("{}: {}, which kvsim does not model ({})", field, what, schema::kWhereNotModelled));
}

}  // namespace kvsim::models::imports
