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
