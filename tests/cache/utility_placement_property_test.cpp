#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <vector>

#include "sim/cache/placement/utility_placement.h"
#include "sim/engine/random.h"
#include "tests/cache/naive_placement.h"
#include "tests/cache/random_problem.h"

namespace KVSIM_FILE {

using namespace kvsim;
using namespace kvsim::cache;

namespace {

constexpr double kHalfLife = 10;

// A table of objects with both placements over it, changed as a tiered store would.
class World {
 public:
  World(std::uint64_t seed, models::UtilityVariant variant, models::FrequencyKind frequency)
      : draw_(seed, "world"),
        source_(random_problem(seed, {1, 1 + seed % 3, 1 + seed % 7, true})),
        profiled_(source_.pool.size()),
        tiers_(source_.tiers),
        spec_{.alpha_s = source_.alpha_s,
              .variant = variant,
              .first = seed % 3 == 0 ? models::FirstPlacement::whole : models::FirstPlacement::best,
              .targets = seed % 5 < 2 ? models::EvictionTargets::next : models::EvictionTargets::any_lower,
              .frequency = frequency,
              .half_life_s = kHalfLife,
              .recompute = seed % 2 == 0},
        naive_{objects_, source_.pool, profiled_, tiers_, spec_, source_.prefill_s_per_full_byte, {}, {}},
        placement_(objects_, source_.pool, profiled_, tiers_, spec_, source_.prefill_s_per_full_byte) {
    change_tiers();
  }

