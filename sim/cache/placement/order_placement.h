// Placement by the order of an eviction policy, a separate one in each tier: everything new enters the first tier in
// one and the same form, what a tier evicts goes to the one below, and what is loaded comes back to the first.
#pragma once

#include <memory>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

class OrderPlacement final : public Placement {
 public:
  /// All but `made` outlives this, which all policies are made with but for the capacity; `option` is the form in which
  /// everything is stored.
  OrderPlacement(const ObjectTable& objects, const models::OptionPool& pool, const std::vector<TierFacts>& tiers,
                 const EvictionPolicyEntry& policy, models::OptionIndex option, EvictionContext made);

  Change place_new(ObjectId id, TierIndex first) override;
  void moved(ObjectId id, TierIndex from) override;
  void dropped(ObjectId id, TierIndex from) override;
  void used(ObjectId id, engine::SimTime now) override;
  void touched(ObjectId id) override;
  void held(ObjectId id) override { at(pins_, id) = 1; }
  void released(ObjectId id) override { at(pins_, id) = 0; }
  bool promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) override;
  std::optional<Change> relieve(TierIndex tier, ObjectId incoming, std::int64_t need_bytes) override;
  void tiers_changed() override {}
  void profile_changed(models::CurveIndex) override {}

 private:
  template <class T>
  static T& at(std::vector<T>& values, ObjectId id, T unknown = {}) {
    if (id >= values.size()) values.resize(std::size_t{id} + 1, unknown);
    return values[id];
  }
  [[nodiscard]] TierIndex fitting(ObjectId id, TierIndex from) const;
  void settle_offer(ObjectId id, TierIndex from);
  ObjectId victim(TierIndex tier, ObjectId incoming);

  const ObjectTable& objects_;
  const models::OptionPool& pool_;
  const std::vector<TierFacts>& tiers_;
  models::OptionIndex option_;
  std::vector<std::unique_ptr<EvictionPolicy>> order_;  // by tier
  std::vector<TierIndex> ordered_in_;                   // by object: the tier in whose order it stands
  std::vector<std::uint32_t> pins_;
  std::vector<ObjectId> offered_;  // by tier: taken out of its order for a change that was refused so far
};

}  // namespace kvsim::cache
