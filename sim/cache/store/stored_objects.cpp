#include "sim/cache/store/stored_objects.h"

#include "sim/engine/invariant.h"

namespace kvsim::cache {

StoredObjects::StoredObjects(const Tiers& tiers, const models::OptionPool& pool, const models::QualityTable& profiled,
                             const MakePlacement& make_placement)
    : tiers_(tiers), pool_(pool), profiled_(profiled), names_(tiers.shared_domain() + 1) {
  for (TierIndex tier = 0; tier < tiers.size(); ++tier) rooms_.emplace_back(tiers.spec(tier).capacity_bytes);
  placement_ = make_placement(table_, tiers.facts());
}

ObjectId StoredObjects::find(std::size_t domain, std::uint64_t key) const {
  const auto at = names_[domain].find(key);
  return at == names_[domain].end() ? kNoObject : at->second;
}

ObjectId StoredObjects::name_in(std::size_t domain, const CachedObject& like) {
  const auto [at, is_new] = names_[domain].try_emplace(like.key, static_cast<ObjectId>(table_.size()));
  if (is_new) {
    KVSIM_ALWAYS(table_.size() < kNoObject, "too many objects");
    CachedObject o = like;
    o.tier = kNoTier;
    o.option = 0;
    o.quality = 1;
    table_.push_back(o);
    copies_.emplace_back();
    domains_.push_back(domain);
  }
  return at->second;
}

ObjectId StoredObjects::name_at(ObjectId id, TierIndex tier) {
  if (tiers_.domain(tier) == domains_[id]) return id;
  const ObjectId there = name_in(tiers_.domain(tier), table_[id]);
  placement_->renamed(id, there);
  return there;
}

void StoredObjects::place(ObjectId id, TierIndex tier, models::OptionIndex option, float quality) {
  const TierIndex from = table_[id].tier;
  if (from != kNoTier) rooms_[from].unassign(bytes(id, table_[id].option));
  enter(id, tier, option, quality);
  placement_->moved(id, from);
}

void StoredObjects::enter(ObjectId id, TierIndex tier, models::OptionIndex option, float quality) {
  CachedObject& o = table_[id];
  o.tier = tier;
  o.option = option;
  o.quality = quality;
  rooms_[tier].assign(bytes(id, option));
}

void StoredObjects::retract(ObjectId id) {
  CachedObject& o = table_[id];
  const TierIndex from = o.tier;
  rooms_[from].unassign(bytes(id, o.option));
  o.tier = kNoTier;
  o.option = 0;
  o.quality = 1;
  placement_->dropped(id, from);
}

void StoredObjects::drop(ObjectId id) {
  erase_copy(id);
  retract(id);
}

void StoredObjects::hold(ObjectId id) {
  if (table_[id].tier != kNoTier) placement_->held(id);
}

void StoredObjects::release(ObjectId id) {
  if (table_[id].tier != kNoTier) placement_->released(id);
}

void StoredObjects::begin_read(ObjectId id) {
  StoredCopy& copy = copies_[id];
  if (copy.readers++ == 0 && !copy.moving) hold(id);
}

bool StoredObjects::end_read(ObjectId id) {
  StoredCopy& copy = copies_[id];
  KVSIM_ALWAYS(copy.readers > 0, "an object was read that nobody reads");
  return --copy.readers == 0;
}

void StoredObjects::begin_move(ObjectId id, std::uint64_t move) {
  StoredCopy& copy = copies_[id];
  if (copy.readers == 0) hold(id);
  copy.moving = true;
  copy.move = move;
}

bool StoredObjects::end_move(ObjectId id) {
  copies_[id].moved = true;
  return copies_[id].readers == 0;
}

void StoredObjects::profile_changed(models::CurveIndex curve, std::uint64_t key) {
  for (std::size_t domain = 0; domain < names_.size(); ++domain) {
    const ObjectId id = find(domain, key);
    if (id == kNoObject) continue;
    CachedObject& o = table_[id];
    o.quality = profiled_.quality(o.curve, o.option);
    copies_[id].quality = profiled_.quality(o.curve, copies_[id].option);
  }
  ++changes_;
  placement_->profile_changed(curve);
}

void StoredObjects::check_conservation() const {
  std::vector<std::int64_t> assigned(rooms_.size()), leaving(rooms_.size());
  for (ObjectId id = 0; id < table_.size(); ++id) {
    const CachedObject& o = table_[id];
    const StoredCopy& c = copies_[id];
    if (o.tier != kNoTier) assigned[o.tier] += bytes(id, o.option);
    if (c.tier != kNoTier) leaving[c.tier] += bytes(id, c.option) - (c.tier == o.tier ? bytes(id, o.option) : 0);
    KVSIM_ALWAYS(c.moving || (c.tier == o.tier && c.option == o.option),
                 "an object is not where it belongs, and nothing moves it");
  }
  for (std::size_t i = 0; i < rooms_.size(); ++i) {
    KVSIM_ALWAYS(assigned[i] == rooms_[i].assigned(), "bytes that belong to a tier differ from the sum over objects");
    KVSIM_ALWAYS(leaving[i] == rooms_[i].leaving(), "bytes that leave a tier differ from the sum over objects");
    KVSIM_ALWAYS(!rooms_[i].over_committed(), "more belongs to a tier than its capacity");
  }
}

}  // namespace kvsim::cache
