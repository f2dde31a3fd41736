// Loads, stores and moves through tiers, by hand. Unless a test says otherwise: 20 GB/s to the GPU, 10 GB/s from it,
// devices read at 2 GB/s and write at 1 GB/s, no latencies.
#include <gtest/gtest.h>

#include "tests/cache/store_driver.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

models::PlacementSpec lru() {
  return {};
}

// 1 ms to set up, 4 GB / 20 GB/s, 2 ms to arrive.
TEST(StoreTimes, ALoadFromHostMemoryTakesSetupBytesAndLatency) {
  TestStore c = store_of({host_tier(10 * kGigabyte)});
  c.host_setup_s = 0.001;
  c.host_latency_s = 0.002;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  EXPECT_EQ(d.where(1), "");  // not before it is there
  d.run();
  EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), 0.001 + 0.4 + 0.002);
  EXPECT_EQ(d.where(1), "host");
  const Arrival& a = d.load(1);
  EXPECT_FALSE(a.at_s);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 0.203);
  EXPECT_EQ(d.store->counts().loads, 1U);
}

// As one flow over the device's read link and the replica's: 4 GB / 2 GB/s, at the slower of the two.
TEST(StoreTimes, ALoadFromAnSsdIsAsFastAsTheSlowerOfItsTwoLinks) {
  TestStore c = store_of({host_tier(0), device_tier("ssd")});
  {
    StoreDriver d(c);
    d.put(1, 4 * kGigabyte);
    d.run();
    EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), 0.4 + 4);
    const Arrival& a = d.load(1);
    d.run();
    EXPECT_DOUBLE_EQ(*a.took_s, 2.0);
    EXPECT_EQ(d.carried("ssd_read"), 4 * kGigabyte);
    EXPECT_EQ(d.carried("host_to_gpu"), 4 * kGigabyte);
  }
  c.host_to_gpu_bytes_per_s = 1e9;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run();
  const Arrival& a = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 4.0);
}

// Setup 1 ms + 4 GB / 2 GB/s + 5 ms of the tier + 2 ms of the host link.
TEST(StoreTimes, ALoadFromRemoteStorageHasItsLatencyToo) {
  StoreTier remote = device_tier("remote");
  remote.latency_s = 0.005;
  TestStore c = store_of({host_tier(0), device_tier("ssd", 0), remote});
  c.host_setup_s = 0.001;
  c.host_latency_s = 0.002;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run();
  EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), 0.403 + 4.005);
  EXPECT_EQ(d.where(1), "remote");
  const Arrival& a = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 2.008);
}

TEST(StoreTimes, RequestsThatWantTheSameObjectShareItsTransfer) {
  StoreDriver d(store_of({host_tier(10 * kGigabyte)}));
  d.put(1, 4 * kGigabyte);
  d.run();
  const Arrival& first = d.load(1);
  d.run_until(0.4 + 0.15);
  const Arrival& second = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*first.took_s, 0.2);
  EXPECT_DOUBLE_EQ(*second.at_s, *first.at_s);
  EXPECT_EQ(d.carried("host_to_gpu"), 4 * kGigabyte);
  EXPECT_EQ(d.store->counts().loads, 1U);
  EXPECT_EQ(d.store->counts().joined_loads, 1U);
}

// 4 GB then 2 GB: 0.2 s, 0.3 s. At once, at 10 GB/s each: 2 GB after 0.2 s, then 2 GB at 20 GB/s.
TEST(StoreTimes, DifferentObjectsQueueInALaneOrShareIt) {
  for (const bool serial : {true, false}) {
    TestStore c = store_of({host_tier(10 * kGigabyte)});
    c.host_queueing = serial ? transport::Queueing::serialised : transport::Queueing::fair_share;
    StoreDriver d(c);
    d.put(1, 4 * kGigabyte);
    d.put(2, 2 * kGigabyte);
    d.run();
    const Arrival& large = d.load(1);
    const Arrival& small = d.load(2);
    d.run();
    EXPECT_DOUBLE_EQ(*large.took_s, serial ? 0.2 : 0.3);
    EXPECT_DOUBLE_EQ(*small.took_s, serial ? 0.3 : 0.2);
  }
}

