#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "sim/cache/eviction/replay.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

ObjectTrace random_trace() {
  ObjectTrace trace;
  trace.objects = 12;
  trace.uses = *rc::gen::container<std::vector<ObjectId>>(rc::gen::inRange<ObjectId>(0, 12));
  return trace;
}

/// A policy that counts what is in its tier and complains when too much is.
class Watched final : public EvictionPolicy {
 public:
  Watched(std::unique_ptr<EvictionPolicy> policy, std::int64_t capacity)
      : policy_(std::move(policy)), capacity_(capacity) {}

  void insert(ObjectId id, std::int64_t bytes) override {
    RC_ASSERT(present_.insert(id).second);
    sizes_.resize(std::max<std::size_t>(sizes_.size(), id + 1));
    sizes_[id] = bytes;
    used_ += bytes;
    RC_ASSERT(used_ <= capacity_);
    policy_->insert(id, bytes);
    RC_ASSERT(policy_->size() == present_.size());
  }
  void hit(ObjectId id) override {
    RC_ASSERT(present_.count(id) == 1);
    policy_->hit(id);
  }
  ObjectId evict(const Pins& pins, ObjectId incoming) override {
    const ObjectId victim = policy_->evict(pins, incoming);
    RC_ASSERT(present_.erase(victim) == 1);
    used_ -= sizes_[victim];
    return victim;
  }
  void remove(ObjectId id) override { policy_->remove(id); }
  [[nodiscard]] std::size_t size() const override { return policy_->size(); }

 private:
  std::unique_ptr<EvictionPolicy> policy_;
  std::int64_t capacity_;
  std::int64_t used_ = 0;
  std::set<ObjectId> present_;
  std::vector<std::int64_t> sizes_;
};

const EvictionPolicyEntry* watched = nullptr;

RC_GTEST_PROP(EvictionProperty, BeladyIsNeverBeatenAtOneSize, ()) {
  const ObjectTrace trace = random_trace();
  const auto capacity = *rc::gen::inRange<std::int64_t>(1, 13);
  const std::uint64_t bound = replay(*find_eviction_policy("belady"), capacity, trace).hits;
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    RC_ASSERT(replay(entry, capacity, trace).hits <= bound);
  }
}

RC_GTEST_PROP(EvictionProperty, BeladyIsNeverBeatenOnChains, ()) {
  const auto lists = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::unique<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 500)));
  std::vector<models::RequestSpec> requests(lists.size());
  for (std::size_t i = 0; i < lists.size(); ++i) requests[i].prefix_blocks = lists[i];
  const BlockChains chains = block_chains(requests);
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 200);
  const std::uint64_t bound = replay_chains(*find_eviction_policy("belady"), capacity, chains).hits;
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    RC_ASSERT(replay_chains(entry, capacity, chains).hits <= bound);
  }
}

RC_GTEST_PROP(EvictionProperty, TheCapacityIsNeverExceededAndNoObjectIsLost, ()) {
  ObjectTrace trace = random_trace();
  trace.bytes = *rc::gen::container<std::vector<std::int64_t>>(trace.objects, rc::gen::inRange<std::int64_t>(0, 30));
  const auto capacity = *rc::gen::inRange<std::int64_t>(0, 60);
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    watched = &entry;
    EvictionPolicyEntry same = entry;
    same.make = [](const EvictionContext& context) -> std::unique_ptr<EvictionPolicy> {
      return std::make_unique<Watched>(watched->make(context), context.capacity_bytes);
    };
    RC_ASSERT(replay(same, capacity, trace) == replay(entry, capacity, trace));
  }
}

// All objects fit: each misses once, whatever the policy.
RC_GTEST_PROP(EvictionProperty, WithRoomForAllEachObjectMissesOnce, ()) {
  const ObjectTrace trace = random_trace();
  const std::set<ObjectId> different(trace.uses.begin(), trace.uses.end());
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    RC_ASSERT(replay(entry, 12, trace).misses() == different.size());
  }
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
