#include "sim/cache/eviction/replay.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "models/workload/hit_rate_curve.h"
#include "models/workload/trace_reader.h"
#include "sim/engine/random.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

const EvictionPolicyEntry& policy(std::string_view name) {
  return *find_eviction_policy(name);
}

models::RequestSpec with_blocks(std::vector<std::uint64_t> blocks) {
  models::RequestSpec r;
  r.prefix_blocks = std::move(blocks);
  return r;
}

// Capacity 10 bytes. 0 (6 bytes) misses, 1 (4) misses, 0 hits, 2 (5) needs 5 bytes: 1 leaves, which is not enough, then
// 0. 1 comes back beside 2, and 2 hits.
TEST(Replay, AHandWorkedExampleWithSizes) {
  const ObjectTrace trace{{0, 1, 0, 2, 1, 2}, {6, 4, 5}, 3};
  const ReplayResult r = replay(policy("lru"), 10, trace);
  EXPECT_EQ(r.requests, 6U);
  EXPECT_EQ(r.hits, 2U);
  EXPECT_EQ(r.misses(), 4U);
  EXPECT_EQ(r.bytes, 6 + 4 + 6 + 5 + 4 + 5);
  EXPECT_EQ(r.byte_hits, 6 + 5);
  EXPECT_DOUBLE_EQ(r.hit_rate(), 2.0 / 6);
  EXPECT_DOUBLE_EQ(r.byte_hit_rate(), 11.0 / 30);
}

// 1 has 11 bytes and fits nowhere: 0 stays and hits.
TEST(Replay, AnObjectLargerThanTheCapacityIsAMissAndPushesNothingOut) {
  const ObjectTrace trace{{0, 1, 1, 0}, {10, 11}, 2};
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    EXPECT_EQ(replay(entry, 10, trace).hits, 1U) << entry.name;
  }
}

TEST(Replay, ACacheOfNothingHitsNothing) {
  const ObjectTrace trace{{0, 1, 1, 0}, {}, 2};
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    EXPECT_EQ(replay(entry, 0, trace).hits, 0U) << entry.name;
    EXPECT_EQ(replay_chains(entry, 0, block_chains(std::vector{with_blocks({1}), with_blocks({1})})).hits, 0U);
    EXPECT_EQ(replay(entry, 5, {}), ReplayResult{}) << entry.name;
  }
}

TEST(Replay, ATraceThatDoesNotFitTogetherIsRefused) {
  EXPECT_THROW(replay(policy("lru"), 5, {{0, 2}, {}, 2}), std::invalid_argument);
  EXPECT_THROW(replay(policy("lru"), 5, {{0, 1}, {1}, 2}), std::invalid_argument);
  EXPECT_THROW(replay(policy("lru"), 5, {{0, 1}, {1, -1}, 2}), std::invalid_argument);
}

// With room for two, 0 1 2 0 1 2: LRU hits nothing; Belady leaves 2 outside, which is used last, and hits 0 and 1.
TEST(Replay, BeladyKnowsWhatComes) {
  const ObjectTrace trace{{0, 1, 2, 0, 1, 2}, {}, 3};
  EXPECT_EQ(replay(policy("lru"), 2, trace).hits, 0U);
  EXPECT_EQ(replay(policy("belady"), 2, trace).hits, 2U);
}

// Blocks that a request has looked up are no longer wanted for it. Room for two; 1 and 8 are in. The request 2 comes
// next, which the one after it wants, as it does 1: 8, which comes later, goes.
TEST(ReplayChains, BeladyCountsLookupsRatherThanTouches) {
  const BlockChains chains = block_chains(
      std::vector{with_blocks({1, 8}), with_blocks({2}), with_blocks({2}), with_blocks({1, 9}), with_blocks({1, 8})});
  EXPECT_EQ(replay_chains(policy("belady"), 2, chains).hits, 3U);
}