// 1 GB/s each until 2 GB are through after 2 s; the other's last 2 GB at 2 GB/s.
TEST(StoreTimes, ReplicasShareTheBandwidthOfASharedTier) {
  TestStore c = store_of({host_tier(0), device_tier("ssd", std::nullopt, true)});
  c.replicas = 2;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte, 0);
  d.put(2, 2 * kGigabyte, 1);
  d.run();
  ASSERT_EQ(d.where(1), "ssd");
  ASSERT_EQ(d.where(2, 1), "ssd");
  const Arrival& large = d.load(1, 0);
  const Arrival& small = d.load(2, 1);
  d.run();
  EXPECT_DOUBLE_EQ(*small.took_s, 2.0);
  EXPECT_DOUBLE_EQ(*large.took_s, 3.0);
}

// Max-min: the replica behind a link of 0.5 GB/s takes that, the other what is left. Here both have the same link, so
// that the tier, at 2 GB/s, limits neither: 4 GB / 0.5 GB/s each.
TEST(StoreTimes, ASharedTierIsNoLimitWhereTheReplicasLinksAreNarrower) {
  TestStore c = store_of({host_tier(0), device_tier("ssd", std::nullopt, true)});
  c.replicas = 2;
  c.host_to_gpu_bytes_per_s = 0.5e9;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte, 0);
  d.put(2, 4 * kGigabyte, 1);
  d.run();
  const Arrival& a = d.load(1, 0);
  const Arrival& b = d.load(2, 1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 8.0);
  EXPECT_DOUBLE_EQ(*b.took_s, 8.0);
}

// To host memory 0.4 s, compressed by one worker at 1 ns a byte 4 s, the quarter written to the SSD 1 s.
TEST(StoreTimes, AStoreIsReadCompressedAndWritten) {
  StoreDriver d(store_of({host_tier(0), device_tier("ssd")}), lru(), pool_of({dropping(0.25, 1e-9)}));
  d.put(1, 4 * kGigabyte);
  d.run_until(5.399999);
  EXPECT_EQ(d.where(1), "");
  d.run();
  EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), 5.4);
  EXPECT_EQ(d.where(1), "ssd");
  EXPECT_EQ(d.carried("gpu_to_host"), 4 * kGigabyte);
  EXPECT_EQ(d.carried("ssd_write"), kGigabyte);
  EXPECT_EQ(d.store->counts().moved_bytes, kGigabyte);
  EXPECT_EQ(d.store->level_use(1).bytes, kGigabyte);
  EXPECT_EQ(d.store->level_use(1).full_bytes, 4 * kGigabyte);
}

// Read at 0.4 s and 0.8 s; one worker is done at 4.4 s and 8.4 s, two at 4.4 s and 4.8 s.
TEST(StoreTimes, WorkersCompressOneObjectEachAtATime) {
  for (const std::size_t workers : {std::size_t{1}, std::size_t{2}}) {
    TestStore c = store_of({host_tier(10 * kGigabyte)});
    c.workers = workers;
    StoreDriver d(c, lru(), pool_of({dropping(0.25, 1e-9)}));
    d.put(1, 4 * kGigabyte);
    d.put(2, 4 * kGigabyte);
    d.run_until(4.4);
    EXPECT_EQ(d.where(1), "host");
    EXPECT_EQ(d.where(2), "");
    d.run();
    EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), workers == 1 ? 8.4 : 4.8);
    EXPECT_EQ(d.where(2), "host");
  }
}

