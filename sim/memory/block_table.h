// Blocks of KV, found by hash and counted by reference. A block that nobody refers to stays, in order of use, until its
// room is needed. A prompt is a chain of block hashes, each chained to those before it, so that equal hashes mean equal
// prefixes; whoever lets go of a chain from its end keeps prefixes longer than what follows them
// (models/workload/hit_rate_curve.h). GPU memory and storage keep blocks with this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "sim/engine/linked_order.h"

namespace kvsim::memory {

enum class KvForm : std::uint8_t { full, compressed };

class BlockTable {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot none = engine::OrderLinks::none;

  struct Block : engine::OrderLinks {
    std::uint64_t hash = 0;
    std::int64_t bytes = 0;  ///< 0: this slot is free
    KvForm form = KvForm::full;
    std::int32_t references = 0;
    std::uint64_t loader = 0;  ///< of the owner: != 0 while it is being loaded
  };

  /// The block of this hash in this form; none where it is not there.
  [[nodiscard]] Slot find(std::uint64_t hash, KvForm form = KvForm::full) const;
  [[nodiscard]] const Block& operator[](Slot slot) const { return blocks_[slot]; }
  void set_loader(Slot slot, std::uint64_t loader) { blocks_[slot].loader = loader; }

  /// Adds a block that is not there, used last, referred to by nobody. bytes > 0.
  Slot add(std::uint64_t hash, KvForm form, std::int64_t bytes);
  /// One more refers to it, or one fewer; the last one who lets go uses it. Both return the block's bytes where nobody
  /// else refers to it, else 0.
  std::int64_t refer(Slot slot);
  std::int64_t unrefer(Slot slot);
  /// Uses it without keeping it.
  void use(Slot slot);
  /// Takes away the block that was not used for longest and that nobody refers to; false where there is none.
  bool evict_oldest();

  [[nodiscard]] std::int64_t blocks() const { return static_cast<std::int64_t>(blocks_.size() - free_.size()); }
  [[nodiscard]] std::int64_t referred_blocks() const { return referred_blocks_; }
  /// Bytes of blocks that nobody refers to, and of the others.
  [[nodiscard]] std::int64_t cached_bytes() const { return used_.bytes(); }
  [[nodiscard]] std::int64_t referred_bytes() const { return referred_bytes_; }
  /// Blocks that had to go.
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }
  void reset_statistics() { evictions_ = 0; }

  /// Every block is either referred to or in the order of use, and found by its hash; throws
  /// engine::InvariantViolation, which names `owner`. Takes time in proportion to the blocks.
  void check_conservation(std::string_view owner) const;

 private:
  using Index = std::unordered_map<std::uint64_t, Slot>;

  [[nodiscard]] Index& index(KvForm form) { return index_[static_cast<std::size_t>(form)]; }

  std::array<Index, 2> index_;  // by form: slot by hash
  std::vector<Block> blocks_;
  std::vector<Slot> free_;
  engine::LinkedOrder<Block> used_;  // those that nobody refers to
  std::int64_t referred_blocks_ = 0, referred_bytes_ = 0;
  std::uint64_t evictions_ = 0;
};

}  // namespace kvsim::memory
