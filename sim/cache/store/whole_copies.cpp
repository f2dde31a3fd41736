// Whole copies of what is stored compressed: written to the last tier once, when an object is first stored, and read
// where a compressed copy is not enough. The last tier is without end, so that nothing there gives way.
#include <utility>

#include "sim/cache/store/tiered_store.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;

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
  network_.submit(gpu_to_host_[slot.value.replica],
                  {.bytes = slot.value.bytes,
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
  network_.submit(*tiers_[tier].write, {.bytes = write.bytes,
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
