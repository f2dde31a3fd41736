#include "sim/memory/prefix_store.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/hit_rate_curve.h"
#include "sim/engine/invariant.h"
#include "sim/engine/random.h"
#include "tests/memory/chains.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using engine::InvariantViolation;
using memory::PrefixStore;

constexpr std::int64_t kBlock = 7;  // bytes

/// Prompts of popular documents with tails that often repeat.
std::vector<models::RequestSpec> zipf_trace(std::size_t requests) {
  engine::RandomStream random(1, "chains");
  std::vector<models::RequestSpec> trace(requests);
  for (models::RequestSpec& r : trace) {
    const std::uint64_t document = random.zipf(40, 1.0);
    const std::uint64_t blocks = 1 + document % 9, tail = random.below(4);
    std::uint64_t hash = document + 1;
    for (std::uint64_t i = 0; i < blocks + tail; ++i) {
      const std::uint64_t own = i < blocks ? 0 : random.zipf(5, 1.0) + 1;
      hash = (hash * 0x9E3779B97F4A7C15U) ^ (own + (hash >> 29U));
      r.prefix_blocks.push_back(hash);
    }
  }
  return trace;
}

TEST(PrefixStore, HitsAsTheOnePassLruOfTheWorkloadModelsAtEveryCapacity) {
  const std::vector<models::RequestSpec> trace = zipf_trace(3'000);
  const models::HitRateCurve curve = models::hit_rate_curve(trace);
  ASSERT_GT(curve.distinct, 300U);
  for (const std::uint64_t capacity : {0U, 1U, 2U, 5U, 11U, 40U, 100U, 200U, 300U, 100'000U}) {
    PrefixStore store(static_cast<std::int64_t>(capacity) * kBlock + kBlock - 1, kBlock);
    std::uint64_t hits = 0;
    for (const models::RequestSpec& r : trace) {
      hits += store.leading_hits(r.prefix_blocks);
      store.insert(r.prefix_blocks);
      ASSERT_LE(store.blocks(), static_cast<std::int64_t>(capacity));
    }
    EXPECT_EQ(hits, curve.hits(capacity)) << capacity << " blocks";
    EXPECT_EQ(store.peak_bytes() / kBlock, static_cast<std::int64_t>(std::min(capacity, curve.distinct)));
    store.check_conservation();
  }
}

TEST(PrefixStore, LookingUpIsNoUse) {
  PrefixStore store(2 * kBlock, kBlock);
  store.insert(chain_of({1}));
  store.insert(chain_of({2}));
  EXPECT_EQ(store.leading_hits(chain_of({1})), 1U);
  store.insert(chain_of({3}));
  EXPECT_EQ(store.leading_hits(chain_of({1})), 0U);
}

TEST(PrefixStore, TouchingIsAUseAndStoresNothing) {
  PrefixStore store(2 * kBlock, kBlock);
  store.insert(chain_of({1}));
  store.insert(chain_of({2}));
  store.touch(chain_of({1, 5}));
  EXPECT_EQ(store.blocks(), 2);
  store.insert(chain_of({3}));
  EXPECT_EQ(store.leading_hits(chain_of({1})), 1U);
  EXPECT_EQ(store.leading_hits(chain_of({2})), 0U);
}

TEST(PrefixStore, EvictsASuffixBeforeItsPrefix) {
  PrefixStore store(3 * kBlock, kBlock);
  store.insert(chain_of({1, 2, 3}));
  store.insert(chain_of({4}));
  EXPECT_EQ(store.leading_hits(chain_of({1, 2, 3})), 2U);
  EXPECT_EQ(store.evictions(), 1U);
}

TEST(PrefixStore, OfAChainBeyondTheCapacityKeepsTheBeginning) {
  PrefixStore store(2 * kBlock, kBlock);
  store.insert(chain_of({1, 2, 3, 4}));
  EXPECT_EQ(store.leading_hits(chain_of({1, 2, 3, 4})), 2U);
  EXPECT_EQ(store.evictions(), 0U);
}

TEST(PrefixStore, WithoutCapacityHoldsNothing) {
  PrefixStore none(0, kBlock), too_small(kBlock - 1, kBlock);
  for (PrefixStore* store : {&none, &too_small}) {
    store->insert(chain_of({1, 2}));
    store->touch(chain_of({1, 2}));
    EXPECT_EQ(store->bytes(), 0);
    EXPECT_EQ(store->peak_bytes(), 0);
    EXPECT_EQ(store->leading_hits(chain_of({1, 2})), 0U);
    store->check_conservation();
  }
}

TEST(PrefixStore, WithoutALimitKeepsEverything) {
  PrefixStore store(std::nullopt, kBlock);
  for (int i = 0; i < 10; ++i) store.insert(chain_of({i, i, i}));
  EXPECT_EQ(store.bytes(), 30 * kBlock);
  EXPECT_EQ(store.evictions(), 0U);
  EXPECT_EQ(store.leading_hits(chain_of({0, 0, 0})), 3U);
}

TEST(PrefixStore, KeepsWhatIsBeingReadAndEvictsOthers) {
  PrefixStore store(3 * kBlock, kBlock);
  store.insert(chain_of({1, 2}));
  store.pin(chain_of({1, 2}));
  store.insert(chain_of({3}));
  store.insert(chain_of({4, 5}));  // room for one block beside the pinned ones: 3 goes, and of 4-5 only 4 is kept
  EXPECT_EQ(store.leading_hits(chain_of({1, 2})), 2U);
  EXPECT_EQ(store.leading_hits(chain_of({4, 5})), 1U);
  EXPECT_EQ(store.evictions(), 1U);
  store.check_conservation();
}

TEST(PrefixStore, KeepsLessThanItIsGivenWhereEverythingIsPinned) {
  PrefixStore store(2 * kBlock, kBlock);
  store.insert(chain_of({1, 2}));
  store.pin(chain_of({1, 2}));
  store.insert(chain_of({3}));
  EXPECT_EQ(store.leading_hits(chain_of({3})), 0U);
  store.unpin(chain_of({1, 2}));
  store.insert(chain_of({3}));
  EXPECT_EQ(store.leading_hits(chain_of({3})), 1U);
  EXPECT_EQ(store.leading_hits(chain_of({1, 2})), 1U);
}

TEST(PrefixStore, CountsHowManyReadABlock) {
  PrefixStore store(2 * kBlock, kBlock);
  store.insert(chain_of({1, 2}));
  store.pin(chain_of({1, 2}));
  store.pin(chain_of({1}));
  store.unpin(chain_of({1, 2}));
  store.insert(chain_of({3}));
  store.insert(chain_of({4}));
  EXPECT_EQ(store.leading_hits(chain_of({1, 2})), 1U);
  EXPECT_EQ(store.leading_hits(chain_of({4})), 1U);
  store.unpin(chain_of({1}));
  EXPECT_THROW(store.unpin(chain_of({1})), InvariantViolation);
  EXPECT_THROW(store.pin(chain_of({5})), InvariantViolation);
}

TEST(PrefixStore, TheEndOfAWarmUpForgetsPeakAndEvictionsAndKeepsTheBlocks) {
  PrefixStore store(2 * kBlock, kBlock);
  for (int i = 0; i < 5; ++i) store.insert(chain_of({i}));
  store.reset_statistics();
  EXPECT_EQ(store.peak_bytes(), 2 * kBlock);
  EXPECT_EQ(store.evictions(), 0U);
  EXPECT_EQ(store.leading_hits(chain_of({4})), 1U);
}

std::vector<Chain> any_chains() {
  std::vector<Chain> chains;
  for (const auto& path : *rc::gen::container<std::vector<std::vector<int>>>(
           rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 3)))) {
    chains.push_back(chain_of({path.begin(), path.begin() + std::min<std::ptrdiff_t>(std::ssize(path), 12)}));
  }
  return chains;
}

