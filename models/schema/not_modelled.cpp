#include "models/schema/not_modelled.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

// In order.
constexpr std::array<std::string_view, 32> kWords{
    "adapters",    "autoscaling",  "beam",           "beam_search",      "beam_width",  "beams",
    "best_of",     "cancellation", "congestion",     "context_parallel", "cpu_offload", "decode_context_parallel",
    "deepseek_v4", "disaggregate", "disaggregated",  "disaggregation",   "images",      "kv_transfer",
    "lora",        "loras",        "minimax_m3",     "multi_lora",       "multimodal",  "network",
    "ngram",       "power",        "prefill_decode", "priorities",       "priority",    "prompt_lookup",
    "swap",        "swap_space"};

struct EngineOption {
  std::string_view name, engine, key;
};

// In order of names.
constexpr std::array kEngineOptions{
    EngineOption{"async_scheduling", "vLLM", "schedule.asynchronous"},
    EngineOption{"chunked_prefill_size", "SGLang", "schedule.max_batched_tokens"},
    EngineOption{"context_length", "SGLang", "model.max_context"},
    EngineOption{"data_parallel_size", "vLLM", "cluster.replicas"},
    EngineOption{"dp_size", "SGLang", "cluster.replicas"},
    EngineOption{"enable_expert_parallel", "vLLM", "cluster.gpu.expert_parallel"},
    EngineOption{"enable_prefix_caching", "vLLM", "schedule.prefix_caching"},
    EngineOption{"free_gpu_memory_fraction", "TensorRT-LLM", "cluster.gpu.memory_fraction"},
    EngineOption{"gpu", "", "cluster.gpu.type"},
    EngineOption{"gpu_memory_utilization", "vLLM", "cluster.gpu.memory_fraction"},
    EngineOption{"kv_cache_dtype", "vLLM", "model.kv_bytes_per_element"},
    EngineOption{"max_batch_size", "TensorRT-LLM", "schedule.max_requests"},
    EngineOption{"max_model_len", "vLLM", "model.max_context"},
    EngineOption{"max_num_batched_tokens", "vLLM", "schedule.max_batched_tokens"},
    EngineOption{"max_num_seqs", "vLLM", "schedule.max_requests"},
    EngineOption{"max_num_tokens", "TensorRT-LLM", "schedule.max_batched_tokens"},
    EngineOption{"max_running_requests", "SGLang", "schedule.max_requests"},
    EngineOption{"max_seq_len", "TensorRT-LLM", "model.max_context"},
    EngineOption{"mem_fraction_static", "SGLang", "cluster.gpu.memory_fraction"},
    EngineOption{"num_speculative_tokens", "vLLM", "decode.drafter.draft_length"},
    EngineOption{"page_size", "SGLang", "schedule.block_size"},
    EngineOption{"pipeline_parallel_size", "vLLM", "cluster.gpu.pipeline_parallel"},
    EngineOption{"quantization", "vLLM", "model.weight_format"},
    EngineOption{"request_rate", "vLLM", "workload.arrivals.rate"},
    EngineOption{"speculative_config", "vLLM", "decode.drafter"},
    EngineOption{"tensor_parallel_size", "vLLM", "cluster.gpu.tensor_parallel"},
    EngineOption{"tokens_per_block", "TensorRT-LLM", "schedule.block_size"},
    EngineOption{"tp", "", "cluster.gpu.tensor_parallel"},
    EngineOption{"tp_size", "SGLang", "cluster.gpu.tensor_parallel"},
};

std::string as_identifier(std::string_view word) {
  std::string text(word);
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return text;
}

const EngineOption* find_engine_option(std::string_view word) {
  const std::string name = as_identifier(word);
  const auto* const found = std::find_if(kEngineOptions.begin(), kEngineOptions.end(),
                                         [&name](const EngineOption& option) { return option.name == name; });
  return found == kEngineOptions.end() ? nullptr : found;
}

}  // namespace

bool is_not_modelled(std::string_view word) {
  return std::binary_search(kWords.begin(), kWords.end(), std::string_view(as_identifier(word)));
}

std::string meant_entry(std::string_view name, std::span<const std::string> entries) {
  const auto other = other_version(name, entries);
  if (!other) return did_you_mean(nearest(name, entries));
  return fmt::format("{}; the nearest entry is \"{}\"",
                     is_not_modelled(other->asked) ? other->asked + " is not modelled (docs/overview.md)"
                                                   : "there is no entry for " + other->asked,
                     other->nearest);
}

std::string engine_option(std::string_view word) {
  const EngineOption* option = find_engine_option(word);
  if (option == nullptr) return {};
  if (option->engine.empty()) return fmt::format("{} is {} here", word, option->key);
  return fmt::format("{}'s {} is {} here", option->engine, word, option->key);
}

std::string_view key_of_engine_option(std::string_view word) {
  const EngineOption* option = find_engine_option(word);
  return option == nullptr ? std::string_view() : option->key;
}

}  // namespace kvsim::schema