  void insert() {
    if (objects_.size() == 12) return;
    CachedObject object;
    object.key = objects_.size();
    // From a few sizes, so that there are ties; one is larger than some tiers, one is empty.
    constexpr std::array<std::int64_t, 5> kSizes{0, 7, 1'000'000'000, 1'000'000'000, 8'000'000'000};
    object.full_bytes = kSizes[draw_.below(kSizes.size())];
    object.curve = profiled_.curves() > 0 && draw_.below(3) == 0
                       ? static_cast<models::CurveIndex>(draw_.below(profiled_.curves()))
                       : profiled_.add(curve());
    objects_.push_back(object);
    naive_.accesses.emplace_back();
    const auto id = static_cast<ObjectId>(objects_.size() - 1);
    if (draw_.below(2) == 0) use(id);
    store(id);
  }

  // Where it is not stored: it is computed and placed.
  void store(ObjectId id) {
    if (objects_[id].tier != kNoTier) return;
    const auto first = static_cast<TierIndex>(draw_.below(tiers_.size()));
    const Change ours = placement_.place_new(id, first);
    const Change naive = naive_.place_new(id, first);
    RC_ASSERT(ours.tier == naive.tier);
    RC_ASSERT(ours.tier == kNoTier || ours.option == naive.option);
    if (ours.tier != kNoTier) apply(ours);
  }

  void use(ObjectId id) {
    now_s_ += draw_.uniform() * kHalfLife * (draw_.below(5) == 0 ? 200 : 1);
    if (now_s_ > 900 * kHalfLife) return;  // the naive weights would overflow
    const engine::SimTime now{engine::from_seconds(now_s_).ns};
    naive_.accesses[id].push_back(now.seconds());
    placement_.used(id, now);
  }

  void toggle_held(ObjectId id) {
    if (naive_.held.erase(id) > 0) {
      placement_.released(id);
    } else {
      naive_.held.insert(id);
      placement_.held(id);
    }
  }

  void relieve() {
    if (const auto change = placement_.relieve(static_cast<TierIndex>(draw_.below(tiers_.size())), kNoObject, need())) {
      apply(*change);
    }
  }

  void move(ObjectId id) {
    if (objects_[id].tier == kNoTier) return;
    Change change{id, static_cast<TierIndex>(draw_.below(tiers_.size())), objects_[id].option};
    const auto option = static_cast<models::OptionIndex>(draw_.below(source_.pool.size()));
    if (source_.pool.follows(change.option, option)) change.option = option;
    apply(change);
  }

  void drop(ObjectId id) {
    if (objects_[id].tier != kNoTier) apply({id, kNoTier, 0});
  }

  void change_tiers() {
    for (TierFacts& tier : tiers_) {
      tier.read_bytes_per_s = 1e9 * static_cast<double>(1 + draw_.below(50));
      constexpr std::array<std::int64_t, 4> kCapacities{0, 500'000'000, 3'000'000'000, INT64_MAX};
      tier.capacity_bytes = kCapacities[draw_.below(4)];
    }
    placement_.tiers_changed();
  }

  void change_profile() {
    if (profiled_.curves() == 0) return;
    const auto changed = static_cast<models::CurveIndex>(draw_.below(profiled_.curves()));
    profiled_.replace(changed, curve());
    placement_.profile_changed(changed);
  }

  void check() {
    for (std::size_t t = 0; t < tiers_.size(); ++t) {
      const auto tier = static_cast<TierIndex>(t);
      const auto order = naive_.in_order(tier);
      // In the index of its tier and no other: the sizes agree for all of them.
      RC_ASSERT(placement_.free_objects(tier) == order.size());
      const std::int64_t lacking = need();
      const auto ours = placement_.relieve(tier, kNoObject, lacking);
      RC_ASSERT(ours.has_value() == !order.empty());
      if (!ours) continue;
      const Change naive = naive_.relieve(tier, lacking);
      RC_ASSERT(ours->object == naive.object);
      RC_ASSERT(ours->tier == naive.tier);
      RC_ASSERT(ours->option == naive.option);
      RC_ASSERT(naive_.held.count(ours->object) == 0U);
    }
  }

  void check_promotions() {
    for (ObjectId id = 0; id < objects_.size(); ++id) {
      for (TierIndex to = 0; objects_[id].tier != kNoTier && to < objects_[id].tier; ++to) {
        const std::int64_t bytes = source_.pool.bytes(objects_[id].option, objects_[id].full_bytes);
        const auto free = static_cast<std::int64_t>(draw_.below(1'000'000'000));
        RC_ASSERT(placement_.promotes(id, to, bytes, free) == naive_.promotes(id, to, bytes, free));
      }
    }
  }

  [[nodiscard]] ObjectId any() { return static_cast<ObjectId>(draw_.below(objects_.size())); }
  [[nodiscard]] bool empty() const { return objects_.empty(); }

 private:
  // From a byte to more than any object has.
  std::int64_t need() {
    constexpr std::array<std::int64_t, 5> kMost{1, 10, 300'000'000, 3'000'000'000, 30'000'000'000};
    return 1 + static_cast<std::int64_t>(draw_.below(static_cast<std::uint64_t>(kMost[draw_.below(kMost.size())])));
  }
  std::vector<float> curve() {
    std::vector<float> scores{1};
    while (scores.size() < source_.pool.size()) scores.push_back(0.25F * static_cast<float>(draw_.below(5)));
    return scores;
  }

  void apply(const Change& change) {
    CachedObject& object = objects_[change.object];
    const TierIndex from = object.tier;
    object.tier = change.tier;
    if (change.tier == kNoTier) {
      object.option = 0;
      object.quality = 1;
      placement_.dropped(change.object, from);
    } else {
      object.option = change.option;
      object.quality = std::min(object.quality, profiled_.quality(object.curve, object.option));
      placement_.moved(change.object, from);
    }
  }

  engine::RandomStream draw_;
  PlacementProblem source_;  // of its pool, tiers and prices
  models::QualityTable profiled_;
  std::vector<TierFacts> tiers_;
  models::UtilitySpec spec_;
  ObjectTable objects_;
  NaivePlacement naive_;
  UtilityPlacement placement_;
  double now_s_ = 0;
};

void same_choices(models::UtilityVariant variant, models::FrequencyKind frequency) {
  // At its full size from the first case on: small ones would hold no object, or insert alone.
  World world(*rc::gen::resize(100, rc::gen::inRange<std::uint64_t>(0, 1'000'000)), variant, frequency);
  const auto operations = *rc::gen::resize(100, rc::gen::container<std::vector<int>>(120, rc::gen::inRange(0, 24)));
  for (const int operation : operations) {
    if (operation < 6 || world.empty()) {
      world.insert();
    } else if (operation < 10) {
      world.use(world.any());
    } else if (operation < 12) {
      world.toggle_held(world.any());
    } else if (operation < 16) {
      world.relieve();
    } else if (operation < 18) {
      world.move(world.any());
    } else if (operation < 19) {
      world.drop(world.any());
    } else if (operation < 21) {
      world.store(world.any());
    } else if (operation < 22) {
      world.change_tiers();
    } else if (operation < 23) {
      world.change_profile();
    } else {
      world.check_promotions();
    }
    world.check();
  }
}

RC_GTEST_PROP(UtilityPlacementProperty, leastDropChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop, models::FrequencyKind::count);
}
RC_GTEST_PROP(UtilityPlacementProperty, leastDropOfDecayedFrequenciesChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop, models::FrequencyKind::decayed);
}
RC_GTEST_PROP(UtilityPlacementProperty, leastDropPerByteChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop_per_byte, models::FrequencyKind::count);
}
RC_GTEST_PROP(UtilityPlacementProperty, leastDropPerByteOfDecayedFrequenciesChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop_per_byte, models::FrequencyKind::decayed);
}
RC_GTEST_PROP(UtilityPlacementProperty, leastDropForNeedChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop_for_need, models::FrequencyKind::count);
}
RC_GTEST_PROP(UtilityPlacementProperty, leastDropForNeedOfDecayedFrequenciesChoosesWhatARescanChooses, ()) {
  same_choices(models::UtilityVariant::least_drop_for_need, models::FrequencyKind::decayed);
}

}  // namespace
}  // namespace KVSIM_FILE
