#include "sim/cache/placement/utility_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sim/engine/random.h"

namespace KVSIM_FILE {

using namespace kvsim;
using namespace kvsim::cache;

namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;

engine::SimTime at(double seconds) {
  return {engine::from_seconds(seconds).ns};
}

// Two tiers, 20 and 2 GB/s; one option, half the bytes at a quality of 0.9; prefill 1 s/GB; alpha 10 s.
struct Fixture {
  models::OptionPool pool;
  models::QualityTable profiled{2};
  std::vector<TierFacts> tiers{{.name = "fast", .capacity_bytes = 8 * kGigabyte, .next = 1, .read_bytes_per_s = 20e9},
                               {.name = "slow", .capacity_bytes = 100 * kGigabyte, .read_bytes_per_s = 2e9}};
  ObjectTable objects;
  models::UtilitySpec spec{.recompute = true};
  double prefill_s_per_full_byte = 1e-9;

  Fixture() {
    models::StorageOption half;
    half.name = half.method = "half";
    half.keep = 0.5;
    pool.add(half);
  }
  UtilityPlacement placement() const {
    return UtilityPlacement(objects, pool, profiled, tiers, spec, prefill_s_per_full_byte);
  }
  ObjectId add(std::int64_t bytes, float half_quality = 0.9F) {
    CachedObject object;
    object.key = objects.size();
    object.full_bytes = bytes;
    object.curve = profiled.add(std::vector<float>{1, half_quality});
    objects.push_back(object);
    return static_cast<ObjectId>(objects.size() - 1);
  }
  void put(UtilityPlacement& placement, ObjectId id, TierIndex tier, models::OptionIndex option = 0) {
    const TierIndex from = objects[id].tier;
    objects[id].tier = tier;
    objects[id].option = option;
    objects[id].quality = std::min(objects[id].quality, profiled.quality(objects[id].curve, option));
    placement.moved(id, from);
  }
};

// A block that is a tenth of its request's prompt: losing half of its quality is worth a twentieth of alpha, 0.5 s of
// 10, and not 5 s. Compressing to half saves 1 s of the 2 s that 2 GB take at 1 GB/s: not worth 5 s, but worth 0.5 s.
TEST(Configurations, ABlockDecidesItsShareOfARequestsQuality) {
  models::OptionPool pool;
  models::StorageOption half;
  half.name = "half";
  half.method = "m";
  half.keep = 0.5;
  pool.add(half);
  models::QualityTable table(2);
  table.add(std::vector<float>{1.0F, 0.5F});
  models::UtilitySpec spec;
  spec.alpha_s = 10;
  Configurations configurations(pool, table, spec, 1e-9);
  TierFacts tier;
  tier.read_bytes_per_s = 1e9;
  configurations.set_tiers({tier});
  CachedObject block;
  block.full_bytes = 2'000'000'000;
  block.tier = 0;
  const auto gain = [&](float share) {
    block.share = share;
    return configurations.utility(block, {0, 1}) - configurations.utility(block, {0, 0});
  };
  EXPECT_NEAR(gain(1.0F), 1 - 5, 1e-6);
  EXPECT_NEAR(gain(0.1F), 1 - 0.5, 1e-6);
}

TEST(UtilityPlacement, ANewObjectGoesWholeToTheTierWhereItIsWorthMost) {
  Fixture f;
  auto placement = f.placement();
  const Change change = placement.place_new(f.add(4 * kGigabyte), 0);
  EXPECT_EQ(change.tier, 0);
  EXPECT_EQ(change.option, 0);
}

// Half loses 0.02 x 10 s and saves 0.5 s of a load: it is put away so at once, though there is room for the whole.
TEST(UtilityPlacement, ANewObjectIsCompressedAtOnceWhereThatIsWorthMoreUnlessItIsPutWhole) {
  Fixture f;
  f.tiers[0].read_bytes_per_s = 4e9;
  for (const auto first : {models::FirstPlacement::best, models::FirstPlacement::whole}) {
    f.spec.first = first;
    auto placement = f.placement();
    const Change change = placement.place_new(f.add(4 * kGigabyte, 0.98F), 0);
    EXPECT_EQ(change.tier, 0);
    EXPECT_EQ(change.option, first == models::FirstPlacement::best ? 1 : 0);
  }
}

// The second tier is slower than the third: what leaves the first goes to the third, or only one down.
TEST(UtilityPlacement, WhatLeavesATierGoesWhereItIsWorthMostOrOnlyToTheNext) {
  Fixture f;
  f.tiers = {{.name = "fast", .capacity_bytes = 8 * kGigabyte, .next = 1, .read_bytes_per_s = 20e9},
             {.name = "slow", .capacity_bytes = 99 * kGigabyte, .next = 2, .read_bytes_per_s = 1e9},
             {.name = "pooled", .read_bytes_per_s = 4e9}};
  for (const auto targets : {models::EvictionTargets::any_lower, models::EvictionTargets::next}) {
    f.spec.targets = targets;
    const ObjectId id = f.add(kGigabyte, 0.2F);
    auto placement = f.placement();
    placement.used(id, at(0));
    f.put(placement, id, 0);
    const auto change = placement.relieve(0, kNoObject, 1);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->tier, targets == models::EvictionTargets::next ? 1 : 2);
    EXPECT_EQ(change->option, 0);
    f.objects[id].tier = kNoTier;
  }
}

