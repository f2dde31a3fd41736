#include "sim/serving/decode_policy.h"

#include <algorithm>
#include <array>

namespace kvsim::serving {
namespace {

constexpr std::array kPolicies{
    DecodePolicy{"full_kv", "every step reads the full KV, which stays in GPU memory", false, false},
    DecodePolicy{"lossy", "every step reads the compressed KV; the output diverges from full-KV decoding", true, false},
    DecodePolicy{"draft_verify", "drafts on the compressed KV, verifies x tokens at once against the full KV; lossless",
                 true, true},
    DecodePolicy{"speculative_prefetch",
                 "a low-bit copy on the GPU; the 16-bit pairs that the next token attends to most are fetched ahead, "
                 "chosen by a speculative token",
                 true, false, true, Fetch::speculative},
    DecodePolicy{"fetch_on_demand",
                 "a low-bit copy on the GPU; each layer's 16-bit pairs are fetched when the token's own scores choose "
                 "them",
                 true, false, true, Fetch::on_demand},
    DecodePolicy{"quantised_only", "a low-bit copy and the latest tokens in 16 bit; nothing is fetched", true, false,
                 true},
    DecodePolicy{"full_offload", "the full KV is in host memory and streamed in for every step, layer by layer", false,
                 false, false, Fetch::everything},
};

}  // namespace

std::span<const DecodePolicy> decode_policies() {
  return kPolicies;
}

const DecodePolicy* find_decode_policy(std::string_view name) {
  const auto it =
      std::find_if(kPolicies.begin(), kPolicies.end(), [name](const DecodePolicy& p) { return p.name == name; });
  return it == kPolicies.end() ? nullptr : &*it;
}

}  // namespace kvsim::serving
