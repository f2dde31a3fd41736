#include "sim/pools/prefix_store.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

PrefixStore::PrefixStore(std::optional<std::int64_t> capacity_bytes, std::int64_t block_bytes)
    : block_bytes_(block_bytes) {
  KVSIM_ALWAYS(block_bytes > 0, "a block of a prefix store must have bytes");
  KVSIM_ALWAYS(capacity_bytes.value_or(0) >= 0, "a prefix store's capacity must not be negative");
  if (capacity_bytes) capacity_blocks_ = *capacity_bytes / block_bytes;
}

std::size_t PrefixStore::leading_hits(std::span<const std::uint64_t> chain) const {
  const auto missing = std::find_if(chain.begin(), chain.end(), [&](std::uint64_t h) { return !index_.contains(h); });
  return static_cast<std::size_t>(missing - chain.begin());
}

void PrefixStore::touch(std::span<const std::uint64_t> chain) {
  use_held(chain);
}

void PrefixStore::insert(std::span<const std::uint64_t> chain) {
  // What is held of the chain is used first, so that none of it makes room for its own beginning unless it must.
  const std::int64_t pinned_here = use_held(chain);
  if (capacity_blocks_) {
    const std::int64_t room = *capacity_blocks_ - (pinned_ - pinned_here);
    chain = chain.first(std::min(chain.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, room))));
  }
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) {
    const auto found = index_.find(*hash);
    found == index_.end() ? store(*hash) : use(found->second);
  }
}

void PrefixStore::pin(std::span<const std::uint64_t> chain) {
  for (const std::uint64_t hash : chain) {
    const std::uint32_t slot = held(hash);
    if (slots_[slot].pins++ > 0) continue;
    order_.remove(slot);
    ++pinned_;
  }
}

void PrefixStore::unpin(std::span<const std::uint64_t> chain) {
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) {
    const std::uint32_t slot = held(*hash);
    KVSIM_ALWAYS(slots_[slot].pins > 0, "a block of the prefix store is unpinned that nobody pinned");
    if (--slots_[slot].pins > 0) continue;
    order_.add(slot);
    --pinned_;
  }
}

void PrefixStore::reset_statistics() {
  peak_blocks_ = blocks();
  evictions_ = 0;
}

void PrefixStore::check_conservation() const {
  KVSIM_ALWAYS(!capacity_blocks_ || blocks() <= *capacity_blocks_, "the prefix store holds more than its capacity");
  std::int64_t ordered = 0;
  for (std::uint32_t slot = order_.oldest(); slot != LruList::none; slot = order_.newer(slot)) {
    KVSIM_ALWAYS(slots_[slot].pins == 0, "a pinned block of the prefix store can be evicted");
    KVSIM_ALWAYS(held(slots_[slot].hash) == slot, "the prefix store lost a block");
    ++ordered;
  }
  KVSIM_ALWAYS(ordered + pinned_ == blocks(), "the prefix store lost track of a block");
}

void PrefixStore::use(std::uint32_t slot) {
  if (slots_[slot].pins > 0) return;
  order_.remove(slot);
  order_.add(slot);
}

/// Returns how many of the chain's blocks are pinned.
std::int64_t PrefixStore::use_held(std::span<const std::uint64_t> chain) {
  std::int64_t pinned = 0;
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) {
    const auto found = index_.find(*hash);
    if (found == index_.end()) continue;
    use(found->second);
    pinned += slots_[found->second].pins > 0 ? 1 : 0;
  }
  return pinned;
}

void PrefixStore::store(std::uint64_t hash) {
  if (capacity_blocks_ && blocks() >= *capacity_blocks_) {
    if (order_.oldest() == LruList::none) return;
    evict_oldest();
  }
  std::uint32_t slot = 0;
  if (free_.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  slots_[slot] = {hash, 0};
  index_.emplace(hash, slot);
  order_.add(slot);
  peak_blocks_ = std::max(peak_blocks_, blocks());
}

void PrefixStore::evict_oldest() {
  const std::uint32_t slot = order_.oldest();
  order_.remove(slot);
  index_.erase(slots_[slot].hash);
  free_.push_back(slot);
  ++evictions_;
}

std::uint32_t PrefixStore::held(std::uint64_t hash) const {
  const auto found = index_.find(hash);
  KVSIM_ALWAYS(found != index_.end(), "the prefix store does not hold this block");
  return found->second;
}

}  // namespace kvsim::pools
