#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <map>
#include <set>

#include "sim/cache/eviction/replay.h"
#include "sim/engine/random.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

ObjectTrace random_trace() {
  ObjectTrace trace;
  trace.objects = 12;
  trace.uses = *rc::gen::container<std::vector<ObjectId>>(rc::gen::inRange<ObjectId>(0, 12));
  return trace;
}

/// Chains in a tree: a block always has the same blocks before it.
BlockChains random_chains(std::uint64_t longest, std::uint64_t branches) {
  const auto paths = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, branches)));
  std::vector<models::RequestSpec> requests(paths.size());
  for (std::size_t i = 0; i < paths.size(); ++i) {
    std::uint64_t hash = 1;
    for (std::size_t b = 0; b < std::min<std::size_t>(paths[i].size(), longest); ++b) {
      hash = hash * (branches + 1) + paths[i][b] + 1;
      requests[i].prefix_blocks.push_back(hash);
    }
  }
  return block_chains(requests);
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
    if (victim == incoming) return victim;
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
  const BlockChains chains = random_chains(10, 3);
  const auto capacity = *rc::gen::inRange<std::size_t>(1, 60);
  const std::uint64_t bound = replay_chains(*find_eviction_policy("belady"), capacity, chains).hits;
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    RC_ASSERT(replay_chains(entry, capacity, chains).hits <= bound);
  }
}

/// The most blocks that any choice of what to keep after each request finds, by trying all of them. Sets of blocks are
/// bits.
std::uint64_t most_hits(const BlockChains& chains, std::size_t capacity) {
  std::map<std::uint64_t, std::uint64_t> best{{0, 0}};  // hits so far, by what is kept
  std::size_t begin = 0;
  for (const std::size_t end : chains.ends) {
    std::map<std::uint64_t, std::uint64_t> next;
    for (const auto& [kept, hits] : best) {
      std::uint64_t found = 0, all = kept;
      for (std::size_t i = begin; i < end; ++i) {
        found += found == i - begin && (kept >> chains.blocks[i] & 1U) != 0 ? 1 : 0;
        all |= std::uint64_t{1} << chains.blocks[i];
      }
      for (std::uint64_t subset = all;; subset = (subset - 1) & all) {
        if (static_cast<std::size_t>(std::popcount(subset)) <= capacity) {
          std::uint64_t& most = next[subset];
          most = std::max(most, hits + found);
        }
        if (subset == 0) break;
      }
    }
    best = std::move(next);
    begin = end;
  }
  std::uint64_t most = 0;
  for (const auto& [kept, hits] : best) most = std::max(most, hits);
  return most;
}

TEST(Belady, HasAllHitsThatAreToBeHadOnChains) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    engine::RandomStream draw(seed, "chains");
    std::vector<models::RequestSpec> requests(3 + draw.below(8));
    for (models::RequestSpec& r : requests) {
      std::uint64_t hash = 1;
      for (std::uint64_t left = 1 + draw.below(3); left > 0; --left) {
        hash = hash * 3 + draw.below(2);
        r.prefix_blocks.push_back(hash);
      }
    }
    const BlockChains chains = block_chains(requests);
    if (chains.objects > 9) continue;
    const std::size_t capacity = draw.below(6);
    const std::uint64_t hits = replay_chains(*find_eviction_policy("belady"), capacity, chains).hits;
    ASSERT_EQ(hits, most_hits(chains, capacity)) << "seed " << seed << ", capacity " << capacity;
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

RC_GTEST_PROP(EvictionProperty, TheSizeOfEqualObjectsDoesNotMatter, ()) {
  ObjectTrace trace = random_trace();
  const auto capacity = *rc::gen::inRange<std::int64_t>(1, 13);
  const auto size = *rc::gen::inRange<std::int64_t>(1, 1'000'000'000);
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    trace.bytes.clear();
    const std::uint64_t hits = replay(entry, capacity, trace).hits;
    trace.bytes.assign(trace.objects, size);
    RC_ASSERT(replay(entry, capacity * size, trace).hits == hits);
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
