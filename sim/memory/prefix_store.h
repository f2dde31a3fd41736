// Which prefix blocks a storage node holds. Blocks are evicted least recently used first; within a chain the first
// block counts as used last, so that a prefix outlives what follows it and what is held is always whole prefixes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "sim/memory/block_table.h"

namespace kvsim::memory {

class PrefixStore {
 public:
  /// No capacity: nothing is ever evicted. capacity_bytes >= 0; block_bytes > 0.
  PrefixStore(std::optional<std::int64_t> capacity_bytes, std::int64_t block_bytes);

  /// How many of the chain's first blocks are held. Not a use of them.
  [[nodiscard]] std::size_t leading_hits(std::span<const std::uint64_t> chain) const;

  /// The blocks of the chain that are held are used now.
  void touch(std::span<const std::uint64_t> chain);

  /// Uses all blocks of the chain now and stores those that are not held, in the room that evicting others makes. What
  /// does not fit, because the store is too small or too much of it is pinned, is left out from the chain's end.
  void insert(std::span<const std::uint64_t> chain);

  /// The blocks of the chain, all of them held, are not evicted until unpin() was called as often for them: they are
  /// being read. The end of the last reading is a use.
  void pin(std::span<const std::uint64_t> chain);
  void unpin(std::span<const std::uint64_t> chain);

  [[nodiscard]] std::int64_t blocks() const { return table_.blocks(); }
  [[nodiscard]] std::int64_t bytes() const { return blocks() * block_bytes_; }
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_blocks_ * block_bytes_; }
  /// Blocks that had to go.
  [[nodiscard]] std::uint64_t evictions() const { return table_.evictions(); }
  /// Forgets the peak and the evictions: the end of a warm-up.
  void reset_statistics();

  /// Capacity is kept and every block is either pinned or in the order of use; throws InvariantViolation.
  void check_conservation() const;

 private:
  std::int64_t use_held(std::span<const std::uint64_t> chain);
  [[nodiscard]] BlockTable::Slot held(std::uint64_t hash) const;

  std::optional<std::int64_t> capacity_blocks_;
  std::int64_t block_bytes_ = 0;
  BlockTable table_;
  std::int64_t peak_blocks_ = 0;
};

}  // namespace kvsim::memory