// Two objects alike but for their past: the one that was used five times under another name stays.
TEST(UtilityPlacement, WhatIsKnownByAnotherNameKeepsHowOftenItWasUsed) {
  Fixture f;
  auto placement = f.placement();
  const ObjectId before = f.add(kGigabyte), now = f.add(kGigabyte), other = f.add(kGigabyte);
  for (int i = 0; i < 5; ++i) placement.used(before, at(i));
  placement.used(other, at(5));
  placement.renamed(before, now);
  f.put(placement, now, 0);
  f.put(placement, other, 0);
  const auto change = placement.relieve(0, kNoObject, 1);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->object, other);
}

// 2 bytes at 3 s a byte and 5 s a byte squared.
TEST(Utility, ComputingGrowsWithTheSquareToo) {
  EXPECT_DOUBLE_EQ(models::prefill_ttft_s(2, {3, 5}), 26);
  EXPECT_DOUBLE_EQ(models::prefill_ttft_s(2, 3), 6);
}

TEST(UtilityPlacement, ANewObjectLargerThanATierGoesToTheNextOneWhereItMustBeWhole) {
  Fixture f;
  f.spec.first = models::FirstPlacement::whole;
  auto placement = f.placement();
  EXPECT_EQ(placement.place_new(f.add(9 * kGigabyte), 0).tier, 1);
}

TEST(UtilityPlacement, ANewObjectThatNoTierTakesWholeIsCompressed) {
  Fixture f;
  f.tiers[1].capacity_bytes = 8 * kGigabyte;
  auto placement = f.placement();
  const Change change = placement.place_new(f.add(16 * kGigabyte), 0);  // 8 GB at half
  EXPECT_EQ(change.tier, 0);
  EXPECT_EQ(change.option, 1);
}

// Whole it fits the slow tier alone, 5 s against a prefill of 4 s; at half the fast one takes it: 1 s lost and 0.25 s.
TEST(UtilityPlacement, ANewObjectThatIsComputedFasterThanLoadedWholeIsCompressed) {
  Fixture f;
  f.prefill_s_per_full_byte = 0.4e-9;
  auto placement = f.placement();
  const Change change = placement.place_new(f.add(10 * kGigabyte), 0);
  EXPECT_EQ(change.tier, 0);
  EXPECT_EQ(change.option, 1);
}

TEST(UtilityPlacement, NothingIsStoredWhereNothingFitsOrComputingIsWorthMore) {
  Fixture f;
  {
    auto placement = f.placement();
    EXPECT_EQ(placement.place_new(f.add(201 * kGigabyte), 0).tier, kNoTier);
  }
  f.prefill_s_per_full_byte = 1e-11;  // 0.01 s/GB; the fast tier takes 0.05
  auto placement = f.placement();
  EXPECT_EQ(placement.place_new(f.add(kGigabyte), 0).tier, kNoTier);
}

TEST(UtilityPlacement, TiersOfNoCapacityTakeNothing) {
  Fixture f;
  f.tiers[0].capacity_bytes = 0;
  f.tiers[1].capacity_bytes = 0;
  auto placement = f.placement();
  EXPECT_EQ(placement.place_new(f.add(kGigabyte), 0).tier, kNoTier);
  EXPECT_FALSE(placement.relieve(0, kNoObject, kGigabyte).has_value());
}

