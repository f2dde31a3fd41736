// The worked example of joint compression and eviction, in simulated time: fast memory of 8 GB at 20 GB/s over a device
// at 2 GB/s without end. Context 1 has 4 GB and loses nothing at 5 %; context 2 has 8 GB, and any compression halves
// its quality. The closed forms of the same are in utility_example_test.cpp.
#include <gtest/gtest.h>

#include "tests/cache/store_driver.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

constexpr TierIndex kFast = 0;
constexpr TierIndex kSlow = 1;
constexpr models::OptionIndex kWhole = 0;
constexpr models::OptionIndex kHalf = 1;
constexpr models::OptionIndex kTwentieth = 2;

const std::vector<std::vector<float>> kCurves{{1, 1, 1}, {1, 0.5F, 0.5F}};

TestStore example_store(std::int64_t fast_bytes = 8 * kGigabyte) {
  return store_of({host_tier(fast_bytes), device_tier("slow")});
}

struct Outcome {
  double seconds = 0;  // of both loads, one after the other
  double quality = 0;  // mean
};

Outcome read_both(StoreDriver& d) {
  Outcome outcome;
  for (const std::uint64_t context : {1U, 2U}) {
    outcome.quality += static_cast<double>(d.find(context).quality) / 2;
    const Arrival& a = d.load(context);
    d.run();
    outcome.seconds += *a.took_s;
  }
  return outcome;
}

Outcome placed(const Change& context1, const Change& context2) {
  StoreDriver d(example_store(), {}, pool_of({dropping(0.5), dropping(0.05)}), kCurves, {{1, context1}, {2, context2}});
  d.put(1, 4 * kGigabyte, 0, 0, 0);
  d.put(2, 8 * kGigabyte, 0, 0, 1);
  d.run();
  return read_both(d);
}

// 2 GB / 20 GB/s + 4 GB / 20 GB/s
TEST(StoreExample, HalvingBothTakes300MillisecondsAndLosesAQuarterOfTheQuality) {
  const Outcome o = placed({kNoObject, kFast, kHalf}, {kNoObject, kFast, kHalf});
  EXPECT_DOUBLE_EQ(o.seconds, 0.3);
  EXPECT_DOUBLE_EQ(o.quality, 0.75);
}

// 4 GB / 2 GB/s + 8 GB / 20 GB/s
TEST(StoreExample, EvictionAloneTakes2400Milliseconds) {
  const Outcome o = placed({kNoObject, kSlow, kWhole}, {kNoObject, kFast, kWhole});
  EXPECT_DOUBLE_EQ(o.seconds, 2.4);
  EXPECT_DOUBLE_EQ(o.quality, 1);
}

// 0.2 GB / 2 GB/s + 8 GB / 20 GB/s
TEST(StoreExample, BothTogetherTake500MillisecondsAndLoseNothing) {
  const Outcome o = placed({kNoObject, kSlow, kTwentieth}, {kNoObject, kFast, kWhole});
  EXPECT_DOUBLE_EQ(o.seconds, 0.5);
  EXPECT_DOUBLE_EQ(o.quality, 1);
}

// Policy utility comes to it by itself: context 1 goes to 5 % in place (-0.19 s), then down (0.09 s), which costs less
// than any compression of context 2. Without promotion, which would bring 0.2 GB back where they fit.
TEST(StoreExample, PolicyUtilityFindsTheJointPlacement) {
  models::PlacementSpec spec;
  spec.policy = "utility";
  spec.utility.alpha_s = 10;
  spec.utility.promote = false;
  StoreDriver d(example_store(), spec, pool_of({dropping(0.5), dropping(0.05)}), kCurves);
  d.put(1, 4 * kGigabyte, 0, 0, 0);
  d.run();
  d.put(2, 8 * kGigabyte, 0, 0, 1);
  d.run();
  EXPECT_EQ(d.where(1), "slow");
  EXPECT_EQ(d.find(1).option, kTwentieth);
  EXPECT_EQ(d.where(2), "host");
  EXPECT_EQ(d.find(2).option, kWhole);
  const Outcome o = read_both(d);
  EXPECT_DOUBLE_EQ(o.seconds, 0.5);
  EXPECT_DOUBLE_EQ(o.quality, 1);
}

// Context 1 takes 4 s to compress. Context 2 waits for it, as long as its KV is on the GPU; when that leaves, it goes
// where there is room, and is not lost.
TEST(StoreExample, WhatWaitedToTheEndGivesWayItself) {
  models::PlacementSpec spec;
  spec.policy = "utility";
  spec.utility.alpha_s = 10;
  spec.utility.promote = false;
  spec.utility.first = models::FirstPlacement::whole;  // else context 1 is at a twentieth before the other comes
  StoreDriver d(example_store(), spec, pool_of({dropping(0.5, 1e-9), dropping(0.05, 1e-9)}), kCurves);
  d.put(1, 4 * kGigabyte, 0, 0, 0);
  d.run();
  d.put(2, 8 * kGigabyte, 0, 7, 1);
  d.run_until(d.simulator.now().seconds() + 1);
  EXPECT_EQ(d.store->counts().stores, 1U) << "it waits";
  d.store->withdraw(7);
  d.run();
  EXPECT_EQ(d.where(2), "slow");
  EXPECT_EQ(d.store->counts().unstored, 0U);
}

// The same by an order of use: what is in fast memory goes down whole.
TEST(StoreExample, LeastRecentlyUsedFindsEvictionAlone) {
  StoreDriver d(example_store(16 * kGigabyte), {}, {}, {{1.0F}, {1.0F}});
  d.put(1, 4 * kGigabyte, 0, 0, 0);
  d.run();
  d.put(3, 8 * kGigabyte, 0, 0, 1);
  d.run();
  d.put(2, 8 * kGigabyte, 0, 0, 1);
  d.run();
  d.store->withdraw(0);
  EXPECT_EQ(d.where(1), "slow");
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
