#include "sim/memory/prefix_store.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::memory {

PrefixStore::PrefixStore(std::optional<std::int64_t> capacity_bytes, std::int64_t block_bytes)
    : block_bytes_(block_bytes) {
  KVSIM_ALWAYS(block_bytes > 0, "a block of a prefix store must have bytes");
  KVSIM_ALWAYS(capacity_bytes.value_or(0) >= 0, "a prefix store's capacity must not be negative");
  if (capacity_bytes) capacity_blocks_ = *capacity_bytes / block_bytes;
}

std::size_t PrefixStore::leading_hits(std::span<const std::uint64_t> chain) const {
  const auto missing = std::find_if(chain.begin(), chain.end(),
                                    [&](std::uint64_t hash) { return table_.find(hash) == BlockTable::none; });
  return static_cast<std::size_t>(missing - chain.begin());
}

void PrefixStore::touch(std::span<const std::uint64_t> chain) {
  use_held(chain);
}

void PrefixStore::insert(std::span<const std::uint64_t> chain) {
  // Held blocks of the chain are used first, so that none of it makes room for its own beginning unless it must.
  const std::int64_t pinned_here = use_held(chain);
  if (capacity_blocks_) {
    const std::int64_t room = *capacity_blocks_ - (table_.referred_blocks() - pinned_here);
    chain = chain.first(std::min(chain.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, room))));
  }
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) {
    if (const BlockTable::Slot slot = table_.find(*hash); slot != BlockTable::none) {
      table_.use(slot);
    } else if (!capacity_blocks_ || blocks() < *capacity_blocks_ || table_.evict_oldest()) {
      table_.add(*hash, KvForm::full, block_bytes_);
    }
  }
  peak_blocks_ = std::max(peak_blocks_, blocks());
}

void PrefixStore::pin(std::span<const std::uint64_t> chain) {
  for (const std::uint64_t hash : chain) table_.refer(held(hash));
}

void PrefixStore::unpin(std::span<const std::uint64_t> chain) {
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) table_.unrefer(held(*hash));
}

void PrefixStore::reset_statistics() {
  peak_blocks_ = blocks();
  table_.reset_statistics();
}

void PrefixStore::check_conservation() const {
  KVSIM_ALWAYS(!capacity_blocks_ || blocks() <= *capacity_blocks_, "the prefix store holds more than its capacity");
  table_.check_conservation("prefix store");
}

/// Returns how many of the chain's blocks are pinned.
std::int64_t PrefixStore::use_held(std::span<const std::uint64_t> chain) {
  std::int64_t pinned = 0;
  for (auto hash = chain.rbegin(); hash != chain.rend(); ++hash) {
    const BlockTable::Slot slot = table_.find(*hash);
    if (slot == BlockTable::none) continue;
    table_.use(slot);
    pinned += table_[slot].references > 0 ? 1 : 0;
  }
  return pinned;
}

BlockTable::Slot PrefixStore::held(std::uint64_t hash) const {
  const BlockTable::Slot slot = table_.find(hash);
  KVSIM_ALWAYS(slot != BlockTable::none, "the prefix store does not hold this block");
  return slot;
}

}  // namespace kvsim::memory
