// Loads: what is found crosses the links once for all of a replica's requests that wait for it, and may belong to a
// higher tier afterwards.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cache/store/tiered_store.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;

namespace {

std::uint64_t way_of(ObjectId id, std::size_t replica) {
  return std::uint64_t{id} << 32U | static_cast<std::uint64_t>(replica);
}

}  // namespace

void TieredStore::load(std::size_t replica, std::span<const ObjectId> found, std::uint64_t owner, Callback done) {
  const std::uint64_t load = loads_.acquire().id;
  loads_[load] = {0, done};
  Begun begun;
  for (const ObjectId id : found) {
    const auto way = on_their_way_.find(way_of(id, replica));
    if (way != on_their_way_.end()) {
      counts_.joined_loads += 1;
      join(way->second, load);
      continue;
    }
    const Copy& copy = copies_[id];
    KVSIM_ALWAYS(copy.tier != kNoTier, "an object is loaded that is not stored");
    const std::uint64_t batch = batch_of(begun, copy.tier, replica, load, false);
    Batch& b = batches_[batch];
    b.objects.push_back(id);
    b.bytes += bytes_of(id, copy.option);
    on_their_way_.emplace(way_of(id, replica), batch);
    counts_.loads += 1;
    read(id);
  }
  KVSIM_ALWAYS(loads_[load].pending > 0, "a load of nothing");
  submit(begun, replica, owner, "load");
}

std::uint64_t TieredStore::batch_of(Begun& begun, TierIndex tier, std::size_t replica, std::uint64_t load,
                                    bool lacking) {
  const auto known = std::find_if(begun.begin(), begun.end(), [&](const auto& b) { return b.first == tier; });
  if (known != begun.end()) return known->second;
  const auto slot = batches_.acquire();
  slot.value.tier = tier;
  slot.value.replica = replica;
  slot.value.bytes = 0;
  slot.value.since = simulator_.now();
  slot.value.objects.clear();
  slot.value.loads.clear();
  slot.value.lacking = lacking;
  begun.emplace_back(tier, slot.id);
  join(slot.id, load);
  return slot.id;
}

/// It stays until end_read().
void TieredStore::read(ObjectId id) {
  Copy& copy = copies_[id];
  if (copy.readers++ == 0 && !copy.moving) hold(id);
}

void TieredStore::submit(const Begun& begun, std::size_t replica, std::uint64_t owner, const char* kind) {
  for (const auto& [tier, batch] : begun) {
    load_lane(tier, replica)
        .submit({.bytes = batches_[batch].bytes,
                 .on_complete = Callback::to<&TieredStore::on_batch>(this, batch),
                 .owner = owner,
                 .kind = kind});
  }
}

void TieredStore::join(std::uint64_t batch, std::uint64_t load) {
  std::vector<std::uint64_t>& waiting = batches_[batch].loads;
  if (!waiting.empty() && waiting.back() == load) return;
  waiting.push_back(load);
  loads_[load].pending += 1;
}

void TieredStore::on_batch(std::uint64_t id) {
  const Batch b = batches_[id];
  batches_.release(id);
  observe(b.tier, static_cast<double>(b.bytes), (simulator_.now() - b.since).seconds());
  for (const ObjectId object : b.objects) {
    if (!b.lacking) on_their_way_.erase(way_of(object, b.replica));
  }
  for (const ObjectId object : b.objects) end_read(object);
  // A chain's first object last, so that it is the most recent one.
  for (std::size_t i = b.lacking ? 0 : b.objects.size(); i-- > 0;) consider_promotion(b.objects[i], b.replica);
  for (const std::uint64_t load : b.loads) {
    if (--loads_[load].pending > 0) continue;
    const Callback done = loads_[load].done;
    loads_.release(load);
    done();
  }
}

/// What loads got lately, their waiting included: the mean over some twenty of them.
void TieredStore::observe(TierIndex tier, double bytes, double seconds) {
  if (!config_.observed_bandwidth) return;
  constexpr double kPast = 0.95;
  constexpr double kNoticed = 0.1;       // share by which it must have changed
  constexpr double kBetweenLooks_s = 1;  // new beliefs cost a look at every object
  Tier& t = tiers_[tier];
  const double transfer_s = seconds - facts_[tier].read_latency_s;
  if (bytes <= 0 || transfer_s <= 0) return;
  const double rate = bytes / transfer_s;
  t.observed_bytes_per_s = t.observed_bytes_per_s > 0 ? kPast * t.observed_bytes_per_s + (1 - kPast) * rate : rate;
  const double believed = facts_[tier].read_bytes_per_s;
  if (std::abs(t.observed_bytes_per_s - believed) <= kNoticed * believed) return;
  if ((simulator_.now() - believed_at_).seconds() < kBetweenLooks_s) return;
  believed_at_ = simulator_.now();
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    if (tiers_[i].observed_bytes_per_s > 0) facts_[i].read_bytes_per_s = tiers_[i].observed_bytes_per_s;
  }
  placement_->tiers_changed();
}

void TieredStore::end_read(ObjectId id) {
  Copy& copy = copies_[id];
  KVSIM_ALWAYS(copy.readers > 0, "an object was read that nobody reads");
  if (--copy.readers > 0) return;
  if (copy.moved) {
    finish_move(copy.transition);
  } else if (!copy.moving) {
    release(id);
    retry_soon();
  }
}

