#include "sim/memory/kv_memory.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::memory {

KvMemory::KvMemory(const engine::Simulator& simulator, std::string name, std::int64_t capacity_bytes,
                   engine::TraceSink* trace)
    : used_(simulator, std::move(name), capacity_bytes, trace) {}

std::int64_t KvMemory::need(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                            std::int64_t private_bytes) const {
  return demand(chain, form, block_bytes, private_bytes).fresh;
}

bool KvMemory::fits(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                    std::int64_t private_bytes, std::int64_t keep_free) const {
  // Every cached block can go except those that the claim itself refers to; they are part of what it takes.
  const Demand d = demand(chain, form, block_bytes, private_bytes);
  return d.fresh + d.revived + keep_free <= used_.available();
}

bool KvMemory::try_claim(MemoryClaim& claim, std::span<const std::uint64_t> chain, KvForm form,
                         std::int64_t block_bytes, std::int64_t private_bytes) {
  KVSIM_ALWAYS(claim.empty(), "a claim on " + used_.name() + " is made twice");
  KVSIM_ALWAYS(private_bytes >= 0, "a claim must not be negative: " + used_.name());
  claim.form = form;
  if (chain.empty()) {
    if (private_bytes > used_.available()) return false;
    make_room(private_bytes);
    KVSIM_ALWAYS(private_bytes == 0 || used_.try_reserve(private_bytes), "there was room in " + used_.name());
  } else if (!claim_blocks(claim, chain, block_bytes, private_bytes)) {
    return false;
  }
  claim.private_bytes = private_bytes;
  private_ += private_bytes;
  return true;
}

void KvMemory::loaded(MemoryClaim& claim) {
  if (claim.loading == 0) return;
  for (const BlockTable::Slot slot : claim.blocks) {
    if (table_[slot].loader == claim.loading) table_.set_loader(slot, 0);
  }
  claim.loading = 0;
}

bool KvMemory::complete_but_own(const MemoryClaim& claim) const {
  if (claim.joined == 0) return true;
  return std::all_of(claim.blocks.begin(), claim.blocks.end(), [&](const BlockTable::Slot slot) {
    return table_[slot].loader == 0 || table_[slot].loader == claim.loading;
  });
}

void KvMemory::shrink(MemoryClaim& claim, std::int64_t private_bytes) {
  const std::int64_t freed = claim.private_bytes - private_bytes;
  KVSIM_ALWAYS(freed >= 0, "a claim on " + used_.name() + " shrinks to more than it has");
  private_ -= freed;
  used_.release(freed);
  claim.private_bytes = private_bytes;
}

void KvMemory::release(MemoryClaim& claim) {
  KVSIM_ALWAYS(claim.loading == 0, "a claim on " + used_.name() + " is released while it is loading");
  std::int64_t freed = claim.private_bytes;
  for (auto slot = claim.blocks.rbegin(); slot != claim.blocks.rend(); ++slot) freed += table_.unrefer(*slot);
  private_ -= claim.private_bytes;
  used_.release(freed);
  claim.blocks.clear();
  claim.private_bytes = claim.missing = claim.joined = claim.present = 0;
}

bool KvMemory::try_reserve(std::int64_t bytes) {
  if (bytes > used_.available()) return false;
  make_room(bytes);
  private_ += bytes;
  return used_.try_reserve(bytes);
}

void KvMemory::release(std::int64_t bytes) {
  private_ -= bytes;
  used_.release(bytes);
}

std::vector<BlockTable::Slot> KvMemory::refer(std::span<const std::uint64_t> chain) {
  std::vector<BlockTable::Slot> slots;
  std::int64_t revived = 0;
  for (const std::uint64_t hash : chain) {
    slots.push_back(table_.find(hash));
    revived += table_.refer(slots.back());
  }
  make_room(revived);
  KVSIM_ALWAYS(used_.try_reserve(revived), "blocks were referred to that do not fit in " + used_.name());
  return slots;
}

