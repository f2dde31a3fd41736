// What was computed is stored: where it belongs is decided, room is made, its bytes set out or wait.
#include <algorithm>
#include <utility>

#include "sim/cache/store/tiered_store.h"

namespace kvsim::cache {

using engine::Callback;

/// Of an object whose bytes have not set out yet: it goes elsewhere at once.
bool TieredStore::reassign(const Change& change) {
  const ObjectId id = change.object;
  const CachedObject o = objects_[id];
  const std::int64_t bytes = bytes_of(id, change.option);
  const ObjectId there = change.tier == kNoTier ? id : name_at(id, change.tier);
  const bool elsewhere = there != id;
  const bool known = elsewhere && (objects_[there].tier != kNoTier || copies_[there].tier != kNoTier);
  const bool goes = change.tier != kNoTier && !known;  // what others have stored there is not stored again
  if (goes && change.tier != o.tier && !make_room(change.tier, bytes, id)) return false;
  const float quality = quality_as(id, change.option);
  tiers_[o.tier].assigned -= bytes_of(id, o.option);
  if (!goes || elsewhere) {
    objects_[id].tier = kNoTier;
    objects_[id].option = 0;
    objects_[id].quality = 1;
    placement_->dropped(id, o.tier);
    std::erase(fresh_, id);
  }
  if (!goes) return true;
  assign(there, change.tier, change.option, quality);
  placement_->moved(there, elsewhere ? kNoTier : o.tier);
  if (elsewhere) fresh_.push_back(there);
  return true;
}

/// A new object belongs to a tier, which may then hold too much: it is one of those that may have to give way.
bool TieredStore::settle(const Change& where) {
  const ObjectId id = where.object;
  Tier& tier = tiers_[where.tier];
  const std::int64_t peak = tier.peak;
  assign(id, where.tier, where.option, quality_as(id, where.option));
  placement_->moved(id, kNoTier);
  fresh_.push_back(id);
  const bool room = make_room(where.tier, 0, id);
  tier.peak = std::max(peak, std::min(tier.assigned + tier.leaving, tier.capacity.value_or(INT64_MAX)));
  if (room) return true;
  reassign({id, kNoTier, 0});  // had it given way itself, there would be room
  return false;
}

void TieredStore::store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
                        std::uint64_t owner) {
  Pending chain{replica, owner, {before.begin(), before.end()}, {}};
  for (const ObjectId id : computed) {
    if (objects_[id].tier != kNoTier || copies_[id].tier != kNoTier) continue;
    const auto shared = names_[shared_domain_].find(objects_[id].key);
    if (shared != names_[shared_domain_].end() && copies_[shared->second].tier != kNoTier) continue;
    chain.objects.push_back(id);
  }
  store_chain(chain);
  if (!chain.objects.empty()) pending_.push_back(std::move(chain));
}

void TieredStore::preload(std::size_t replica, std::span<const ObjectId> objects) {
  std::vector<Change> placed;
  std::vector<std::int64_t> taken(tiers_.size());
  for (std::size_t i = 0; i < tiers_.size(); ++i) taken[i] = tiers_[i].assigned;
  for (const ObjectId id : objects) {
    Change where = placement_->place_new(id, first_tier_[replica]);
    const std::int64_t bytes = bytes_of(id, where.option);
    while (where.tier != kNoTier && taken[where.tier] > facts_[where.tier].capacity_bytes - bytes) {
      where.tier = facts_[where.tier].next;
    }
    if (where.tier == kNoTier) continue;
    where.object = name_at(id, where.tier);
    if (copies_[where.object].tier != kNoTier) continue;  // another replica's, in a tier that both share
    taken[where.tier] += bytes;
    placed.push_back(where);
  }
  for (std::size_t i = placed.size(); i-- > 0;) {  // the most wanted is the most recent
    const auto [id, tier, option] = placed[i];
    assign(id, tier, option, profiled_.quality(objects_[id].curve, option));
    Copy& copy = copies_[id];
    copy.tier = tier;
    copy.option = option;
    copy.quality = objects_[id].quality;
    placement_->moved(id, kNoTier);
  }
}

/// What the chain begins with stays while room is made for the rest, and stays more recent. What finds no room is left
/// in `objects`.
void TieredStore::store_chain(Pending& chain) {
  std::vector<ObjectId> kept;
  for (const ObjectId id : chain.before) {
    if (objects_[id].tier == kNoTier || copies_[id].readers > 0 || copies_[id].moving) continue;
    hold(id);
    kept.push_back(id);
  }
  const auto done = static_cast<std::ptrdiff_t>(store_some(chain.replica, chain.objects, chain.owner));
  for (const ObjectId id : kept) release(id);
  for (std::size_t i = chain.before.size(); i-- > 0;) {
    if (objects_[chain.before[i]].tier != kNoTier) placement_->touched(chain.before[i]);
  }
  chain.before.insert(chain.before.end(), chain.objects.begin(), chain.objects.begin() + done);
  chain.objects.erase(chain.objects.begin(), chain.objects.begin() + done);
}

