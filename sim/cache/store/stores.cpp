#include "sim/cache/store/stores.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/cache/eviction/chain_rules.h"

namespace kvsim::cache {

using engine::Callback;

Stores::Room Stores::make_room(TierIndex tier, std::int64_t bytes, ObjectId incoming) {
  const std::int64_t capacity = tiers_.facts()[tier].capacity_bytes;
  const TierRoom& room = objects_.room(tier);
  if (bytes > capacity) return Room::refused;
  while (room.assigned() > capacity - bytes) {
    const std::optional<Change> change =
        objects_.placement().relieve(tier, incoming, room.assigned() + bytes - capacity);
    if (!change) return Room::none;
    if (change->object == incoming && objects_[incoming].tier != tier) return Room::refused;
    if (waits(tier, incoming, *change) || !apply(*change)) return Room::none;
  }
  return room.fits(bytes) || last_chance_ ? Room::made : Room::none;
}

/// Others are on their way out, or becoming smaller: one of them may give way rather than what is new. It waits, as
/// long as its bytes can.
bool Stores::waits(TierIndex tier, ObjectId incoming, const Change& change) const {
  return change.object == incoming && objects_.room(tier).leaving() > 0 && !last_chance_;
}

/// False: there is no room for it to happen now. A tier that refuses the object is passed over.
bool Stores::apply(const Change& change) {
  const ObjectId id = change.object;
  if (objects_.copy(id).tier == kNoTier) return reassign(change);
  const TierIndex from = objects_[id].tier;
  Change to = change;
  for (; to.tier != kNoTier && to.tier != from; to.tier = tiers_.facts()[to.tier].next) {
    const ObjectId there = objects_.find(tiers_.domain(to.tier), objects_[id].key);
    if (there != kNoObject && there != id && objects_[there].tier != kNoTier) {  // another replica's
      counts_.demotions += 1;
      objects_.room(from).evicted();
      objects_.drop(id);
      return true;
    }
    const Room room = make_room(to.tier, objects_.bytes(id, to.option), id);
    if (room == Room::none) return false;
    if (room == Room::made) break;
  }
  if (to.tier == kNoTier) {
    counts_.drops += 1;
    objects_.room(from).evicted();
    objects_.drop(id);
    return true;
  }
  move(to);
  return true;
}

/// There is room where it goes. An object made smaller where it is takes the place of the larger form, and no room
/// beside it. Where all replicas find it, it has a name of its own.
void Stores::move(const Change& change) {
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
  objects_.room(m.from).leave(m.leaving);
  if (leaves) {
    objects_.room(m.from).evicted();
    counts_.demotions += 1;
  }
  counts_.recompressions += m.compresses ? 1 : 0;
  const ObjectId there = objects_.name_at(id, m.to);
  if (there != id) objects_.retract(id);
  objects_.place(there, m.to, m.option, quality);
  m.objects = {there};
  moves_.start(std::move(m));
}

/// Sends an object whose bytes have not set out yet elsewhere at once.
bool Stores::reassign(const Change& change) {
  const ObjectId id = change.object;
  const ObjectId there = change.tier == kNoTier ? id : objects_.name_at(id, change.tier);
  const bool elsewhere = there != id;
  const bool goes = change.tier != kNoTier && !(elsewhere && objects_.taken(there));  // others may have stored it there
  const bool leaves = change.tier != objects_[id].tier;
  if (goes && leaves && make_room(change.tier, objects_.bytes(id, change.option), id) != Room::made) return false;
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
Stores::Room Stores::settle(const Change& where) {
  const ObjectId id = where.object;
  const std::int64_t peak = objects_.room(where.tier).peak();
  objects_.place(id, where.tier, where.option, objects_.quality_as(id, where.option));
  fresh_.push_back(id);
  const Room room = make_room(where.tier, 0, id);
  if (room != Room::made) reassign({id, kNoTier, 0});  // had it given way itself, there would be room
  objects_.room(where.tier).settle_peak(peak);
  return room;
}

void Stores::store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
                   std::uint64_t owner) {
  store_or_wait({replica, owner, {before.begin(), before.end()}, {computed.begin(), computed.end()}});
}

void Stores::preload(std::size_t replica, std::span<const ObjectId> objects) {
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

/// Another request or another replica may have stored it.
bool Stores::is_there(ObjectId id) const {
  if (objects_.taken(id) || objects_.copy(id).moving) return true;
  const ObjectId shared = objects_.find(tiers_.shared_domain(), objects_[id].key);
  return shared != kNoObject && objects_.copy(shared).tier != kNoTier;
}

/// A chain that comes into a store, for the rules of chain_rules.h.
class Stores::Incoming {
 public:
  Incoming(Stores& stores, std::size_t replica)
      : stores_(stores), replica_(replica), weighs_(stores.objects_.placement().weighs_incoming()) {}

  bool hold(ObjectId id) {
    if (stores_.objects_[id].tier == kNoTier || stores_.objects_.copy(id).busy()) return false;
    stores_.objects_.hold(id);
    return true;
  }
  void release(ObjectId id) { stores_.objects_.release(id); }
  [[nodiscard]] const std::vector<ObjectId>& fresh() const { return stores_.fresh_; }
  void enter(ObjectId id) {
    if (!weighs_) stores_.objects_.placement().moved(id, kNoTier);
  }
  void touch(ObjectId id) {
    if (stores_.objects_[id].tier != kNoTier) stores_.objects_.placement().touched(id);
  }

  /// Puts the block into the highest tier that takes it. Where its KV can wait no longer, a tier without room is passed
  /// over.
  bool admit(ObjectId& id) {
    if (stores_.is_there(id)) return true;
    bool no_room = false;
    for (TierIndex tier = stores_.tiers_.first(replica_); tier != kNoTier; tier = stores_.tiers_.facts()[tier].next) {
      Change where = stores_.objects_.placement().place_new(id, tier);
      if (where.tier == kNoTier) break;
      tier = where.tier;
      where.object = stores_.objects_.name_at(id, tier);
      if (where.object != id && stores_.objects_.taken(where.object)) return true;
      const Room room = bring(where);
      if (room == Room::made) {
        id = where.object;
        return true;
      }
      no_room = no_room || room == Room::none;
      if (no_room && !stores_.last_chance_) return false;
    }
    if (!no_room) stores_.counts_.unstored += 1;
    return !no_room;
  }

 private:
  Room bring(const Change& where) {
    StoredObjects& objects = stores_.objects_;
    objects.computed(where.object);
    if (weighs_) return stores_.settle(where);
    const Room room = stores_.make_room(where.tier, objects.bytes(where.object, where.option), where.object);
    if (room != Room::made) return room;
    objects.enter(where.object, where.tier, where.option, objects.quality_as(where.object, where.option));
    stores_.fresh_.push_back(where.object);
    return room;
  }

  Stores& stores_;
  std::size_t replica_;
  bool weighs_;
};

/// Stores what has room; the rest is left in `objects`.
void Stores::store_some(Pending& chain) {
  last_chance_ = chain.buffered;
  fresh_.clear();
  const auto done =
      static_cast<std::ptrdiff_t>(store_chain(Incoming(*this, chain.replica), chain.before, chain.objects));
  last_chance_ = false;
  counts_.stores += fresh_.size();
  begin_stores(chain.replica, chain.owner);
  fresh_.clear();
  chain.before.insert(chain.before.end(), chain.objects.begin(), chain.objects.begin() + done);
  chain.objects.erase(chain.objects.begin(), chain.objects.begin() + done);
}

/// One transfer for all that goes to the same place as the same.
void Stores::begin_stores(std::size_t replica, std::uint64_t owner) {
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

/// A chain is over where nothing of it is left, or only the chain itself is in its way.
bool Stores::is_over(const Pending& chain) {
  if (chain.objects.empty()) return true;
  if (!chain.buffered) return false;
  const bool others = moves_.under_way() || loads_.under_way();
  for (TierIndex tier = tiers_.first(chain.replica); others && tier != kNoTier; tier = tiers_.facts()[tier].next) {
    std::int64_t of_others = objects_.room(tier).assigned();
    for (const ObjectId id : chain.before) {
      if (objects_[id].tier == tier) of_others -= objects_.bytes(id, objects_[id].option);
    }
    if (of_others > 0) return false;
  }
  for (const ObjectId id : chain.objects) counts_.unstored += is_there(id) ? 0 : 1;
  return true;
}

/// A chain waits where something of it is left. Chains in a bounce buffer come before chains that were computed later
/// and share a tier with them.
void Stores::store_or_wait(Pending chain) {
  const bool its_turn = std::none_of(pending_.begin(), pending_.end(), [&](const Pending& earlier) {
    return earlier.buffered && tiers_.last(earlier.replica) == tiers_.last(chain.replica);
  });
  if (its_turn) store_some(chain);
  if (!its_turn || !is_over(chain)) pending_.push_back(std::move(chain));
}

void Stores::withdraw(std::uint64_t owner) {
  std::deque<Pending> waiting = std::exchange(pending_, {});
  for (Pending& p : waiting) {
    if (p.owner != owner || p.buffered) {
      pending_.push_back(std::move(p));
    } else {
      p.buffered = true;
      store_or_wait(std::move(p));
    }
  }
}

void Stores::retry_soon() {
  if (pending_.empty() || retry_planned_) return;
  retry_planned_ = true;
  simulator_.schedule_in({}, Callback::to<&Stores::retry_stores>(this));
}

void Stores::retry_stores() {
  retry_planned_ = false;
  std::deque<Pending> waiting = std::exchange(pending_, {});
  for (Pending& p : waiting) store_or_wait(std::move(p));
}

}  // namespace kvsim::cache