// Half of the tier's 10 GB is for what leaves. 2 comes in at 0.4 s: 1 goes to the SSD, until 4.4 s. Loads at 1 s read
// the old copy, over a link of 0.5 GB/s until 9 s; until then nothing takes its room.
TEST(StoreMoves, WhatIsDemotedCanBeReadUntilItsLastReaderIsDone) {
  TestStore c = store_of({host_tier(10 * kGigabyte), device_tier("ssd")});
  c.host_to_gpu_bytes_per_s = 0.5e9;
  c.in_transit = 0.5;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run_until(0.4);
  d.put(2, 4 * kGigabyte);
  d.run_until(1);
  EXPECT_EQ(d.store->counts().demotions, 1U);
  EXPECT_EQ(d.where(1), "host");
  const Arrival& a = d.load(1);
  d.run_until(5);
  EXPECT_EQ(d.where(1), "host");  // on the SSD since 4.4 s, but somebody reads the old copy
  d.put(3, 4 * kGigabyte);        // 2 would go: 8 GB leave, and 3 would make 12
  d.run_until(8.999);
  EXPECT_EQ(d.where(1), "host");
  EXPECT_EQ(d.where(3), "");
  EXPECT_FALSE(a.at_s);
  d.run_until(9);
  EXPECT_DOUBLE_EQ(*a.at_s, 9.0);
  d.run();
  EXPECT_EQ(d.where(3), "host");
  EXPECT_EQ(d.where(2), "ssd");
  EXPECT_EQ(d.store->level_use(0).peak_bytes, 8 * kGigabyte);
}

// What passed through host memory stays there: the second load takes 0.2 s instead of 2 s.
TEST(StoreMoves, WhatIsLoadedIsPromotedAndItsOldRoomIsFree) {
  TestStore c = store_of({host_tier(16 * kGigabyte), device_tier("ssd", 40 * kGigabyte)});
  c.in_transit = 0.75;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run();
  d.put(2, 4 * kGigabyte);
  d.run();
  ASSERT_EQ(d.where(1), "ssd");
  const Arrival& first = d.load(1);
  d.run();
  const Arrival& second = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*first.took_s, 2.0);
  EXPECT_DOUBLE_EQ(*second.took_s, 0.2);
  EXPECT_EQ(d.where(1), "host");
  EXPECT_EQ(d.where(2), "ssd");
  EXPECT_EQ(d.store->counts().promotions, 1U);
  EXPECT_EQ(d.store->level_use(0).bytes, 4 * kGigabyte);
  EXPECT_EQ(d.store->level_use(1).bytes, 4 * kGigabyte);
}

// The SSD takes 4 GB. 2 could only go there after 1 left, and 1 stays where it is: changing places needs room.
TEST(StoreMoves, NothingIsPromotedWhereWhatGivesWayHasNoRoomBelow) {
  TestStore c = store_of({host_tier(8 * kGigabyte), device_tier("ssd", 8 * kGigabyte)});
  c.in_transit = 0.5;
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run();
  d.put(2, 4 * kGigabyte);
  d.run();
  ASSERT_EQ(d.where(1), "ssd");
  const Arrival& a = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 2.0);
  EXPECT_EQ(d.where(1), "ssd");
  EXPECT_EQ(d.where(2), "host");
  EXPECT_EQ(d.store->counts().drops, 0U);
}

TestStore private_over_shared() {
  TestStore c = store_of({host_tier(8 * kGigabyte), device_tier("ssd", std::nullopt, true)});
  c.replicas = 2;
  c.in_transit = 0.5;
  return c;
}

TEST(StoreMoves, WhatAReplicaEvictsIntoASharedTierIsThereForAll) {
  StoreDriver d(private_over_shared());
  d.put(1, 4 * kGigabyte, 0);
  d.run();
  EXPECT_EQ(d.where(1, 1), "");
  d.put(2, 4 * kGigabyte, 0);
  d.run();
  EXPECT_EQ(d.where(1, 0), "ssd");
  EXPECT_EQ(d.where(1, 1), "ssd");
  EXPECT_EQ(d.carried("ssd_write"), 4 * kGigabyte);
}