BlockTable::Slot KvMemory::share(std::uint64_t hash, std::int64_t bytes) {
  const BlockTable::Slot slot = table_.add(hash, KvForm::full, bytes);
  table_.refer(slot);
  private_ -= bytes;
  return slot;
}

void KvMemory::unrefer(std::span<const BlockTable::Slot> chain) {
  std::int64_t freed = 0;
  for (auto slot = chain.rbegin(); slot != chain.rend(); ++slot) freed += table_.unrefer(*slot);
  used_.release(freed);
}

void KvMemory::reset_statistics() {
  used_.reset_statistics();
  table_.reset_statistics();
}

void KvMemory::check_conservation() const {
  used_.check_conservation();
  table_.check_conservation(used_.name());
  KVSIM_ALWAYS(cached() <= used_.available(), "claims and cached blocks exceed the memory: " + used_.name());
  KVSIM_ALWAYS(private_ + table_.referred_bytes() == used_.reserved(),
               "bytes in use belong to nobody: " + used_.name());
}

void KvMemory::Demand::count(const BlockTable& table, BlockTable::Slot slot, std::int64_t block_bytes) {
  if (slot == BlockTable::none) {
    fresh += block_bytes;
  } else if (table[slot].references == 0) {
    revived += table[slot].bytes;
  }
}

KvMemory::Demand KvMemory::demand(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                                  std::int64_t private_bytes) const {
  Demand d{private_bytes, 0};
  for (const std::uint64_t hash : chain) d.count(table_, table_.find(hash, form), block_bytes);
  return d;
}

bool KvMemory::claim_blocks(MemoryClaim& claim, std::span<const std::uint64_t> chain, std::int64_t block_bytes,
                            std::int64_t private_bytes) {
  KVSIM_ALWAYS(block_bytes > 0, "a block must have bytes: " + used_.name());
  Demand d{private_bytes, 0};
  claim.blocks.reserve(chain.size());
  for (const std::uint64_t hash : chain) {
    claim.blocks.push_back(table_.find(hash, claim.form));
    d.count(table_, claim.blocks.back(), block_bytes);
  }
  if (d.fresh + d.revived > used_.available()) {
    claim.blocks.clear();
    return false;
  }
  // In this order, so that none of its own blocks is evicted to make room.
  const std::int64_t revived = refer_to_found(claim);
  make_room(revived + d.fresh);
  const std::int64_t bytes = revived + add_missing(claim, chain, block_bytes) + private_bytes;
  KVSIM_ALWAYS(bytes == 0 || used_.try_reserve(bytes), "there was room in " + used_.name());
  return true;
}

/// Returns the bytes that nobody else referred to.
std::int64_t KvMemory::refer_to_found(MemoryClaim& claim) {
  std::int64_t revived = 0;
  for (const BlockTable::Slot slot : claim.blocks) {
    if (slot == BlockTable::none) continue;
    (table_[slot].loader == 0 ? claim.present : claim.joined) += 1;
    revived += table_.refer(slot);
  }
  return revived;
}

/// Returns the bytes that the blocks take.
std::int64_t KvMemory::add_missing(MemoryClaim& claim, std::span<const std::uint64_t> chain, std::int64_t block_bytes) {
  if (static_cast<std::size_t>(claim.present + claim.joined) == chain.size()) return 0;
  claim.loading = ++last_loading_;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (claim.blocks[i] != BlockTable::none) continue;
    BlockTable::Slot slot = table_.find(chain[i], claim.form);  // there by now where the chain has this hash twice
    if (slot == BlockTable::none) {
      slot = table_.add(chain[i], claim.form, block_bytes);
      table_.set_loader(slot, claim.loading);
      claim.missing += 1;
    }
    claim.blocks[i] = slot;
    table_.refer(slot);
  }
  return claim.missing * block_bytes;
}

/// Evicts until `bytes`, which fit, are free.
void KvMemory::make_room(std::int64_t bytes) {
  while (used_.available() - cached() < bytes) {
    KVSIM_ALWAYS(table_.evict_oldest(), "nothing is left to evict from " + used_.name());
  }
}

}  // namespace kvsim::memory
