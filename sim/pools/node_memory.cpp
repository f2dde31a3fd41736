#include "sim/pools/node_memory.h"

#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

NodeMemory::NodeMemory(const engine::Simulator& simulator, std::string name, std::int64_t capacity_bytes,
                       engine::TraceSink* trace)
    : used_(simulator, std::move(name), capacity_bytes, trace) {}

std::int64_t NodeMemory::need(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                              std::int64_t private_bytes) const {
  return demand(chain, form, block_bytes, private_bytes).fresh;
}

bool NodeMemory::fits(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                      std::int64_t private_bytes, std::int64_t keep_free) const {
  // Every cached block can go except those that the claim itself refers to; they are part of what it takes.
  const Demand d = demand(chain, form, block_bytes, private_bytes);
  return has_room(d.fresh + d.revived + keep_free);
}

bool NodeMemory::try_claim(MemoryClaim& claim, std::span<const std::uint64_t> chain, KvForm form,
                           std::int64_t block_bytes, std::int64_t private_bytes) {
  KVSIM_ALWAYS(claim.empty(), "a claim on " + name() + " is made twice");
  KVSIM_ALWAYS(private_bytes >= 0, "a claim must not be negative: " + name());
  claim.form = form;
  if (chain.empty()) {
    if (!has_room(private_bytes)) return false;
    make_room(private_bytes);
    reserve(private_bytes);
  } else if (!claim_blocks(claim, chain, block_bytes, private_bytes)) {
    return false;
  }
  claim.private_bytes = private_bytes;
  private_ += private_bytes;
  return true;
}

void NodeMemory::loaded(MemoryClaim& claim) {
  if (claim.loading == 0) return;
  for (const std::uint32_t slot : claim.blocks) {
    if (blocks_[slot].loader == claim.loading) blocks_[slot].loader = 0;
  }
  claim.loading = 0;
}

bool NodeMemory::complete(const MemoryClaim& claim) const {
  if (claim.loading != 0) return false;
  if (claim.joined == 0) return true;
  for (const std::uint32_t slot : claim.blocks) {
    if (blocks_[slot].loader != 0) return false;
  }
  return true;
}

void NodeMemory::release(MemoryClaim& claim) {
  KVSIM_ALWAYS(claim.loading == 0, "a claim on " + name() + " is released while it is loading");
  std::int64_t freed = claim.private_bytes;
  for (auto slot = claim.blocks.rbegin(); slot != claim.blocks.rend(); ++slot) {
    Block& block = blocks_[*slot];
    KVSIM_ALWAYS(block.references > 0, "a block is released that nobody refers to: " + name());
    if (--block.references > 0) continue;
    order_.add(*slot);
    cached_ += block.bytes;
    freed += block.bytes;
  }
  private_ -= claim.private_bytes;
  used_.release(freed);
  claim.blocks.clear();
  claim.private_bytes = claim.missing = claim.joined = claim.present = 0;
}

void NodeMemory::reset_statistics() {
  used_.reset_statistics();
  evictions_ = 0;
}

void NodeMemory::check_conservation() const {
  used_.check_conservation();
  KVSIM_ALWAYS(cached_ <= used_.available(), "claims and cached blocks exceed the memory: " + name());
  std::int64_t referred = 0, unreferred = 0, ordered = 0;
  for (const Block& block : blocks_) {
    (block.references > 0 ? referred : unreferred) += block.bytes;
    KVSIM_ALWAYS(block.references > 0 || block.loader == 0, "a block is loading for nobody: " + name());
  }
  for (std::uint32_t slot = order_.oldest(); slot != LruList::none; slot = order_.newer(slot)) {
    KVSIM_ALWAYS(blocks_[slot].references == 0, "a block that is referred to can be evicted: " + name());
    ordered += blocks_[slot].bytes;
  }
  KVSIM_ALWAYS(unreferred == cached_ && ordered == cached_, "cached blocks were lost: " + name());
  KVSIM_ALWAYS(private_ + referred == used_.reserved(), "bytes in use belong to nobody: " + name());
  KVSIM_ALWAYS(index_[0].size() + index_[1].size() + free_.size() == blocks_.size(), "blocks were lost: " + name());
}