std::size_t held_of(const PrefixStore& store, const Chain& chain) {
  std::size_t held = 0;
  for (const std::uint64_t hash : chain) held += store.leading_hits(std::span(&hash, 1));
  return held;
}

RC_GTEST_PROP(PrefixStoreProperty, NeverExceedsItsCapacityNorLosesWhatIsPinned, ()) {
  const std::int64_t capacity = *rc::gen::inRange(0, 20);
  PrefixStore store(capacity * kBlock, kBlock);
  std::vector<Chain> reading;
  const std::vector<Chain> chains = any_chains();
  for (const Chain& chain : chains) {
    const std::size_t hits = store.leading_hits(chain);
    const auto found = std::span(chain).first(hits);
    if (*rc::gen::inRange(0, 3) == 0 && !reading.empty()) {
      store.unpin(reading.back());
      reading.pop_back();
    } else {
      store.pin(found);
      reading.emplace_back(found.begin(), found.end());
    }
    if (*rc::gen::arbitrary<bool>()) store.insert(chain);
    store.check_conservation();
    RC_ASSERT(store.bytes() <= capacity * kBlock);
    RC_ASSERT(store.peak_bytes() <= capacity * kBlock);
    for (const Chain& pinned : reading) RC_ASSERT(store.leading_hits(pinned) == pinned.size());
    for (const Chain& other : chains) RC_ASSERT(held_of(store, other) == store.leading_hits(other));
  }
  for (const Chain& pinned : reading) store.unpin(pinned);
  store.check_conservation();
}

RC_GTEST_PROP(PrefixStoreProperty, HoldsWholePrefixesAlways, ()) {
  PrefixStore store(*rc::gen::inRange(1, 20) * kBlock, kBlock);
  const std::vector<Chain> chains = any_chains();
  for (const Chain& chain : chains) {
    *rc::gen::arbitrary<bool>() ? store.insert(chain) : store.touch(chain);
    for (const Chain& other : chains) {
      RC_ASSERT(held_of(store, other) == store.leading_hits(other));
    }
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