// The other replica reads it and keeps a copy of its own; the shared one stays. When that copy leaves, nothing is
// written: it is there already.
TEST(StoreMoves, ACopyThatLeavesForATierThatHasItIsNotWrittenAgain) {
  StoreDriver d(private_over_shared());
  d.put(1, 4 * kGigabyte, 0);
  d.run();
  d.put(2, 4 * kGigabyte, 0);
  d.run();
  d.load(1, 1);
  d.run();
  EXPECT_EQ(d.where(1, 1), "host");
  EXPECT_EQ(d.where(1, 0), "ssd");
  EXPECT_EQ(d.store->level_use(1).bytes, 4 * kGigabyte);
  d.put(3, 4 * kGigabyte, 1);
  d.run();
  EXPECT_EQ(d.where(1, 1), "ssd");
  EXPECT_EQ(d.where(3, 1), "host");
  EXPECT_EQ(d.carried("ssd_write"), 4 * kGigabyte);
  EXPECT_EQ(d.store->counts().demotions, 2U);
  EXPECT_EQ(d.store->counts().drops, 0U);
  EXPECT_EQ(d.store->counts().promotions, 1U);
}

// It fits into no private tier. There is one copy of it, and every replica finds it.
TEST(StoreMoves, WhatFitsOnlyIntoASharedTierBelongsToAll) {
  StoreDriver d(private_over_shared());
  d.put(1, 5 * kGigabyte, 0);
  d.run();
  EXPECT_EQ(d.where(1, 0), "ssd");
  EXPECT_EQ(d.where(1, 1), "ssd");
  d.put(1, 5 * kGigabyte, 1);
  d.run();
  EXPECT_EQ(d.store->level_use(1).bytes, 5 * kGigabyte);
  EXPECT_EQ(d.store->counts().stores, 1U);
  const Arrival& a = d.load(1, 1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 2.5);
}

// 1 is being read until 0.6 s, and nothing else could give way: 2 waits in a bounce buffer.
TEST(StoreMoves, AStoreThatWaitsIsNotLostWhenItsKvLeavesTheGpu) {
  StoreDriver d(store_of({host_tier(4 * kGigabyte)}));
  d.put(1, 4 * kGigabyte);
  d.run();
  d.load(1);
  d.put(2, 4 * kGigabyte, 0, 7);
  d.store->withdraw(7);
  d.run();
  EXPECT_EQ(d.where(2), "host");
  EXPECT_EQ(d.where(1), "");
  EXPECT_EQ(d.store->counts().unstored, 0U);
}

// 4 GB of host memory, of which 1 is about to be written to the SSD from 0.4 to 4.4 s. As long as its KV is on the GPU,
// 2 waits for that. Once it has left, 1 goes on from a bounce buffer, and 2 is in host memory 0.4 s later.
TEST(StoreMoves, WhatGivesWayIsWrittenFromABounceBufferOnceTheKvLeavesTheGpu) {
  for (const bool leaves : {false, true}) {
    StoreDriver d(store_of({host_tier(4 * kGigabyte), device_tier("ssd", 20 * kGigabyte)}));
    d.put(1, 4 * kGigabyte);
    d.run();
    d.put(2, 4 * kGigabyte, 0, 7);
    d.run_until(0.5);
    if (leaves) d.store->withdraw(7);
    d.run_until(1);
    EXPECT_EQ(d.where(2), leaves ? "host" : "");
    EXPECT_EQ(d.where(1), "host") << "its old copy is read until it is written";
    d.run();
    EXPECT_EQ(d.where(2), "host");
    EXPECT_EQ(d.where(1), "ssd");
    EXPECT_EQ(d.store->level_use(0).peak_bytes, (leaves ? 8 : 4) * kGigabyte);
  }
}

