// Decisions carried out: room is made, objects go down, become smaller or are dropped, and their bytes follow.
#include <algorithm>
#include <utility>

#include "sim/cache/store/tiered_store.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;

/// Held objects are not chosen to make room.
void TieredStore::hold(ObjectId id) {
  if (objects_[id].tier != kNoTier) placement_->held(id);
}

void TieredStore::release(ObjectId id) {
  if (objects_[id].tier != kNoTier) placement_->released(id);
}

float TieredStore::quality_as(ObjectId id, models::OptionIndex option) const {
  return std::min(objects_[id].quality, profiled_.quality(objects_[id].curve, option));
}

/// It belongs there from now on.
void TieredStore::assign(ObjectId id, TierIndex tier, models::OptionIndex option, float quality) {
  CachedObject& o = objects_[id];
  o.tier = tier;
  o.option = option;
  o.quality = quality;
  Tier& t = tiers_[tier];
  t.assigned += bytes_of(id, option);
  t.peak = std::max(t.peak, t.assigned + t.leaving);
}

bool TieredStore::has_room(TierIndex tier, std::int64_t bytes) const {
  const Tier& t = tiers_[tier];
  return !t.capacity || t.assigned + t.leaving + bytes <= *t.capacity;
}

/// For `bytes` more that belong to the tier. What was changed for them stays changed where it was not enough.
bool TieredStore::make_room(TierIndex tier, std::int64_t bytes, ObjectId incoming) {
  if (bytes > facts_[tier].capacity_bytes) return false;
  while (tiers_[tier].capacity && tiers_[tier].assigned + bytes > facts_[tier].capacity_bytes) {
    const std::optional<Change> change =
        placement_->relieve(tier, incoming, tiers_[tier].assigned + bytes - facts_[tier].capacity_bytes);
    if (!change || waits(tier, incoming, *change) || !apply(*change)) return false;
  }
  return has_room(tier, bytes);
}

/// Others are on their way out, or becoming smaller: one of them may give way rather than what is new. It waits, as
/// long as its bytes can.
bool TieredStore::waits(TierIndex tier, ObjectId incoming, const Change& change) const {
  return change.object == incoming && tiers_[tier].leaving > 0 && !last_chance_;
}

/// False: there is no room for it to happen now.
bool TieredStore::apply(const Change& change) {
  const ObjectId id = change.object;
  const TierIndex from = objects_[id].tier;
  if (copies_[id].tier == kNoTier) return reassign(change);
  if (change.tier == kNoTier) {
    drop(id);
    return true;
  }
  const std::int64_t bytes = bytes_of(id, change.option);
  if (change.tier != from) {
    const std::size_t domain = tiers_[change.tier].domain;
    const auto known = names_[domain].find(objects_[id].key);
    if (domain != domains_[id] && known != names_[domain].end() && objects_[known->second].tier != kNoTier) {
      counts_.demotions += 1;  // it is there already
      drop(id);
      counts_.drops -= 1;
      return true;
    }
    if (!make_room(change.tier, bytes, id)) return false;
    demote(id, change);
    return true;
  }
  Transition t;  // takes the place of the larger form, and no room beside it
  t.objects = {id};
  t.source = id;
  t.from = t.to = from;
  t.option = change.option;
  t.compresses = true;
  t.source_bytes = bytes_of(id, objects_[id].option);
  t.bytes = bytes;
  const float quality = quality_as(id, change.option);
  t.leaving = t.source_bytes - bytes;
  tiers_[from].assigned -= t.source_bytes;
  tiers_[from].leaving += t.leaving;
  assign(id, from, change.option, quality);
  placement_->moved(id, from);
  counts_.recompressions += 1;
  start(std::move(t));
  return true;
}

void TieredStore::drop(ObjectId id) {
  const TierIndex from = objects_[id].tier;
  tiers_[from].assigned -= bytes_of(id, objects_[id].option);
  tiers_[from].evictions += 1;
  objects_[id].tier = kNoTier;
  objects_[id].option = 0;
  objects_[id].quality = 1;
  copies_[id] = {};
  counts_.drops += 1;
  placement_->dropped(id, from);
}

