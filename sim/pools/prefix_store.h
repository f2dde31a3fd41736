// Which prefix blocks the storage node holds. A prompt is a chain of block hashes, each chained to those before it, so
// that equal hashes mean equal prefixes. Blocks are evicted least recently used first; within a chain the first block
// counts as used last, so that a prefix outlives what follows it and what is held is always whole prefixes
// (models/workload/hit_rate_curve.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace kvsim::pools {

// Slots of a table in order of use. A slot is in the list at most once; every operation takes constant time.

class LruList {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  /// Adds a slot that is not in the list, as the one used last.
  void add(std::uint32_t slot) {
    if (slot >= links_.size()) links_.resize(std::size_t{slot} + 1);
    links_[slot] = {newest_, none};
    (newest_ == none ? oldest_ : links_[newest_].newer) = slot;
    newest_ = slot;
  }

  /// Takes a slot that is in the list out of it.
  void remove(std::uint32_t slot) {
    const Links at = links_[slot];
    (at.older == none ? oldest_ : links_[at.older].newer) = at.newer;
    (at.newer == none ? newest_ : links_[at.newer].older) = at.older;
  }

  /// The slot that was not used for longest; none where the list is empty.
  [[nodiscard]] std::uint32_t oldest() const { return oldest_; }
  /// The slot used next after one in the list; none for the last.
  [[nodiscard]] std::uint32_t newer(std::uint32_t slot) const { return links_[slot].newer; }

 private:
  struct Links {
    std::uint32_t older = none;
    std::uint32_t newer = none;
  };

  std::vector<Links> links_;  ///< by slot
  std::uint32_t oldest_ = none;
  std::uint32_t newest_ = none;
};

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

  [[nodiscard]] std::int64_t blocks() const { return static_cast<std::int64_t>(index_.size()); }
  [[nodiscard]] std::int64_t bytes() const { return blocks() * block_bytes_; }
  [[nodiscard]] std::int64_t peak_bytes() const { return peak_blocks_ * block_bytes_; }
  /// Blocks that had to go.
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  /// Forgets the peak and the evictions: the end of a warm-up.
  void reset_statistics();

  /// Capacity is kept and every block is either pinned or in the order of use; throws InvariantViolation.
  void check_conservation() const;

 private:
  struct Slot {
    std::uint64_t hash = 0;
    std::int32_t pins = 0;  ///< > 0: not in order_
  };

  void use(std::uint32_t slot);
  std::int64_t use_held(std::span<const std::uint64_t> chain);
  void store(std::uint64_t hash);
  void evict_oldest();
  std::uint32_t held(std::uint64_t hash) const;

  std::optional<std::int64_t> capacity_blocks_;
  std::int64_t block_bytes_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> index_;  ///< slot by hash
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  LruList order_;
  std::int64_t pinned_ = 0;  ///< blocks with pins
  std::int64_t peak_blocks_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace kvsim::pools