/// Evicts what entered last: the beginning of a chain goes before its end.
class NewestFirst final : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override { objects_.push_back(id); }
  void hit(ObjectId /*id*/) override {}
  ObjectId evict(const Pins& /*pins*/, ObjectId /*incoming*/) override {
    const ObjectId id = objects_.back();
    objects_.pop_back();
    return id;
  }
  void remove(ObjectId id) override { std::erase(objects_, id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 private:
  std::vector<ObjectId> objects_;
};

// Room for two. 3 takes the place of 1, and 2, which is still there, is no hit without it.
TEST(ReplayChains, ABlockWithoutItsPrefixIsNoHit) {
  EvictionPolicyEntry newest_first;
  newest_first.make = [](const EvictionContext&) -> std::unique_ptr<EvictionPolicy> {
    return std::make_unique<NewestFirst>();
  };
  const BlockChains chains = block_chains(std::vector{with_blocks({1, 2}), with_blocks({3}), with_blocks({1, 2})});
  EXPECT_EQ(replay_chains(newest_first, 2, chains).hits, 0U);
  EXPECT_EQ(replay_chains(policy("lru"), 2, chains).hits, 1U);
}

// Room for three. A chain of four keeps its beginning, whatever the policy, and does not evict its own blocks.
TEST(ReplayChains, AChainLongerThanTheCacheKeepsItsBeginning) {
  const BlockChains chains = block_chains(std::vector{with_blocks({1, 2, 3, 4}), with_blocks({1, 2, 3, 4})});
  for (const EvictionPolicyEntry& entry : eviction_policies()) {
    EXPECT_EQ(replay_chains(entry, 3, chains).hits, 3U) << entry.name;
  }
}

TEST(ReplayChains, LruHitsWhatTheStackDistancesSay) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    engine::RandomStream random(seed, "chains");
    std::vector<models::RequestSpec> requests(60);
    for (models::RequestSpec& r : requests) {
      // A tree of prefixes: what follows a block depends on all before it.
      std::uint64_t hash = 1;
      for (std::uint64_t left = random.below(12); left > 0; --left) {
        hash = hash * 31 + random.below(3);
        r.prefix_blocks.push_back(hash);
      }
    }
    const models::HitRateCurve curve = models::hit_rate_curve(requests);
    const BlockChains chains = block_chains(requests);
    EXPECT_EQ(chains.objects, curve.distinct);
    for (std::size_t capacity = 0; capacity <= curve.distinct + 1; ++capacity) {
      const ReplayResult r = replay_chains(policy("lru"), capacity, chains);
      ASSERT_EQ(r.hits, curve.hits(capacity)) << "capacity " << capacity << ", seed " << seed;
      ASSERT_EQ(r.requests, curve.accesses);
    }
  }
}

TEST(SharedTraces, MooncakeByReplayIsMooncakeByStackDistances) {
  const char* const folder = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  const std::string path =
      std::string(folder != nullptr ? folder : KVSIM_SHARED_DEFAULT) + "/traces/mooncake_conversation.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set KVSIM_SHARED to the folder that has it";
  const auto requests = models::read_trace(models::find_trace_format("mooncake"), path);
  const models::HitRateCurve curve = models::hit_rate_curve(requests);
  const BlockChains chains = block_chains(requests);
  const std::pair<std::size_t, double> published[] = {
      {3'000, 0.065}, {10'000, 0.212}, {30'000, 0.326}, {100'000, 0.364}};
  for (const auto& [capacity, hit_rate] : published) {
    const ReplayResult lru = replay_chains(policy("lru"), capacity, chains);
    EXPECT_EQ(lru.hits, curve.hits(capacity));
    EXPECT_NEAR(lru.hit_rate(), hit_rate, 0.001);
    const ReplayResult bound = replay_chains(policy("belady"), capacity, chains);
    for (const EvictionPolicyEntry& entry : eviction_policies()) {
      EXPECT_LE(replay_chains(entry, capacity, chains).hits, bound.hits) << entry.name << " at " << capacity;
    }
  }
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
