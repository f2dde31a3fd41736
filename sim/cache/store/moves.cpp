#include "sim/cache/store/moves.h"

#include <algorithm>
#include <utility>

namespace kvsim::cache {

using engine::Callback;

namespace {

transport::Transfer transfer_of(const Move& move, std::int64_t bytes, Callback done) {
  const bool stores = move.source == kNoObject;
  return {.bytes = bytes,
          .on_complete = done,
          .owner = stores ? move.owner : engine::TraceSink::no_owner,  // demotions are nobody's
          .kind = stores ? "store" : "demotion"};
}

}  // namespace

WholeCopies::WholeCopies(const Tiers& tiers, const StoredObjects& objects)
    : tiers_(tiers), objects_(objects), there_(tiers.shared_domain() + 1), bytes_(tiers.size()) {}

bool WholeCopies::has(std::size_t replica, std::uint64_t key) const {
  const auto& copies = there_[tiers_.domain(tiers_.last(replica))];
  const auto at = copies.find(key);
  return at != copies.end() && at->second;
}

void WholeCopies::keep(std::size_t replica, std::span<const ObjectId> stored, TierIndex to, std::uint64_t owner) {
  if (!tiers_.config().keeps_whole) return;
  auto& copies = there_[tiers_.domain(tiers_.last(replica))];
  Write whole{replica, {}, 0, owner};
  for (const ObjectId id : stored) {
    if (!copies.emplace(objects_[id].key, false).second) continue;
    whole.keys.push_back(objects_[id].key);
    whole.bytes += objects_[id].full_bytes;
  }
  if (whole.keys.empty()) return;
  const auto slot = writes_.acquire();
  slot.value = std::move(whole);
  if (tiers_.spec(to).kind != TierKind::gpu) {
    write(slot.id);
    return;
  }
  tiers_.to_host(replica).submit({.bytes = slot.value.bytes,
                                  .on_complete = Callback::to<&WholeCopies::write>(this, slot.id),
                                  .owner = owner,
                                  .kind = "whole copy"});
}

/// It is in host memory.
void WholeCopies::write(std::uint64_t id) {
  const Write& whole = writes_[id];
  moved_bytes_ += whole.bytes;
  transport::Lane* lane = tiers_.write(tiers_.last(whole.replica));
  if (lane == nullptr) {
    on_written(id);
    return;
  }
  lane->submit({.bytes = whole.bytes,
                .on_complete = Callback::to<&WholeCopies::on_written>(this, id),
                .owner = whole.owner,
                .kind = "whole copy"});
}

void WholeCopies::on_written(std::uint64_t id) {
  const Write& whole = writes_[id];
  const TierIndex tier = tiers_.last(whole.replica);
  for (const std::uint64_t key : whole.keys) there_[tiers_.domain(tier)][key] = true;
  bytes_[tier] += whole.bytes;
  ++changes_;
  writes_.release(id);
}

Moves::Moves(engine::Simulator& simulator, const Tiers& tiers, const models::OptionPool& pool, StoredObjects& objects,
             WholeCopies& whole, Callback over)
    : simulator_(simulator),
      tiers_(tiers),
      pool_(pool),
      objects_(objects),
      whole_(whole),
      over_(over),
      workers_(simulator, std::max<std::size_t>(tiers.config().workers, 1)) {}

/// To host memory first, where it is not there yet.
void Moves::start(Move move) {
  const auto slot = moves_.acquire();
  slot.value = std::move(move);
  const Move& m = slot.value;
  const bool stores = m.source == kNoObject;
  for (const ObjectId id : m.objects) objects_.begin_move(id, slot.id);
  if (!stores && m.source != m.objects.front()) objects_.begin_move(m.source, slot.id);
  const Callback read = Callback::to<&Moves::on_read>(this, slot.id);
  transport::Lane* lane = nullptr;
  if (stores) {
    lane = tiers_.spec(m.to).kind == TierKind::gpu ? &tiers_.load(m.to, m.replica) : &tiers_.to_host(m.replica);
  } else {
    lane = tiers_.read_down(m.from);
  }
  if (lane == nullptr) {
    simulator_.schedule_in({}, read);
  } else {
    lane->submit(transfer_of(m, m.source_bytes, read));
  }
}

void Moves::on_read(std::uint64_t id) {
  const Move& m = moves_[id];
  if (m.source == kNoObject) whole_.keep(m.replica, m.objects, m.to, m.owner);
  const double work_s =
      m.compresses ? pool_[m.option].compress_s_per_full_byte * static_cast<double>(m.source_bytes) : 0;
  if (work_s <= 0) {
    on_compressed(id);
    return;
  }
  workers_.submit(engine::from_seconds(work_s), Callback::to<&Moves::on_compressed>(this, id));
}

void Moves::on_compressed(std::uint64_t id) {
  const Move& m = moves_[id];
  moved_bytes_ += m.bytes;
  transport::Lane* lane = tiers_.write(m.to);
  if (lane == nullptr) {
    on_written(id);
  } else {
    lane->submit(transfer_of(m, m.bytes, Callback::to<&Moves::on_written>(this, id)));
  }
}

void Moves::on_written(std::uint64_t id) {
  const Move& m = moves_[id];
  if (m.source != kNoObject) {
    if (objects_.end_move(m.source)) finish(id);
    return;
  }
  for (const ObjectId object : m.objects) arrive(object);
  moves_.release(id);
  over_();
}

void Moves::finish(std::uint64_t id) {
  const Move& m = moves_[id];
  objects_.room(m.from).left(m.leaving);
  objects_.erase_copy(m.source);
  arrive(m.objects.front());
  moves_.release(id);
  over_();
}

void Moves::arrive(ObjectId id) {
  objects_.put_copy(id);
  objects_.release(id);
}

}  // namespace kvsim::cache
