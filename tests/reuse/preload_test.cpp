// What is in the tiers before the first request: the most popular chunks, the most popular of them nearest.
#include <gtest/gtest.h>

#include <cmath>

#include <fmt/format.h>

#include "models/placement/placement_spec.h"
#include "models/schemas.h"
#include "sim/cache/placement/placements.h"
#include "sim/cache/prompt_cache.h"
#include "tests/cache/store_driver.h"
#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using cache::device_tier;
using cache::host_tier;
using cache::kGigabyte;
using cache::store_of;
using cache::StoreDriver;
using cache::TestStore;
using serving::Measurements;

models::PlacementSpec policy(const std::string& name) {
  models::PlacementSpec spec;
  spec.policy = name;
  return spec;
}

/// Chunks 0 to count - 1, a gigabyte each.
void preload(StoreDriver& driver, std::uint64_t count, std::size_t replica = 0) {
  std::vector<cache::ObjectId> objects;
  for (std::uint64_t key = 0; key < count; ++key) objects.push_back(driver.object(key, kGigabyte, replica));
  driver.store->preload(replica, objects);
  driver.store->check_conservation();
}

/// In which tier each of the first chunks is, its initial; '-': nowhere.
std::string places(const StoreDriver& driver, std::uint64_t count, std::size_t replica = 0) {
  std::string text;
  for (std::uint64_t key = 0; key < count; ++key) {
    const std::string where = driver.where(key, replica);
    text += where.empty() ? '-' : where.front();
  }
  return text;
}

TEST(Preload, TheMostPopularFillTheNearestTierThenTheNext) {
  for (const auto& e : cache::eviction_policies()) {
    StoreDriver driver(store_of({host_tier(3 * kGigabyte), device_tier("ssd", 4 * kGigabyte)}),
                       policy(std::string(e.name)));
    preload(driver, 10);
    EXPECT_EQ(places(driver, 10), "hhhssss---") << e.name;
  }
}

TEST(Preload, ATierWithoutEndTakesTheRest) {
  StoreDriver driver(store_of({host_tier(3 * kGigabyte), device_tier("ssd")}), policy("lru"));
  preload(driver, 10);
  EXPECT_EQ(places(driver, 10), "hhhsssssss");
}

TEST(Preload, WhatATierKeepsForItsTransitIsNotFilled) {
  TestStore config = store_of({host_tier(3 * kGigabyte)});
  config.in_transit = 0.1;  // 2.7 of 3
  StoreDriver driver(config, policy("lru"));
  preload(driver, 10);
  EXPECT_EQ(places(driver, 10), "hh--------");
}

TEST(Preload, ItIsThereAtOnceAndNothingMoves) {
  StoreDriver driver(store_of({host_tier(3 * kGigabyte), device_tier("ssd", 4 * kGigabyte)}), policy("lru"));
  preload(driver, 10);
  driver.run();
  const cache::StoreCounts counts = driver.store->counts();
  EXPECT_EQ(counts.moved_bytes, 0);
  EXPECT_EQ(counts.stores + counts.drops + counts.demotions + counts.promotions + counts.unstored, 0U);
  for (const auto& [name, link] : driver.fabric.totals()) EXPECT_EQ(link.transfers, 0U) << name;
  EXPECT_EQ(driver.simulator.now().ns, 0);
  EXPECT_EQ(driver.store->level_use(0).bytes, 3 * kGigabyte);
  EXPECT_EQ(driver.store->level_use(0).peak_bytes, 3 * kGigabyte);
  EXPECT_EQ(driver.store->level_use(1).bytes, 4 * kGigabyte);
}

TEST(Preload, InOrderOfUseTheLeastPopularLeavesFirst) {
  StoreDriver driver(store_of({host_tier(3 * kGigabyte)}), policy("lru"));
  preload(driver, 3);
  for (std::uint64_t fresh = 100; fresh < 102; ++fresh) {
    driver.put(fresh, kGigabyte);
    driver.run();
  }
  EXPECT_EQ(places(driver, 3), "h--");  // 2 left for the first, 1 for the second
}

TEST(Preload, WhatGivesWayGoesDown) {
  StoreDriver driver(store_of({host_tier(2 * kGigabyte), device_tier("ssd", 2 * kGigabyte)}), policy("lru"));
  preload(driver, 4);
  EXPECT_EQ(places(driver, 4), "hhss");
  driver.put(100, kGigabyte);
  driver.run();
  EXPECT_EQ(places(driver, 4), "hss-");
  EXPECT_EQ(driver.where(100), "host");
}

TEST(Preload, WhatIsPreloadedLoadsLikeAnythingThatIsStored) {
  StoreDriver driver(store_of({host_tier(2 * kGigabyte), device_tier("ssd", 2 * kGigabyte)}), policy("lru"));
  preload(driver, 4);
  const cache::Arrival& near = driver.load(0);
  driver.run();
  EXPECT_NEAR(near.took_s.value_or(0), 1.0 / 20, 1e-9);  // 20 GB/s
  const cache::Arrival& far = driver.load(3);
  driver.run();
  EXPECT_NEAR(far.took_s.value_or(0), 1.0 / 2, 1e-9);  // 2 GB/s
}

