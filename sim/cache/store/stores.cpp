// Room is made for what was computed, and it is stored: what the placement decides is carried out, bytes set out or
// wait.
#include <algorithm>
#include <utility>

#include "sim/cache/store/tiered_store.h"

namespace kvsim::cache {

using engine::Callback;

/// For `bytes` more that belong to the tier. What was changed for them stays changed where it was not enough.
bool TieredStore::make_room(TierIndex tier, std::int64_t bytes, ObjectId incoming) {
  const std::int64_t capacity = tiers_.facts()[tier].capacity_bytes;
  const TierRoom& room = objects_.room(tier);
  if (bytes > capacity) return false;
  while (room.assigned() > capacity - bytes) {
    const std::optional<Change> change =
        objects_.placement().relieve(tier, incoming, room.assigned() + bytes - capacity);
    if (!change || waits(tier, incoming, *change) || !apply(*change)) return false;
  }
  return room.fits(bytes);
}

/// Others are on their way out, or becoming smaller: one of them may give way rather than what is new. It waits, as
/// long as its bytes can.
bool TieredStore::waits(TierIndex tier, ObjectId incoming, const Change& change) const {
  return change.object == incoming && objects_.room(tier).leaving() > 0 && !last_chance_;
}

/// False: there is no room for it to happen now.
bool TieredStore::apply(const Change& change) {
  const ObjectId id = change.object;
  if (objects_.copy(id).tier == kNoTier) return reassign(change);
  const TierIndex from = objects_[id].tier;
  const bool leaves = change.tier != from;
  bool there_already = false;  // another replica's
  if (leaves && change.tier != kNoTier) {
    const ObjectId there = objects_.find(tiers_.domain(change.tier), objects_[id].key);
    there_already = there != kNoObject && there != id && objects_[there].tier != kNoTier;
  }
  if (change.tier == kNoTier || there_already) {
    (there_already ? counts_.demotions : counts_.drops) += 1;
    objects_.evicted(from);
    objects_.drop(id);
    return true;
  }
  if (leaves && !make_room(change.tier, objects_.bytes(id, change.option), id)) return false;
  move(change);
  return true;
}

/// There is room where it goes. What becomes smaller where it is takes the place of the larger form, and no room beside
/// it; where all replicas find it, it has a name of its own.
void TieredStore::move(const Change& change) {
  const ObjectId id = change.object;
  const CachedObject& o = objects_[id];
  const bool leaves = change.tier != o.tier;
  Move m;
  m.source = id;
  m.from = o.tier;
  m.to = change.tier;
  m.option = change.option;
  m.compresses = !leaves || change.option != o.option;
  m.source_bytes = objects_.bytes(id, o.option);
  m.bytes = objects_.bytes(id, change.option);
  m.leaving = m.source_bytes - (leaves ? 0 : m.bytes);
  const float quality = objects_.quality_as(id, change.option);
  objects_.leave(m.from, m.leaving);
  if (leaves) {
    objects_.evicted(m.from);
    counts_.demotions += 1;
  }
  counts_.recompressions += m.compresses ? 1 : 0;
  const ObjectId there = objects_.name_at(id, m.to);
  if (there != id) objects_.retract(id);
  objects_.place(there, m.to, m.option, quality);
  m.objects = {there};
  moves_.start(std::move(m));
}

/// Of an object whose bytes have not set out yet: it goes elsewhere at once.
bool TieredStore::reassign(const Change& change) {
  const ObjectId id = change.object;
  const ObjectId there = change.tier == kNoTier ? id : objects_.name_at(id, change.tier);
  const bool elsewhere = there != id;
  const bool goes = change.tier != kNoTier && !(elsewhere && objects_.taken(there));  // others may have stored it there
  const bool leaves = change.tier != objects_[id].tier;
  if (goes && leaves && !make_room(change.tier, objects_.bytes(id, change.option), id)) return false;
  const float quality = objects_.quality_as(id, change.option);
  if (!goes || elsewhere) {
    objects_.retract(id);
    std::erase(fresh_, id);
  }
  if (!goes) return true;
  objects_.place(there, change.tier, change.option, quality);
  if (elsewhere) fresh_.push_back(there);
  return true;
}

/// A new object belongs to a tier, which may then hold too much: it is one of those that may have to give way.
bool TieredStore::settle(const Change& where) {
  const ObjectId id = where.object;
  const std::int64_t peak = objects_.room(where.tier).peak();
  objects_.place(id, where.tier, where.option, objects_.quality_as(id, where.option));
  fresh_.push_back(id);
  const bool room = make_room(where.tier, 0, id);
  objects_.settle_peak(where.tier, peak);
  if (!room) reassign({id, kNoTier, 0});  // had it given way itself, there would be room
  return room;
}

void TieredStore::store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
                        std::uint64_t owner) {
  Pending chain{replica, owner, {before.begin(), before.end()}, {}};
  for (const ObjectId id : computed) {
    if (objects_.taken(id)) continue;
    const ObjectId shared = objects_.find(tiers_.shared_domain(), objects_[id].key);
    if (shared != kNoObject && objects_.copy(shared).tier != kNoTier) continue;
    chain.objects.push_back(id);
  }
  store_chain(chain);
  if (!chain.objects.empty()) pending_.push_back(std::move(chain));
}