// Half in place loses 0.1 x 10 s - 0.1 s; in the slow tier, half as well: 1 s + 1 - 0.2 s.
TEST(UtilityPlacement, RelievesByCompressionWhereThatLosesLessThanEviction) {
  Fixture f;
  const ObjectId id = f.add(4 * kGigabyte);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 0);
  const auto change = placement.relieve(0, kNoObject, kGigabyte);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->tier, 0);
  EXPECT_EQ(change->option, 1);
}

// Half loses 5 s; whole in the slow tier 2 - 0.2 s.
TEST(UtilityPlacement, RelievesByEvictionWhereQualityIsDear) {
  Fixture f;
  const ObjectId id = f.add(4 * kGigabyte, 0.5F);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 0);
  const auto change = placement.relieve(0, kNoObject, kGigabyte);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->tier, 1);
  EXPECT_EQ(change->option, 0);
}

// Context 1, 8 GB: half loses 1 - 0.2 s and frees 4 GB; context 2, 1 GB: half loses 0.3 - 0.025 s and frees 0.5 GB. Per
// byte, context 1 loses less, 0.2 s/GB against 0.55. Where 0.1 GB are lacking 0.3 GB count: 0.8/0.3 against 0.275/0.3.
TEST(UtilityPlacement, ForALittleNeedWhatLosesLittleGivesWayBeforeWhatFreesMuch) {
  Fixture f;
  f.spec.variant = models::UtilityVariant::least_drop_for_need;
  const ObjectId large = f.add(8 * kGigabyte, 0.9F);
  const ObjectId small = f.add(kGigabyte, 0.97F);
  auto placement = f.placement();
  for (const ObjectId id : {large, small}) {
    placement.used(id, at(0));
    f.put(placement, id, 0);
  }
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte / 10)->object, small);
  EXPECT_EQ(placement.relieve(0, kNoObject, 4 * kGigabyte)->object, large);
  // What was used more often loses more: 4 x 0.275.
  for (int n = 0; n < 3; ++n) placement.used(small, at(0));
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte / 10)->object, large);
}

// One object, 8 GB: half loses 1 - 0.2 s for 4 GB, the slow tier, whole, 4 - 0.4 s for 8 GB, or (half) 1 + 2 - 0.4 s:
// 0.2 s/GB against 0.325. At a quality of 0.7 the former is 3 - 0.2 s, 0.7 s/GB, the latter (whole) 3.6 s, 0.45 s/GB;
// but 3 GB of either count where 1 GB is lacking.
TEST(UtilityPlacement, ForALittleNeedAnObjectMakesTheChangeThatSufficesAndNotItsBestPerByte) {
  Fixture f;
  f.spec.variant = models::UtilityVariant::least_drop_for_need;
  const ObjectId id = f.add(8 * kGigabyte, 0.7F);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->tier, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, 3 * kGigabyte)->tier, 1);
}

// 0.1 GB are lacking, so 0.3 GB count. Large objects of 8 GB lose 1 - 0.2 s by half: first per byte, 0.2 s/GB, but
// 2.7 s for each GB that counts. Tiny ones of 0.1 GB lose 0.05 s by half and free 0.05 GB: first by drop, 1 s/GB. The
// one in the middle is between them in both orders, 0.275 s and 0.55 s/GB, and best: 0.92 s/GB.
TEST(UtilityPlacement, ForANeedItLooksAtTheFirst8OfEachOrder) {
  for (const int ahead : {7, 8}) {
    Fixture f;
    f.tiers[1].read_bytes_per_s = 0.2e9;  // eviction is no way out
    f.prefill_s_per_full_byte = 1e-8;
    f.spec.variant = models::UtilityVariant::least_drop_for_need;
    auto placement = f.placement();
    const auto put = [&](std::int64_t bytes, float half_quality) {
      const ObjectId id = f.add(bytes, half_quality);
      placement.used(id, at(0));
      f.put(placement, id, 0);
      return id;
    };
    for (int i = 0; i < ahead; ++i) put(8 * kGigabyte, 0.9F);
    for (int i = 0; i < ahead; ++i) put(kGigabyte / 10, 0.99475F);  // 0.0525 - 0.0025 s
    const ObjectId middle = put(kGigabyte, 0.97F);
    const auto change = placement.relieve(0, kNoObject, kGigabyte / 10);
    EXPECT_EQ(change->object == middle, ahead < 8);
  }
}

