#include "models/schema/not_modelled.h"

#include <algorithm>
#include <array>
#include <string>

namespace kvsim::schema {
namespace {

// In order.
constexpr std::array<std::string_view, 30> kWords{
    "adapters",       "autoscaling",   "beam",           "beam_search",      "beam_width",  "beams",
    "best_of",        "cancellation",  "congestion",     "context_parallel", "cpu_offload", "decode_context_parallel",
    "disaggregate",   "disaggregated", "disaggregation", "images",           "kv_transfer", "lora",
    "loras",          "multi_lora",    "multimodal",     "network",          "ngram",       "power",
    "prefill_decode", "priorities",    "priority",       "prompt_lookup",    "swap",        "swap_space"};

}  // namespace

bool is_not_modelled(std::string_view word) {
  std::string folded(word);
  for (char& c : folded) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return std::binary_search(kWords.begin(), kWords.end(), std::string_view(folded));
}

}  // namespace kvsim::schema