/// It is on the replica now, and passed through host memory on its way.
void TieredStore::consider_promotion(ObjectId id, std::size_t replica) {
  const Copy& copy = copies_[id];
  if (copy.readers > 0 || copy.moving || objects_[id].tier == kNoTier) return;
  const std::int64_t bytes = bytes_of(id, copy.option);
  for (TierIndex to = first_tier_[replica]; to != copy.tier; to = facts_[to].next) {
    const std::int64_t capacity = facts_[to].capacity_bytes;
    if (bytes > capacity || !placement_->promotes(id, to, bytes, capacity - tiers_[to].assigned)) continue;
    promote(id, replica, to);
    return;
  }
}

bool TieredStore::promote(ObjectId id, std::size_t replica, TierIndex to) {
  const TierIndex from = copies_[id].tier;
  const bool copies = tiers_[from].domain != tiers_[to].domain;  // others may read the shared one
  ObjectId there = id;
  if (copies) {
    const CachedObject o = objects_[id];
    there = name_in(domain_of(replica), o);
    if (objects_[there].tier != kNoTier || copies_[there].tier != kNoTier) return false;
    placement_->renamed(id, there);
  }
  const models::OptionIndex option = copies_[id].option;
  const std::int64_t bytes = bytes_of(id, option);
  hold(id);  // what makes room further down must not be this
  const bool room = make_room(to, bytes, there);
  release(id);
  if (!room) return false;
  if (!copies) tiers_[from].assigned -= bytes;
  assign(there, to, option, copies_[id].quality);
  Copy& copy = copies_[there];
  copy.tier = to;
  copy.option = option;
  copy.quality = objects_[there].quality;
  placement_->moved(there, copies ? kNoTier : from);
  counts_.promotions += 1;
  return true;
}

// Whole copies of what is stored compressed: written to the last tier once, when an object is first stored, and read
// where a compressed copy is not enough. The last tier is without end, so that nothing there gives way.

TierIndex TieredStore::last_tier(std::size_t replica) const {
  TierIndex tier = first_tier_[replica];
  while (facts_[tier].next != kNoTier) tier = facts_[tier].next;
  return tier;
}

bool TieredStore::has_whole(std::size_t replica, std::uint64_t key) const {
  const WholeCopies& copies = whole_[tiers_[last_tier(replica)].domain];
  const auto at = copies.find(key);
  return at != copies.end() && at->second;
}

/// What is stored has left the GPU: from host memory it also goes to the last tier as it is, but for what is there.
void TieredStore::keep_whole(const Transition& stored) {
  WholeCopies& copies = whole_[tiers_[last_tier(stored.replica)].domain];
  WholeWrite write;
  write.replica = stored.replica;
  write.owner = stored.owner;
  for (const ObjectId id : stored.objects) {
    if (!copies.emplace(objects_[id].key, false).second) continue;
    write.keys.push_back(objects_[id].key);
    write.bytes += objects_[id].full_bytes;
  }
  if (write.keys.empty()) return;
  const auto slot = whole_writes_.acquire();
  slot.value = std::move(write);
  if (spec(stored.to).kind != TierKind::gpu) {
    write_whole(slot.id);
    return;
  }
  gpu_to_host_[slot.value.replica]->submit({.bytes = slot.value.bytes,
                                            .on_complete = Callback::to<&TieredStore::write_whole>(this, slot.id),
                                            .owner = slot.value.owner,
                                            .kind = "whole copy"});
}

void TieredStore::write_whole(std::uint64_t id) {
  const WholeWrite& write = whole_writes_[id];
  const TierIndex tier = last_tier(write.replica);
  counts_.moved_bytes += write.bytes;
  if (!tiers_[tier].write) {
    on_whole(id);
    return;
  }
  tiers_[tier].write->submit({.bytes = write.bytes,
                              .on_complete = Callback::to<&TieredStore::on_whole>(this, id),
                              .owner = write.owner,
                              .kind = "whole copy"});
}

void TieredStore::on_whole(std::uint64_t id) {
  const WholeWrite& write = whole_writes_[id];
  const TierIndex tier = last_tier(write.replica);
  for (const std::uint64_t key : write.keys) whole_[tiers_[tier].domain][key] = true;
  whole_bytes_[tier] += write.bytes;
  whole_writes_.release(id);
}

void TieredStore::load_missing(std::size_t replica, std::span<const Missing> missing, std::uint64_t owner,
                               Callback done) {
  const std::uint64_t load = loads_.acquire().id;
  loads_[load] = {0, done};
  Begun begun;
  for (const auto& [found, bytes] : missing) {
    const std::uint64_t key = objects_[found].key;
    const Found now = find(replica, key);
    const bool placed = now.id != kNoObject && now.option == 0;
    KVSIM_ALWAYS(placed || has_whole(replica, key), "a verification asks for KV that is whole nowhere");
    const TierIndex tier = placed ? copies_[now.id].tier : last_tier(replica);
    Batch& b = batches_[batch_of(begun, tier, replica, load, true)];
    b.bytes += bytes;
    counts_.whole_loads += 1;
    counts_.whole_bytes += bytes;
    if (!placed) continue;
    b.objects.push_back(now.id);
    read(now.id);
  }
  KVSIM_ALWAYS(loads_[load].pending > 0, "a load of nothing");
  submit(begun, replica, owner, "for verification");
}

}  // namespace kvsim::cache
