// Joint compression and eviction by utility (EvicPress): when a tier overflows, the change of any object in it that
// loses the least utility, be it fewer bytes in place or a move to the tier below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_table.h"
#include "sim/cache/placement/access_weights.h"
#include "sim/cache/placement/configurations.h"
#include "sim/cache/placement/drop_heap.h"
#include "sim/cache/placement/object_table.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

/// Every free object is in the index of its tier, by what its cheapest change loses: relieve() is O(1), everything else
/// about one object O(log objects + options). An object's frequency is remembered when it is dropped.
///
/// Before moved() the owner of the table sets tier, option and quality. Until released(), a held object stays out of
/// the index wherever it goes.
class UtilityPlacement final : public Placement {
 public:
  /// All but `prefill_s_per_full_byte` (seconds of computing an object / its bytes) outlive it.
  UtilityPlacement(const ObjectTable& objects, const models::OptionPool& pool, const models::QualityTable& profiled,
                   const std::vector<TierFacts>& tiers, const models::UtilitySpec& spec,
                   double prefill_s_per_full_byte);

  UtilityPlacement(const UtilityPlacement&) = delete;
  UtilityPlacement& operator=(const UtilityPlacement&) = delete;

  /// Whole, in the tier where that is worth most; compressed where no tier can hold it whole at a profit over computing
  /// it each time; kNoTier where none can at all.
  Change place_new(ObjectId id, TierIndex first) override;
  void moved(ObjectId id, TierIndex from) override;
  void dropped(ObjectId id, TierIndex from) override;
  void used(ObjectId id, engine::SimTime now) override;
  void held(ObjectId id) override;
  void released(ObjectId id) override;

  /// Looks at 64 changes in `to` at most, one for each object: what takes more of them does not promote.
  bool promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) override;

  /// O(1). `incoming` may itself be chosen where it belongs to the tier already.
  std::optional<Change> relieve(TierIndex tier, ObjectId incoming) override;

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
  [[nodiscard]] double key(const Record& r) const { return r.weight * r.cost; }

  const ObjectTable& objects_;
  const std::vector<TierFacts>& tiers_;
  models::UtilitySpec spec_;
  Configurations configurations_;
  AccessWeights weights_;
  std::vector<Record> records_;          // by ObjectId
  HeapPositions positions_;              // by ObjectId; apart, since every step of a sift writes one
  std::vector<ObjectId> curve_owner_;    // by curve: the one object that has it, or kNoObject: several have
  std::vector<DropHeap> indices_;        // by tier
  std::vector<std::uint32_t> frontier_;  // of promotes()
};

}  // namespace kvsim::cache