TEST(Preload, EveryReplicaHasItsOwn) {
  TestStore config = store_of({host_tier(2 * kGigabyte), device_tier("ssd", 3 * kGigabyte)});
  config.replicas = 2;
  StoreDriver driver(config, policy("lru"));
  preload(driver, 10, 0);
  EXPECT_EQ(places(driver, 10, 1), "----------");
  preload(driver, 10, 1);
  for (const std::size_t replica : {0U, 1U}) EXPECT_EQ(places(driver, 10, replica), "hhsss-----");
}

TEST(Preload, ATierThatReplicasShareIsFilledOnce) {
  TestStore config = store_of({host_tier(2 * kGigabyte), device_tier("ssd", 3 * kGigabyte, true)});
  config.replicas = 3;
  StoreDriver driver(config, policy("lru"));
  for (const std::size_t replica : {0U, 1U, 2U}) preload(driver, 10, replica);
  for (const std::size_t replica : {0U, 1U, 2U}) EXPECT_EQ(places(driver, 10, replica), "hhsss-----");
  EXPECT_EQ(driver.store->level_use(0).bytes, 6 * kGigabyte);
  EXPECT_EQ(driver.store->level_use(1).bytes, 3 * kGigabyte);
  EXPECT_EQ(driver.store->level_use(1).objects_by_option[0], 3U);
}

TEST(Preload, SharedHostMemoryIsOneTier) {
  TestStore config = store_of({host_tier(4 * kGigabyte, true)});
  config.replicas = 2;
  StoreDriver driver(config, policy("lru"));
  for (const std::size_t replica : {0U, 1U}) preload(driver, 10, replica);
  for (const std::size_t replica : {0U, 1U}) EXPECT_EQ(places(driver, 10, replica), "hhhh------");
  EXPECT_EQ(driver.store->level_use(0).bytes, 4 * kGigabyte);
}

TEST(Preload, CompressedObjectsTakeUpWhatTheyTakeUpCompressed) {
  models::OptionPool pool;
  pool.add(cache::dropping(0.5));
  StoreDriver driver(store_of({host_tier(2 * kGigabyte)}), policy("lru"), pool, {{1.0F, 0.8F}});
  preload(driver, 10);
  EXPECT_EQ(places(driver, 10), "hhhh------");
  EXPECT_EQ(driver.find(0).option, 1);
  EXPECT_EQ(driver.find(0).quality, 0.8F);
  EXPECT_EQ(driver.store->level_use(0).bytes, 2 * kGigabyte);
  EXPECT_EQ(driver.store->level_use(0).full_bytes, 4 * kGigabyte);
}

TEST(Preload, APolicyThatKeepsNothingHasNothing) {
  StoreDriver driver(store_of({host_tier(2 * kGigabyte)}), policy("none"));
  preload(driver, 10);
  EXPECT_EQ(places(driver, 10), "----------");
}

// Whole runs: a chunk is 64 MiB.

TEST(Preload, TheFirstRequestFindsAllOfItsChunks) {
  const Measurements m = run_chunks({});
  EXPECT_EQ(m.reuse.loaded_tokens, 5120);
  EXPECT_EQ(m.reuse.apart_tokens, 0);
  EXPECT_EQ(m.tiers.at("host").hits, 10U);
  EXPECT_EQ(m.placement.stores, 0U);
  EXPECT_EQ(m.placement.contents.at("host").objects, 100U);
  EXPECT_EQ(m.placement.moved_bytes, 0);
  const Measurements cold = run_chunks({"placement.preload=false"});
  EXPECT_EQ(cold.reuse.loaded_tokens, 0);
  EXPECT_EQ(cold.reuse.apart_tokens, 5120);
  EXPECT_EQ(cold.placement.stores, 10U);
}

TEST(Preload, OnlyWhatFitsIsFound) {
  // Half of ten chunks that every prompt has: 5 x 2^26 bytes are 335.5 MB.
  const Measurements m = run_chunks(
      {"workload.chunks.count=10", "cluster.host.memory=350 MB", "placement.in_transit=0", "placement.policy=lru"});
  EXPECT_EQ(m.reuse.loaded_tokens, 5 * 512);
  EXPECT_EQ(m.reuse.apart_tokens, 5 * 512);
}

TEST(Preload, AllReplicasFindTheirChunksInTiersOfTheirOwnAndShared) {
  for (const char* shared : {"true", "false"}) {
    const Measurements m = run_chunks({"cluster.replicas=3", "cluster.router=round_robin", "workload.requests=3",
                                       "cluster.host.memory=3.4 GB", "placement.in_transit=0",
                                       fmt::format("cluster.storage=[{{name: ssd, capacity: 3.4 GB, read: 3 GB/s, "
                                                   "shared: {}}}]",
                                                   shared)});
    // 50 chunks in host memory and 50 on a disk, its own or everybody's; each replica has one request.
    EXPECT_EQ(m.reuse.apart_tokens, 0) << shared;
    EXPECT_GT(m.tiers.at("ssd").hits, 0U) << shared;
    EXPECT_EQ(m.placement.stores, 0U) << shared;
  }
}

TEST(Preload, TheUtilityPolicyPreloadsToo) {
  const Measurements m = run_chunks({"placement={policy: utility, preload: true}"});
  EXPECT_EQ(m.reuse.loaded_tokens, 5120);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