void TieredStore::preload(std::size_t replica, std::span<const ObjectId> objects) {
  std::vector<Change> placed;
  std::vector<std::int64_t> taken(tiers_.size());
  for (std::size_t i = 0; i < tiers_.size(); ++i) taken[i] = objects_.room(static_cast<TierIndex>(i)).assigned();
  for (const ObjectId id : objects) {
    Change where = objects_.placement().place_new(id, tiers_.first(replica));
    const std::int64_t bytes = objects_.bytes(id, where.option);
    while (where.tier != kNoTier && taken[where.tier] > tiers_.facts()[where.tier].capacity_bytes - bytes) {
      where.tier = tiers_.facts()[where.tier].next;
    }
    if (where.tier == kNoTier) continue;
    where.object = objects_.name_at(id, where.tier);
    if (objects_.copy(where.object).tier != kNoTier) continue;  // another replica's, in a tier that both share
    taken[where.tier] += bytes;
    placed.push_back(where);
  }
  for (std::size_t i = placed.size(); i-- > 0;) {  // the most wanted is the most recent
    const auto [id, tier, option] = placed[i];
    objects_.place(id, tier, option, profiled_.quality(objects_[id].curve, option));
    objects_.put_copy(id);
  }
}

/// What the chain begins with stays while room is made for the rest, and stays more recent. What finds no room is left
/// in `objects`.
void TieredStore::store_chain(Pending& chain) {
  std::vector<ObjectId> kept;
  for (const ObjectId id : chain.before) {
    if (objects_[id].tier == kNoTier || objects_.copy(id).busy()) continue;
    objects_.hold(id);
    kept.push_back(id);
  }
  const auto done = static_cast<std::ptrdiff_t>(store_some(chain.replica, chain.objects, chain.owner));
  for (const ObjectId id : kept) objects_.release(id);
  for (std::size_t i = chain.before.size(); i-- > 0;) {
    if (objects_[chain.before[i]].tier != kNoTier) objects_.placement().touched(chain.before[i]);
  }
  chain.before.insert(chain.before.end(), chain.objects.begin(), chain.objects.begin() + done);
  chain.objects.erase(chain.objects.begin(), chain.objects.begin() + done);
}

void TieredStore::store_again(std::size_t replica, ObjectId computed) {
  constexpr std::uint64_t kNobody = UINT64_MAX;
  const Found copy = find(replica, objects_[computed].key);
  if (copy.id != kNoObject) {
    if (objects_.copy(copy.id).busy()) return;
    objects_.drop(copy.id);  // it makes room for nobody
  }
  store(replica, std::span(&computed, 1), {}, kNobody);
  withdraw(kNobody);
}

/// In order, until one finds no room; returns how many are done with. The first object of a chain comes in last and is
/// the most recent one.
std::size_t TieredStore::store_some(std::size_t replica, std::span<const ObjectId> objects, std::uint64_t owner) {
  const bool weighs = objects_.placement().weighs_incoming();
  std::size_t done = 0;
  fresh_.clear();
  for (; done < objects.size(); ++done) {
    const ObjectId id = objects[done];
    // Another request may have stored it meanwhile.
    if (objects_.taken(id) || objects_.copy(id).moving) continue;
    const Change where = objects_.placement().place_new(id, tiers_.first(replica));
    if (where.tier == kNoTier) {
      counts_.unstored += 1;
      continue;
    }
    const ObjectId there = objects_.name_at(id, where.tier);
    if (there != id && objects_.taken(there)) continue;
    objects_.computed(there);
    if (weighs) {
      if (!settle({there, where.tier, where.option})) break;
      continue;
    }
    if (!make_room(where.tier, objects_.bytes(id, where.option), there)) break;
    objects_.enter(there, where.tier, where.option, objects_.quality_as(there, where.option));
    fresh_.push_back(there);
  }
  for (std::size_t i = weighs ? 0 : fresh_.size(); i-- > 0;) objects_.entered(fresh_[i]);
  counts_.stores += fresh_.size();
  begin_stores(replica, owner);
  fresh_.clear();
  return done;
}

/// One transfer for all that goes to the same place as the same.
void TieredStore::begin_stores(std::size_t replica, std::uint64_t owner) {
  std::vector<Move> groups;
  for (const ObjectId id : fresh_) {
    const CachedObject& o = objects_[id];
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Move& m) { return m.to == o.tier && m.option == o.option; });
    if (group == groups.end()) {
      Move m;
      m.to = o.tier;
      m.option = o.option;
      m.compresses = o.option != 0 && tiers_.spec(o.tier).kind != TierKind::gpu;
      m.replica = replica;
      m.owner = owner;
      group = groups.insert(groups.end(), std::move(m));
    }
    group->objects.push_back(id);
    group->source_bytes += o.full_bytes;
    group->bytes += objects_.bytes(id, o.option);
  }
  for (Move& m : groups) moves_.start(std::move(m));
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
