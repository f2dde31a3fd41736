#include "sim/cache/store/loads.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;

namespace {

std::uint64_t way_of(ObjectId id, std::size_t replica) {
  return std::uint64_t{id} << 32U | static_cast<std::uint64_t>(replica);
}

}  // namespace

Loads::Begun Loads::begin(std::size_t replica, bool shared, Callback done) {
  const auto slot = loads_.acquire();
  slot.value = {0, done};
  return {slot.id, replica, shared};
}

bool Loads::join(const Begun& begun, ObjectId id) {
  const auto way = on_their_way_.find(way_of(id, begun.replica));
  if (way == on_their_way_.end()) return false;
  wait(way->second, begun.load);
  return true;
}

void Loads::add(Begun& begun, TierIndex tier, ObjectId id, std::int64_t bytes) {
  const std::uint64_t batch = batch_of(begun, tier);
  batches_[batch].bytes += bytes;
  if (id == kNoObject) return;
  batches_[batch].objects.push_back(id);
  if (begun.shared) on_their_way_.emplace(way_of(id, begun.replica), batch);
}

std::uint64_t Loads::batch_of(Begun& begun, TierIndex tier) {
  const auto known =
      std::find_if(begun.batches.begin(), begun.batches.end(), [&](const auto& b) { return b.first == tier; });
  if (known != begun.batches.end()) return known->second;
  const auto slot = batches_.acquire();
  Batch& batch = slot.value;
  batch.tier = tier;
  batch.replica = begun.replica;
  batch.bytes = 0;
  batch.since = simulator_.now();
  batch.objects.clear();
  batch.loads.clear();
  batch.shared = begun.shared;
  begun.batches.emplace_back(tier, slot.id);
  wait(slot.id, begun.load);
  return slot.id;
}

void Loads::wait(std::uint64_t batch, std::uint64_t load) {
  std::vector<std::uint64_t>& waiting = batches_[batch].loads;
  if (!waiting.empty() && waiting.back() == load) return;
  waiting.push_back(load);
  loads_[load].pending += 1;
}

void Loads::submit(const Begun& begun, std::uint64_t owner, const char* kind) {
  KVSIM_ALWAYS(loads_[begun.load].pending > 0, "a load of nothing");
  for (const auto& [tier, batch] : begun.batches) {
    tiers_.load(tier, begun.replica)
        .submit({.bytes = batches_[batch].bytes,
                 .on_complete = {arrived_.function, arrived_.object, batch},
                 .owner = owner,
                 .kind = kind});
  }
}

Loads::Batch Loads::take(std::uint64_t id) {
  const Batch batch = batches_[id];
  batches_.release(id);
  for (const ObjectId object : batch.objects) {
    if (batch.shared) on_their_way_.erase(way_of(object, batch.replica));
  }
  return batch;
}

void Loads::finish(const Batch& batch) {
  for (const std::uint64_t load : batch.loads) {
    if (--loads_[load].pending > 0) continue;
    const Callback done = loads_[load].done;
    loads_.release(load);
    done();
  }
}

}  // namespace kvsim::cache