/// What it is called in that tier: by a name that all replicas know, where they share it.
ObjectId TieredStore::name_at(ObjectId id, TierIndex tier) {
  if (tiers_[tier].domain == domains_[id]) return id;
  const CachedObject o = objects_[id];
  const ObjectId there = name_in(tiers_[tier].domain, o);
  placement_->renamed(id, there);
  return there;
}

void TieredStore::store_again(std::size_t replica, ObjectId computed) {
  constexpr std::uint64_t kNobody = UINT64_MAX;
  const Found copy = find(replica, objects_[computed].key);
  if (copy.id != kNoObject) {
    if (copies_[copy.id].readers > 0 || copies_[copy.id].moving) return;
    tiers_[objects_[copy.id].tier].evictions -= 1;  // it makes room for nobody
    counts_.drops -= 1;
    drop(copy.id);
  }
  store(replica, std::span(&computed, 1), {}, kNobody);
  withdraw(kNobody);
}

/// In order, until one finds no room; returns how many are done with. The first object of a chain comes in last and is
/// the most recent one.
std::size_t TieredStore::store_some(std::size_t replica, std::span<const ObjectId> objects, std::uint64_t owner) {
  std::size_t done = 0;
  fresh_.clear();
  for (; done < objects.size(); ++done) {
    const ObjectId id = objects[done];
    // Another request may have stored it meanwhile.
    if (objects_[id].tier != kNoTier || copies_[id].tier != kNoTier || copies_[id].moving) continue;
    const Change where = placement_->place_new(id, first_tier_[replica]);
    if (where.tier == kNoTier) {
      counts_.unstored += 1;
      continue;
    }
    const ObjectId there = name_at(id, where.tier);
    if (there != id && (objects_[there].tier != kNoTier || copies_[there].tier != kNoTier)) continue;
    objects_[there].quality = 1;
    if (placement_->weighs_incoming()) {
      if (!settle({there, where.tier, where.option})) break;
      continue;
    }
    if (!make_room(where.tier, bytes_of(id, where.option), there)) break;
    assign(there, where.tier, where.option, quality_as(there, where.option));
    fresh_.push_back(there);
  }
  if (!placement_->weighs_incoming()) {
    for (std::size_t i = fresh_.size(); i-- > 0;) placement_->moved(fresh_[i], kNoTier);
  }
  counts_.stores += fresh_.size();
  begin_stores(replica, fresh_, owner);
  fresh_.clear();
  return done;
}

/// One transfer for all that goes to the same place as the same.
void TieredStore::begin_stores(std::size_t replica, std::span<const ObjectId> objects, std::uint64_t owner) {
  std::vector<Transition> groups;
  for (const ObjectId id : objects) {
    const CachedObject& o = objects_[id];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Transition& t) { return t.to == o.tier && t.option == o.option; });
    if (group == groups.end()) {
      Transition t;
      t.to = o.tier;
      t.option = o.option;
      t.compresses = o.option != 0 && spec(o.tier).kind != TierKind::gpu;
      t.replica = replica;
      t.owner = owner;
      group = groups.insert(groups.end(), std::move(t));
    }
    group->objects.push_back(id);
    group->source_bytes += o.full_bytes;
    group->bytes += bytes_of(id, o.option);
  }
  for (Transition& t : groups) start(std::move(t));
}

void TieredStore::withdraw(std::uint64_t owner) {
  for (Pending& p : pending_) {
    if (p.owner != owner) continue;
    last_chance_ = true;
    store_chain(p);
    last_chance_ = false;
  }
  std::erase_if(pending_, [&](const Pending& p) {
    if (p.owner == owner) counts_.unstored += p.objects.size();
    return p.owner == owner;
  });
}

void TieredStore::retry_soon() {
  if (pending_.empty() || retry_planned_) return;
  retry_planned_ = true;
  simulator_.schedule_in({}, Callback::to<&TieredStore::retry_stores>(this));
}

void TieredStore::retry_stores() {
  retry_planned_ = false;
  std::deque<Pending> waiting = std::exchange(pending_, {});
  for (Pending& p : waiting) {
    store_chain(p);
    if (!p.objects.empty()) pending_.push_back(std::move(p));
  }
}

}  // namespace kvsim::cache
