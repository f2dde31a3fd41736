#include "sim/memory/block_table.h"

#include <string>

#include "sim/engine/invariant.h"

namespace kvsim::memory {

BlockTable::Slot BlockTable::find(std::uint64_t hash, KvForm form) const {
  const Index& index = index_[static_cast<std::size_t>(form)];
  const auto found = index.find(hash);
  return found == index.end() ? none : found->second;
}

BlockTable::Slot BlockTable::add(std::uint64_t hash, KvForm form, std::int64_t bytes) {
  KVSIM_DEBUG(bytes > 0, "a block must have bytes");
  Slot slot = 0;
  if (free_.empty()) {
    slot = static_cast<Slot>(blocks_.size());
    blocks_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  blocks_[slot] = {{}, hash, bytes, form, 0, 0};
  index(form).emplace(hash, slot);
  used_.push_newest(blocks_, slot);
  return slot;
}

std::int64_t BlockTable::refer(Slot slot) {
  Block& block = blocks_[slot];
  if (block.references++ > 0) return 0;
  used_.erase(blocks_, slot);
  referred_bytes_ += block.bytes;
  ++referred_blocks_;
  return block.bytes;
}

std::int64_t BlockTable::unrefer(Slot slot) {
  Block& block = blocks_[slot];
  KVSIM_ALWAYS(block.references > 0, "a block is let go that nobody refers to");
  if (--block.references > 0) return 0;
  used_.push_newest(blocks_, slot);
  referred_bytes_ -= block.bytes;
  --referred_blocks_;
  return block.bytes;
}

void BlockTable::use(Slot slot) {
  if (blocks_[slot].references > 0) return;
  used_.erase(blocks_, slot);
  used_.push_newest(blocks_, slot);
}

bool BlockTable::evict_oldest() {
  const Slot slot = used_.oldest();
  if (slot == none) return false;
  used_.erase(blocks_, slot);
  Block& block = blocks_[slot];
  index(block.form).erase(block.hash);
  block.bytes = 0;
  free_.push_back(slot);
  ++evictions_;
  return true;
}

void BlockTable::check_conservation(std::string_view owner) const {
  const auto check = [owner](bool holds, const char* what) {
    KVSIM_ALWAYS(holds, std::string(what) + ": " + std::string(owner));
  };
  std::int64_t referred = 0, unreferred = 0, ordered = 0;
  for (const Block& block : blocks_) {
    (block.references > 0 ? referred : unreferred) += block.bytes;
    check(block.references > 0 || block.loader == 0, "a block is loading for nobody");
  }
  for (Slot slot = used_.oldest(); slot != none; slot = blocks_[slot].newer) {
    check(blocks_[slot].references == 0, "a block that is referred to can be evicted");
    check(find(blocks_[slot].hash, blocks_[slot].form) == slot, "a block is not found by its hash");
    ordered += blocks_[slot].bytes;
  }
  check(referred == referred_bytes_, "blocks that are referred to were lost");
  check(unreferred == cached_bytes() && ordered == cached_bytes(), "cached blocks were lost");
  check(index_[0].size() + index_[1].size() + free_.size() == blocks_.size(), "blocks were lost");
}

}  // namespace kvsim::memory
