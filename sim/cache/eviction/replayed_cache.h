// Internal: the cache that a replay fills.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {

/// Get = find, evict until it fits, insert.
class ReplayedCache {
 public:
  /// `bytes` of each object, or null: 1 each.
  ReplayedCache(std::unique_ptr<EvictionPolicy> policy, std::int64_t capacity, std::size_t objects,
                const std::int64_t* bytes)
      : policy_(std::move(policy)), capacity_(capacity), free_(capacity), bytes_(bytes), present_(objects, 0) {}

  [[nodiscard]] bool contains(ObjectId id) const { return present_[id] != 0; }
  [[nodiscard]] std::int64_t bytes(ObjectId id) const { return bytes_ == nullptr ? 1 : bytes_[id]; }

  /// The object is there and is used.
  void hit(ObjectId id) { policy_->hit(id); }

  /// The object is not there and is used.
  void miss(ObjectId id) {
    const std::int64_t size = bytes(id);
    if (size > capacity_) return;
    while (free_ < size) {
      const ObjectId victim = policy_->evict(Pins(), id);
      KVSIM_ALWAYS(victim != kNoObject, "the policy has no victim though nothing is pinned");
      present_[victim] = 0;
      free_ += bytes(victim);
    }
    policy_->insert(id, size);
    present_[id] = 1;
    free_ -= size;
  }

 private:
  std::unique_ptr<EvictionPolicy> policy_;
  std::int64_t capacity_;
  std::int64_t free_;
  const std::int64_t* bytes_;
  std::vector<std::uint8_t> present_;
};

}  // namespace kvsim::cache