TEST(UtilityPlacement, WhatTheNextTierCannotTakeSkipsIt) {
  Fixture f;
  f.tiers[1].next = 2;
  f.tiers.push_back({.name = "remote", .read_bytes_per_s = 1.5e9});
  f.tiers[1].capacity_bytes = kGigabyte;
  const ObjectId id = f.add(4 * kGigabyte, 0.0F);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->tier, 2);
}

// 4 GB at 2 GB/s against a prefill of 1 s.
TEST(UtilityPlacement, WhatIsComputedFasterThanTheNextTierLoadsItIsDropped) {
  Fixture f;
  f.prefill_s_per_full_byte = 0.25e-9;
  const ObjectId id = f.add(4 * kGigabyte, 0.0F);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->tier, kNoTier);
}

TEST(UtilityPlacement, TheLeastUsedOfEqualContextsGivesWayFirst) {
  Fixture f;
  const ObjectId often = f.add(kGigabyte);
  const ObjectId once = f.add(kGigabyte);
  auto placement = f.placement();
  for (const ObjectId id : {often, often, once}) placement.used(id, at(0));
  f.put(placement, often, 0);
  f.put(placement, once, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->object, once);
  placement.used(once, at(1));
  placement.used(once, at(1));
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->object, often);
}

TEST(UtilityPlacement, EqualContextsGiveWayInTheOrderOfTheirNumbers) {
  Fixture f;
  auto placement = f.placement();
  for (int i = 0; i < 50; ++i) {
    const ObjectId id = f.add(kGigabyte);
    placement.used(id, at(0));
  }
  for (ObjectId id = 50; id-- > 0;) f.put(placement, id, 0);
  for (ObjectId id = 0; id < 50; ++id) {
    const auto change = placement.relieve(0, kNoObject, kGigabyte);
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->object, id);
    f.objects[id].tier = kNoTier;
    placement.dropped(id, 0);
  }
  EXPECT_FALSE(placement.relieve(0, kNoObject, kGigabyte).has_value());
}

TEST(UtilityPlacement, FrequenciesOfWhatWasDroppedAreRemembered) {
  Fixture f;
  const ObjectId back = f.add(kGigabyte);
  const ObjectId other = f.add(kGigabyte);
  auto placement = f.placement();
  for (const ObjectId id : {back, back, back, other, other}) placement.used(id, at(0));
  f.put(placement, back, 0);
  f.objects[back].tier = kNoTier;
  placement.dropped(back, 0);
  f.put(placement, other, 0);
  f.put(placement, back, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->object, other);
}

TEST(UtilityPlacement, WhatWentThroughAWorseRepresentationKeepsItsQuality) {
  Fixture f;
  f.prefill_s_per_full_byte = 1e-8;
  const ObjectId worse = f.add(4 * kGigabyte, 0.9F);
  auto placement = f.placement();
  placement.used(worse, at(0));
  f.put(placement, worse, 0);
  f.objects[worse].quality = 0.8F;  // half loses nothing more
  placement.moved(worse, 0);
  const auto change = placement.relieve(0, kNoObject, kGigabyte);
  EXPECT_EQ(change->option, 1);
  // Its least loss is now a gain of 0.1 s: it comes before one that is used as much, but would lose quality.
  const ObjectId other = f.add(4 * kGigabyte, 0.995F);
  placement.used(other, at(0));
  f.put(placement, other, 0);
  EXPECT_EQ(placement.relieve(0, kNoObject, kGigabyte)->object, worse);
}

TEST(UtilityPlacement, PromotesIntoFreeSpaceAndOverWhatIsUsedLess) {
  Fixture f;
  f.profiled = models::QualityTable(2);
  const ObjectId hot = f.add(8 * kGigabyte, 0.0F);
  const ObjectId cold = f.add(8 * kGigabyte, 0.0F);
  auto placement = f.placement();
  for (const ObjectId id : {hot, hot, cold}) placement.used(id, at(0));
  f.put(placement, hot, 1);
  EXPECT_TRUE(placement.promotes(hot, 0, 8 * kGigabyte, 8 * kGigabyte));
  f.put(placement, cold, 0);
  EXPECT_TRUE(placement.promotes(hot, 0, 8 * kGigabyte, 0));
  placement.used(cold, at(0));
  EXPECT_FALSE(placement.promotes(hot, 0, 8 * kGigabyte, 0));  // as much as it
  placement.held(cold);
  placement.used(hot, at(0));
  EXPECT_FALSE(placement.promotes(hot, 0, 8 * kGigabyte, 0));  // what is held makes no room
}