/// Room was made.
void TieredStore::demote(ObjectId id, const Change& change) {
  const CachedObject o = objects_[id];
  const TierIndex from = o.tier;
  Transition t;
  t.source = id;
  t.from = from;
  t.to = change.tier;
  t.option = change.option;
  t.compresses = change.option != o.option;
  t.source_bytes = bytes_of(id, o.option);
  t.bytes = bytes_of(id, change.option);
  const float quality = quality_as(id, change.option);
  t.leaving = t.source_bytes;
  tiers_[from].assigned -= t.source_bytes;
  tiers_[from].leaving += t.leaving;
  tiers_[from].evictions += 1;
  counts_.demotions += 1;
  counts_.recompressions += t.compresses ? 1 : 0;
  if (tiers_[t.to].domain == domains_[id]) {
    t.objects = {id};
    assign(id, t.to, t.option, quality);
    placement_->moved(id, from);
  } else {  // it goes where all replicas find it, under a name of its own
    const ObjectId there = name_at(id, t.to);
    objects_[id].tier = kNoTier;
    objects_[id].option = 0;
    objects_[id].quality = 1;
    placement_->dropped(id, from);
    t.objects = {there};
    assign(there, t.to, t.option, quality);
    placement_->moved(there, kNoTier);
  }
  start(std::move(t));
}

/// To host memory first, where it is not there yet.
void TieredStore::start(Transition transition) {
  const auto slot = transitions_.acquire();
  slot.value = std::move(transition);
  const Transition& t = slot.value;
  for (const ObjectId id : t.objects) {
    if (copies_[id].readers == 0) hold(id);
    copies_[id].moving = true;
    copies_[id].transition = slot.id;
  }
  if (t.source != kNoObject) {
    copies_[t.source].moving = true;
    copies_[t.source].transition = slot.id;
  }
  const Callback read = Callback::to<&TieredStore::on_read>(this, slot.id);
  transport::Lane* lane = nullptr;
  if (t.source == kNoObject) {
    lane = spec(t.to).kind == TierKind::gpu ? &load_lane(t.to, t.replica) : gpu_to_host_[t.replica];
  } else {
    lane = tiers_[t.from].read_down;
  }
  if (lane == nullptr) {
    simulator_.schedule_in({}, read);
    return;
  }
  const bool stores = t.source == kNoObject;
  lane->submit({.bytes = t.source_bytes,
                .on_complete = read,
                .owner = stores ? t.owner : engine::TraceSink::no_owner,  // demotions are nobody's
                .kind = stores ? "store" : "demotion"});
}

void TieredStore::on_read(std::uint64_t id) {
  const Transition& t = transitions_[id];
  if (config_.keeps_whole && t.source == kNoObject) keep_whole(t);
  const double work_s =
      t.compresses ? pool_[t.option].compress_s_per_full_byte * static_cast<double>(t.source_bytes) : 0;
  if (work_s <= 0) {
    on_compressed(id);
    return;
  }
  workers_.submit(engine::from_seconds(work_s), Callback::to<&TieredStore::on_compressed>(this, id));
}

void TieredStore::on_compressed(std::uint64_t id) {
  const Transition& t = transitions_[id];
  counts_.moved_bytes += t.bytes;
  if (!tiers_[t.to].write) {
    on_written(id);
    return;
  }
  const bool stores = t.source == kNoObject;
  tiers_[t.to].write->submit({.bytes = t.bytes,
                              .on_complete = Callback::to<&TieredStore::on_written>(this, id),
                              .owner = stores ? t.owner : engine::TraceSink::no_owner,
                              .kind = stores ? "store" : "demotion"});
}

void TieredStore::on_written(std::uint64_t id) {
  const Transition& t = transitions_[id];
  if (t.source != kNoObject) {
    copies_[t.source].moved = true;
    if (copies_[t.source].readers == 0) finish_move(id);
    return;
  }
  for (const ObjectId object : t.objects) {
    copies_[object] = {t.to, t.option, objects_[object].quality};
    release(object);
  }
  transitions_.release(id);
  retry_soon();
}

/// Nobody reads the old copy any more.
void TieredStore::finish_move(std::uint64_t id) {
  const Transition t = transitions_[id];
  transitions_.release(id);
  tiers_[t.from].leaving -= t.leaving;
  copies_[t.source] = {};
  const ObjectId object = t.objects.front();
  copies_[object] = {t.to, t.option, objects_[object].quality};
  release(object);
  retry_soon();
}

}  // namespace kvsim::cache
