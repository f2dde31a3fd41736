// Joint compression and eviction by utility (EvicPress): when a tier overflows, the change of any object in it that
// loses the least utility, be it fewer bytes in place or a move to a tier below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/placement/configurations.h"
#include "sim/cache/placement/drop_heap.h"
#include "sim/cache/placement/placement.h"
#include "sim/engine/time.h"

namespace kvsim::cache {

// How often each object is used, as numbers whose ratios are those of the frequencies.

/// Weight that one access adds to its object. A count adds 1. Decayed frequencies use forward decay (G. Cormode et al.,
/// "Forward decay", ICDE 2009): instead of halving all old accesses after every half-life, new ones count double. So
/// the weights of objects that are not used keep standing and all keys made of them keep their order.
class AccessWeights {
 public:
  AccessWeights(models::FrequencyKind kind, double half_life_s) : kind_(kind), half_life_s_(half_life_s) {}

  /// The weight of an access at `now`; times must not go back by more than hundreds of half-lives.
  [[nodiscard]] double of_access(engine::SimTime now) const;

  /// The number of half-lives by which weights have grown too large: multiply every weight by 2^-n (exact, but for
  /// those that vanish), then call rebased(n). 0: nothing to do.
  [[nodiscard]] std::int64_t excess(engine::SimTime now) const;
  void rebased(std::int64_t half_lives) { shift_ += half_lives; }

 private:
  [[nodiscard]] double exponent(engine::SimTime now) const {
    return now.seconds() / half_life_s_ - static_cast<double>(shift_);
  }

  models::FrequencyKind kind_;
  double half_life_s_;
  std::int64_t shift_ = 0;  // half-lives since time 0 whose weight is 1
};

/// Every free object is in the index of its tier, by what its cheapest change loses: everything about one object is
/// O(log objects + options). An object's frequency is remembered when it is dropped.
///
/// least_drop_for_need takes the change with the least drop / min(bytes freed, 3 x need), over all options of all free
/// objects in the tier. (Three: with one, what little is lacking in the end is made up of changes that are dear for
/// what they free, where the next object would have used the rest; greedy_gap_test.cpp has the figures.) Its objects
/// are in a second index, too, by the least drop alone. See relieve() for what is guaranteed.
///
/// Before moved() the owner of the table sets tier, option and quality. Until released(), a held object stays out of
/// the index wherever it goes.
class UtilityPlacement final : public Placement {
 public:
  /// All but `prefill` outlive it.
  UtilityPlacement(const ObjectTable& objects, const models::OptionPool& pool, const models::QualityTable& profiled,
                   const std::vector<TierFacts>& tiers, const models::UtilitySpec& spec, models::PrefillCost prefill);

  UtilityPlacement(const UtilityPlacement&) = delete;
  UtilityPlacement& operator=(const UtilityPlacement&) = delete;

  /// Where and as what it is worth most (Configurations::best_new); kNoTier where no tier can hold it at all.
  Change place_new(ObjectId id, TierIndex first) override;
  void moved(ObjectId id, TierIndex from) override;
  void dropped(ObjectId id, TierIndex from) override;
  void renamed(ObjectId from, ObjectId to) override;
  void used(ObjectId id, engine::SimTime now) override;
  void held(ObjectId id) override;
  void released(ObjectId id) override;

  /// Looks at 64 changes in `to` at most, one for each object: what takes more of them does not promote.
  bool promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) override;

  [[nodiscard]] bool weighs_incoming() const override { return true; }

  /// `incoming` may itself be chosen where it belongs to the tier already. O(1); only least_drop_for_need heeds the
  /// need, and is O(options): where a change loses nothing it takes the one that gains most per byte, or else looks at
  /// the options of the first objects of its two indices in turn, until no other object can have a lower ratio, or 8 of
  /// each were looked at. So no option of these objects has a lower ratio than what it takes, nor has the least drop
  /// per byte; only an object that comes later in both indices may have one, and is missed. Its promotes() goes by the
  /// first index alone.
  std::optional<Change> relieve(TierIndex tier, ObjectId incoming, std::int64_t need_bytes) override;

  /// O(objects).
  void tiers_changed() override;
  /// O(log objects) for a curve of one object, O(objects) for one that several share.
  void profile_changed(models::CurveIndex curve) override;

  /// Objects of the tier that may be chosen now.
  [[nodiscard]] std::size_t free_objects(TierIndex tier) const { return indices_[tier].size(); }
  /// Bytes of memory behind all of the above, unused capacity included; without the table of objects.
  [[nodiscard]] std::size_t state_bytes() const;

 private:
  struct Record {
    double weight = 0;             // proportional to the frequency
    double cost = 0;               // of its cheapest change, for one access
    Configurations::Place change;  // where that takes it
    TierIndex index = kNoTier;     // whose index it is in
    bool held = false;
    bool relievable = false;  // it is stored and takes space
  };

  Record& record(ObjectId id);
  void refresh(ObjectId id);
  void enter(ObjectId id);
  void leave(ObjectId id);
  void update(ObjectId id);
  void rebuild();
  void rebase(std::int64_t half_lives);
  void rekey();
  [[nodiscard]] Change least_for_need(TierIndex tier, double useful_bytes);
  [[nodiscard]] bool for_need() const { return spec_.variant == models::UtilityVariant::least_drop_for_need; }
  [[nodiscard]] double key(const Record& r) const { return r.weight * r.cost; }
  [[nodiscard]] double drop_key(ObjectId id) const { return records_[id].weight * least_drops_[id]; }

  const ObjectTable& objects_;
  const std::vector<TierFacts>& tiers_;
  models::UtilitySpec spec_;
  Configurations configurations_;
  AccessWeights weights_;
  std::vector<Record> records_;        // by ObjectId
  HeapPositions positions_;            // by ObjectId; apart, since every step of a sift writes one
  std::vector<ObjectId> curve_owner_;  // by curve: the one object that has it, or kNoObject: several have
  std::vector<DropHeap> indices_;      // by tier
  HeapWalk::Frontier frontier_;

  // State of least_drop_for_need; empty in other variants.
  std::vector<double> least_drops_;  // by ObjectId: for one access
  HeapPositions drop_positions_;     // by ObjectId
  std::vector<DropHeap> by_drop_;    // by tier: the same objects as in indices_
  HeapWalk::Frontier drop_frontier_;
};

}  // namespace kvsim::cache