TEST(UtilityPlacement, DoesNotPromoteWhereItMustNot) {
  Fixture f;
  f.spec.promote = false;
  const ObjectId id = f.add(kGigabyte);
  auto placement = f.placement();
  placement.used(id, at(0));
  f.put(placement, id, 1);
  EXPECT_FALSE(placement.promotes(id, 0, kGigabyte, 8 * kGigabyte));
}

TEST(UtilityPlacement, LooksAtNoMoreThan64ChangesToPromote) {
  for (const int cold : {64, 65}) {
    Fixture f;
    f.tiers[0].capacity_bytes = cold * kGigabyte / 8;
    const ObjectId hot = f.add(cold * kGigabyte / 8, 0.0F);
    auto placement = f.placement();
    for (int n = 0; n < 1000; ++n) placement.used(hot, at(0));
    f.put(placement, hot, 1);
    for (int i = 0; i < cold; ++i) {
      const ObjectId id = f.add(kGigabyte / 8, 0.0F);
      placement.used(id, at(0));
      f.put(placement, id, 0);
    }
    EXPECT_EQ(placement.promotes(hot, 0, cold * kGigabyte / 8, 0), cold <= 64);
  }
}

// An object's entry in the table, what the placement keeps of it (with unused capacity) and a curve of 20 options.
TEST(UtilityPlacement, AnObjectTakesLessThan300BytesOfMemory) {
  for (const std::size_t objects : {1000U, 1025U, 5000U, 65537U}) {
    Fixture f;
    f.spec.variant = models::UtilityVariant::least_drop_for_need;  // two indices
    auto placement = f.placement();
    for (std::size_t i = 0; i < objects; ++i) {
      const ObjectId id = f.add(kGigabyte);
      placement.used(id, at(0));
      f.put(placement, id, 0);
    }
    const double each = static_cast<double>(placement.state_bytes()) / static_cast<double>(objects);
    EXPECT_GE(each, 24 + 16 + 4 + 8 + 16 + 4);  // record, entry of the index, position in it; the same for the second
    EXPECT_LT(each + sizeof(CachedObject) + 20 * sizeof(float), 300) << objects;
  }
}

// The order of equal objects is that of their decayed frequencies, sum over accesses of exp(-(now - t_k) ln 2 / T),
// also after the weights were scaled back many times: 3000 half-lives are six times as many as a double holds at once.
TEST(UtilityPlacement, OrdersByFrequenciesThatDecayWithTheHalfLife) {
  Fixture f;
  f.spec.frequency = models::FrequencyKind::decayed;
  f.spec.half_life_s = 7;
  auto placement = f.placement();
  constexpr std::size_t kObjects = 40;
  std::vector<std::vector<double>> accesses(kObjects);
  for (std::size_t i = 0; i < kObjects; ++i) f.put(placement, f.add(kGigabyte), 0);
  engine::RandomStream draw(1, "accesses");
  double now = 0;
  while (now < 3000 * f.spec.half_life_s) {
    now += draw.exponential(0.7 * f.spec.half_life_s);
    const std::size_t i = draw.below(kObjects);
    accesses[i].push_back(at(now).seconds());
    placement.used(static_cast<ObjectId>(i), at(now));
  }
  std::vector<double> frequency(kObjects, 0);
  for (std::size_t i = 0; i < kObjects; ++i) {
    for (const double t : accesses[i]) frequency[i] += std::exp(-(now - t) * std::log(2) / f.spec.half_life_s);
  }
  std::vector<ObjectId> order(kObjects);
  std::iota(order.begin(), order.end(), ObjectId{0});
  std::stable_sort(order.begin(), order.end(), [&](ObjectId a, ObjectId b) { return frequency[a] < frequency[b]; });
  for (const ObjectId expected : order) {
    const auto change = placement.relieve(0, kNoObject, kGigabyte);
    ASSERT_TRUE(change.has_value());
    EXPECT_EQ(change->object, expected);
    f.objects[change->object].tier = kNoTier;
    placement.dropped(change->object, 0);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