// Host memory has room for two of five blocks, which stay there: the rest of the chain goes to the SSD.
TEST(StoreMoves, AChainLongerThanATierGoesOnInTheNext) {
  StoreDriver d(store_of({host_tier(2 * kGigabyte), device_tier("ssd", 20 * kGigabyte)}));
  std::vector<ObjectId> chain;
  for (std::uint64_t key = 1; key <= 5; ++key) chain.push_back(d.object(key, kGigabyte));
  d.store->store(0, chain, {}, 7);
  d.run();
  d.store->withdraw(7);
  d.run();
  for (std::uint64_t key = 1; key <= 5; ++key) EXPECT_EQ(d.where(key), key <= 2 ? "host" : "ssd") << key;
  EXPECT_EQ(d.store->counts().unstored, 0U);
}

// There is no SSD: the rest is lost, also while others load what they use.
TEST(StoreMoves, AChainLongerThanAllTiersKeepsItsBeginning) {
  StoreDriver d(store_of({host_tier(2 * kGigabyte)}));
  std::vector<ObjectId> chain;
  for (std::uint64_t key = 1; key <= 5; ++key) chain.push_back(d.object(key, kGigabyte));
  d.store->store(0, chain, {}, 7);
  d.run();
  d.load(1);
  d.store->withdraw(7);
  d.run();
  for (std::uint64_t key = 1; key <= 5; ++key) EXPECT_EQ(d.where(key), key <= 2 ? "host" : "") << key;
  EXPECT_EQ(d.store->counts().unstored, 3U);
}

TEST(StoreMoves, AStoreWaitsForReadersOfWhatMustGiveWay) {
  StoreDriver d(store_of({host_tier(4 * kGigabyte)}));
  d.put(1, 4 * kGigabyte);
  d.run();
  d.load(1);
  d.put(2, 4 * kGigabyte, 0, 7);
  d.run();
  EXPECT_EQ(d.where(1), "");
  EXPECT_EQ(d.where(2), "host");
  EXPECT_DOUBLE_EQ(d.simulator.now().seconds(), 0.4 + 0.2 + 0.4);
  EXPECT_EQ(d.store->counts().drops, 1U);
}

// 1 makes room for 2, is pushed out of the SSD by 3, and comes back in a chain with 6, for which something else must
// give way: 1 itself is on its way in.
TEST(StoreMoves, WhatCameBackIsNotTakenForWhatGaveWayBefore) {
  StoreDriver d(store_of({host_tier(4 * kGigabyte), device_tier("ssd", 5 * kGigabyte)}));
  d.put(1, 2 * kGigabyte);
  d.run();
  d.put(5, 2 * kGigabyte);
  d.run();
  d.put(2, 2 * kGigabyte);
  d.store->withdraw(0);
  d.run();
  ASSERT_EQ(d.where(1), "ssd");
  ASSERT_EQ(d.where(2), "host");
  d.put(3, 5 * kGigabyte);
  d.run();
  ASSERT_EQ(d.where(1), "");
  d.store->store(0, std::vector{d.object(1, 2 * kGigabyte), d.object(6, 2 * kGigabyte)}, {}, 0);
  d.check();
  d.run();
  EXPECT_EQ(d.where(1), "host");
  EXPECT_EQ(d.where(6), "host");
  EXPECT_EQ(d.where(5), "ssd");
}

