#include "sim/cache/placement/order_placement.h"

namespace kvsim::cache {

OrderPlacement::OrderPlacement(const ObjectTable& objects, const models::OptionPool& pool,
                               const std::vector<TierFacts>& tiers, const EvictionPolicyEntry& policy,
                               models::OptionIndex option, EvictionContext made)
    : objects_(objects), pool_(pool), tiers_(tiers), option_(option), offered_(tiers.size(), kNoObject) {
  for (const TierFacts& tier : tiers) {
    made.capacity_bytes = tier.capacity_bytes;
    order_.push_back(policy.make(made));
  }
}

/// The first tier from there down that could hold the object; kNoTier: none.
TierIndex OrderPlacement::fitting(ObjectId id, TierIndex from) const {
  const CachedObject& o = objects_[id];
  const std::int64_t bytes = pool_.bytes(o.tier == kNoTier ? option_ : o.option, o.full_bytes);
  while (from != kNoTier && bytes > tiers_[from].capacity_bytes) from = tiers_[from].next;
  return from;
}

Change OrderPlacement::place_new(ObjectId id, TierIndex first) {
  return {id, fitting(id, first), option_};
}

void OrderPlacement::moved(ObjectId id, TierIndex from) {
  settle_offer(id, from);
  const CachedObject& o = objects_[id];
  TierIndex& in = at(ordered_in_, id, kNoTier);
  if (in == o.tier) return;
  if (in != kNoTier) order_[in]->remove(id);
  order_[o.tier]->insert(id, pool_.bytes(o.option, o.full_bytes));
  in = o.tier;
}

void OrderPlacement::dropped(ObjectId id, TierIndex from) {
  settle_offer(id, from);
  TierIndex& in = at(ordered_in_, id, kNoTier);
  if (in != kNoTier) order_[in]->remove(id);
  in = kNoTier;
}

void OrderPlacement::used(ObjectId id, engine::SimTime) {
  const TierIndex in = at(ordered_in_, id, kNoTier);
  if (in != kNoTier) order_[in]->hit(id);
}

void OrderPlacement::touched(ObjectId id) {
  const TierIndex in = at(ordered_in_, id, kNoTier);
  if (in != kNoTier) order_[in]->touch(id);
}

bool OrderPlacement::promotes(ObjectId id, TierIndex to, std::int64_t, std::int64_t) {
  return fitting(id, to) == to;
}

/// It went, as offered: should it come back, nobody refused it.
void OrderPlacement::settle_offer(ObjectId id, TierIndex from) {
  if (from != kNoTier && offered_[from] == id) offered_[from] = kNoObject;
}

ObjectId OrderPlacement::victim(TierIndex tier, ObjectId incoming) {
  ObjectId& offered = offered_[tier];
  if (offered != kNoObject) {
    const ObjectId id = offered;
    offered = kNoObject;
    const bool refused = objects_[id].tier == tier && at(ordered_in_, id, kNoTier) == kNoTier;
    if (refused && at(pins_, id) == 0) return id;
    if (refused) {  // somebody reads it by now
      order_[tier]->insert(id, pool_.bytes(objects_[id].option, objects_[id].full_bytes));
      ordered_in_[id] = tier;
    }
  }
  const ObjectId id = order_[tier]->evict(Pins(pins_), incoming);
  if (id != kNoObject && id != incoming) at(ordered_in_, id, kNoTier) = kNoTier;
  return id;
}

std::optional<Change> OrderPlacement::relieve(TierIndex tier, ObjectId incoming, std::int64_t /*need_bytes*/) {
  const ObjectId id = victim(tier, incoming);
  if (id == kNoObject) return std::nullopt;
  if (id == incoming) return Change{id, kNoTier, option_};
  offered_[tier] = id;
  return Change{id, fitting(id, tiers_[tier].next), objects_[id].option};
}

}  // namespace kvsim::cache
