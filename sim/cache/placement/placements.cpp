#include "sim/cache/placement/placements.h"

#include <algorithm>

#include "models/placement/placement_spec.h"
#include "models/schemas.h"
#include "sim/cache/placement/order_placement.h"
#include "sim/cache/placement/utility_placement.h"

namespace kvsim::cache {
namespace {

/// Nothing is kept: every prompt is computed.
class StoreNothing final : public Placement {
 public:
  Change place_new(ObjectId id, TierIndex) override { return {id, kNoTier, 0}; }
  void moved(ObjectId, TierIndex) override {}
  void dropped(ObjectId, TierIndex) override {}
  void used(ObjectId, engine::SimTime) override {}
  void held(ObjectId) override {}
  void released(ObjectId) override {}
  bool promotes(ObjectId, TierIndex, std::int64_t, std::int64_t) override { return false; }
  std::optional<Change> relieve(TierIndex, ObjectId, std::int64_t) override { return std::nullopt; }
  void tiers_changed() override {}
  void profile_changed(models::CurveIndex) override {}
};

std::vector<PlacementEntry> make_entries() {
  std::vector<PlacementEntry> entries{{models::no_store_policy, "nothing is kept: every prompt is computed"}};
  for (const EvictionPolicyEntry& e : eviction_policies()) entries.push_back({e.name, e.description, e.needs_future});
  entries.push_back(
      {models::importance_policy,
       "only chunks with the tokens that few heads attend to most are stored, in order of use (IMPRESS)"});
  entries.push_back(
      {models::utility_policy,
       "compression and eviction together, by what quality and time to first token are worth (EvicPress)"});
  return entries;
}

}  // namespace

std::span<const PlacementEntry> placements() {
  static const std::vector<PlacementEntry> entries = make_entries();
  return entries;
}

const PlacementEntry* find_placement(std::string_view name) {
  const auto all = placements();
  const auto it = std::find_if(all.begin(), all.end(), [&](const PlacementEntry& e) { return e.name == name; });
  return it == all.end() ? nullptr : &*it;
}

std::unique_ptr<Placement> make_placement(const PlacementParts& p) {
  if (p.spec.policy == models::no_store_policy) return std::make_unique<StoreNothing>();
  if (p.spec.policy == models::utility_policy) {
    return std::make_unique<UtilityPlacement>(p.objects, p.pool, p.profiled, p.tiers, p.spec.utility, p.prefill);
  }
  const bool important = p.spec.policy == models::importance_policy;
  const EvictionPolicyEntry& order = *find_eviction_policy(important ? "lru" : p.spec.policy);
  // Policies that only order store everything in the one form beside the whole that their pool has.
  const auto option = static_cast<models::OptionIndex>(p.pool.size() - 1);
  return std::make_unique<OrderPlacement>(p.objects, p.pool, p.tiers, order, option,
                                          EvictionContext{.next_use = p.next_use, .own = p.spec.own});
}

}  // namespace kvsim::cache