// 7 of 8 GB are taken, and the best way to make room for 3 GB is to halve what is there, which loses nothing: 1.5 GB or
// 2 GB beside it would not fit. The smaller form takes the place of the larger one.
TEST(StoreMoves, WhatIsMadeSmallerNeedsNoRoomBesideItself) {
  models::PlacementSpec spec;
  spec.policy = "utility";
  spec.utility.first = models::FirstPlacement::whole;
  TestStore c = store_of({host_tier(8 * kGigabyte), device_tier("ssd")});
  c.in_transit = 0.1;
  StoreDriver d(c, spec, pool_of({dropping(0.5)}), {{1, 1}});
  d.put(1, 3 * kGigabyte);
  d.run();
  d.put(2, 4 * kGigabyte);
  d.run();
  ASSERT_EQ(d.store->level_use(0).bytes, 7 * kGigabyte);
  d.put(3, 3 * kGigabyte);
  d.run();
  EXPECT_GT(d.store->counts().recompressions, 0U);
  EXPECT_LE(d.store->level_use(0).peak_bytes, 8 * kGigabyte);
  for (const std::uint64_t key : {1U, 2U, 3U}) EXPECT_EQ(d.where(key), "host") << key;
  EXPECT_EQ(d.store->counts().demotions, 0U);
}

// 2 GB in the first second, none for 2 s, 2 GB in another: 4 s instead of 2.
TEST(StoreOutages, AnOutageDelaysALoadAndLosesNothing) {
  StoreTier ssd = device_tier("ssd");
  ssd.outages = {{10, 2, 0}};
  StoreDriver d(store_of({host_tier(0), ssd}));
  d.put(1, 4 * kGigabyte);
  d.run_until(9);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 2e9);
  const Arrival& a = d.load(1);
  d.run_until(11);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 1);  // whoever plans with it waits for ever
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 4.0);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 2e9);
}

// Two outages back to back, to a half and to a quarter: 2 GB in 1 s, 1 GB in 1 s, 0.5 GB in 1 s, 0.5 GB in 0.25 s.
TEST(StoreOutages, OneOutageMayBeginAsAnotherEnds) {
  StoreTier ssd = device_tier("ssd");
  ssd.outages = {{11, 1, 0.25}, {10, 1, 0.5}};
  StoreDriver d(store_of({host_tier(0), ssd}));
  d.put(1, 4 * kGigabyte);
  d.run_until(9);
  const Arrival& a = d.load(1);
  d.run_until(10.5);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 1e9);
  d.run_until(11.5);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 0.5e9);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 3.25);
}

// The links of host memory stand still both ways: the store of 0.4 s ends at 2.4 s.
TEST(StoreOutages, HostLinksMayFailToo) {
  TestStore c = store_of({host_tier(10 * kGigabyte)});
  c.host_outages = {{0.2, 2, 0}, {3, 1, 0.5}};
  StoreDriver d(c);
  d.put(1, 4 * kGigabyte);
  d.run_until(2.399);
  EXPECT_EQ(d.where(1), "");
  d.run_until(3);
  EXPECT_EQ(d.where(1), "host");
  const Arrival& a = d.load(1);
  d.run();
  EXPECT_DOUBLE_EQ(*a.took_s, 0.4);
}

// Beliefs are what loads got: 2 GB/s alone, and of two at once the second waits as long as the first takes.
TEST(StoreOutages, ObservedBandwidthIsWhatLoadsGot) {
  TestStore c = store_of({host_tier(0), device_tier("ssd")});
  c.observed_bandwidth = true;
  c.tiers[1].outages = {{10, 1000, 0.25}};
  StoreDriver d(c);
  d.put(1, 1 * kGigabyte);
  d.run_until(9);
  d.load(1);
  d.run_until(12);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 2e9);  // nominal or observed, the same so far
  // Now at 0.5 GB/s: 0.95 x 2 + 0.05 x 0.5 = 1.925, then 1.85375, then 1.7860625: more than a tenth off.
  d.load(1);
  d.run_until(20);
  d.load(1);
  d.run_until(30);
  EXPECT_DOUBLE_EQ((*d.facts)[1].read_bytes_per_s, 2e9);
  d.load(1);
  d.run_until(40);
  EXPECT_NEAR((*d.facts)[1].read_bytes_per_s, 1.7860625e9, 1);
  EXPECT_DOUBLE_EQ((*d.facts)[0].read_bytes_per_s, 20e9);  // nothing was loaded from there
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