void NodeMemory::count(Demand& demand, std::uint32_t slot, std::int64_t block_bytes) const {
  if (slot == LruList::none) {
    demand.fresh += block_bytes;
  } else if (blocks_[slot].references == 0) {
    demand.revived += blocks_[slot].bytes;
  }
}

NodeMemory::Demand NodeMemory::demand(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                                      std::int64_t private_bytes) const {
  Demand d{private_bytes, 0};
  for (const std::uint64_t hash : chain) {
    const auto found = index(form).find(hash);
    count(d, found == index(form).end() ? LruList::none : found->second, block_bytes);
  }
  return d;
}

bool NodeMemory::claim_blocks(MemoryClaim& claim, std::span<const std::uint64_t> chain, std::int64_t block_bytes,
                              std::int64_t private_bytes) {
  KVSIM_ALWAYS(block_bytes > 0, "a block must have bytes: " + name());
  Demand d{private_bytes, 0};
  claim.blocks.reserve(chain.size());
  for (const std::uint64_t hash : chain) {
    const auto found = index(claim.form).find(hash);
    claim.blocks.push_back(found == index(claim.form).end() ? LruList::none : found->second);
    count(d, claim.blocks.back(), block_bytes);
  }
  if (!has_room(d.fresh + d.revived)) {
    claim.blocks.clear();
    return false;
  }
  // In this order, so that none of its own blocks is evicted to make room.
  const std::int64_t revived = refer_to_found(claim);
  make_room(revived + d.fresh);
  reserve(revived + add_missing(claim, chain, block_bytes) + private_bytes);
  return true;
}

/// Returns the bytes that nobody else referred to.
std::int64_t NodeMemory::refer_to_found(MemoryClaim& claim) {
  std::int64_t revived = 0;
  for (const std::uint32_t slot : claim.blocks) {
    if (slot == LruList::none) continue;
    Block& block = blocks_[slot];
    (block.loader == 0 ? claim.present : claim.joined) += 1;
    if (block.references++ > 0) continue;
    order_.remove(slot);
    revived += block.bytes;
  }
  cached_ -= revived;
  return revived;
}

/// Returns the bytes that the blocks take.
std::int64_t NodeMemory::add_missing(MemoryClaim& claim, std::span<const std::uint64_t> chain,
                                     std::int64_t block_bytes) {
  if (static_cast<std::size_t>(claim.present + claim.joined) == chain.size()) return 0;
  claim.loading = ++last_loading_;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (claim.blocks[i] != LruList::none) continue;
    const auto [entry, is_new] = index(claim.form).try_emplace(chain[i], LruList::none);
    if (is_new) {  // else the chain has this hash twice
      entry->second = new_slot();
      blocks_[entry->second] = {chain[i], claim.loading, block_bytes, 0, claim.form};
      claim.missing += 1;
    }
    claim.blocks[i] = entry->second;
    blocks_[entry->second].references += 1;
  }
  return claim.missing * block_bytes;
}

std::uint32_t NodeMemory::new_slot() {
  if (free_.empty()) {
    blocks_.emplace_back();
    return static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  return slot;
}

/// For bytes that are known to fit.
void NodeMemory::reserve(std::int64_t bytes) {
  if (bytes == 0) return;
  KVSIM_ALWAYS(used_.try_reserve(bytes), "there was room in " + name());
}

/// Evicts until `bytes`, which has_room() admits, are free.
void NodeMemory::make_room(std::int64_t bytes) {
  while (used_.available() - cached_ < bytes) {
    const std::uint32_t slot = order_.oldest();
    KVSIM_ALWAYS(slot != LruList::none, "nothing is left to evict from " + name());
    Block& block = blocks_[slot];
    order_.remove(slot);
    index(block.form).erase(block.hash);
    cached_ -= block.bytes;
    block.bytes = 0;
    free_.push_back(slot);
    ++evictions_;
  }
}

}  // namespace kvsim::pools
