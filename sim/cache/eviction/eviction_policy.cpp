#include "sim/cache/eviction/eviction_policy.h"

#include <algorithm>
#include <array>

namespace kvsim::cache {
namespace {

constexpr std::array kPolicies{
    EvictionPolicyEntry{"lru", "least recently used", false, make_lru},
    EvictionPolicyEntry{"lfu", "least often used since it came in; of those, the least recently used", false, make_lfu},
    EvictionPolicyEntry{"arc", "recency and frequency, their shares adapted by what was evicted too early", false,
                        make_arc},
    EvictionPolicyEntry{"s3fifo", "three FIFO queues: new objects prove themselves in the small one", false,
                        make_s3fifo},
    EvictionPolicyEntry{"sieve", "one FIFO queue and a hand that spares what was used", false, make_sieve},
    EvictionPolicyEntry{"gdsf", "small and often used objects stay, aged by what was evicted", false, make_gdsf},
    EvictionPolicyEntry{"belady",
                        "farthest next use, which needs the future; the bound in one tier of objects of one size", true,
                        make_belady},
};

}  // namespace

std::span<const EvictionPolicyEntry> eviction_policies() {
  return kPolicies;
}

const EvictionPolicyEntry* find_eviction_policy(std::string_view name) {
  const auto it = std::find_if(kPolicies.begin(), kPolicies.end(),
                               [name](const EvictionPolicyEntry& entry) { return entry.name == name; });
  return it == kPolicies.end() ? nullptr : &*it;
}

}  // namespace kvsim::cache
