// GPU memory for KV: what each request holds for itself, and prefix blocks that requests share, counted by
// reference. Blocks that nobody refers to any more stay until their room is needed, least recently used first and a
// suffix before its prefix, so that a later request with the same prefix need not load them again.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/memory/block_table.h"
#include "sim/memory/memory_pool.h"

namespace kvsim::memory {

/// Memory that somebody holds in a KvMemory; the counts are as of try_claim(). Only KvMemory changes it. A copy would
/// be released twice, so it is moved at most.
struct MemoryClaim {
  std::int64_t private_bytes = 0;
  KvForm form = KvForm::full;
  std::vector<BlockTable::Slot> blocks;  ///< the chain's blocks in order, as numbered by the memory
  std::int64_t missing = 0;              ///< blocks that it must load itself: neither there nor on their way
  std::int64_t joined = 0;               ///< blocks on their way for another claim
  std::int64_t present = 0;              ///< blocks already there
  std::uint64_t loading = 0;  ///< != 0: its missing blocks have not arrived; under which number they are awaited

  [[nodiscard]] bool empty() const { return private_bytes == 0 && blocks.empty(); }
};

/// Chains are hashes of a prompt's blocks, each chained to those before it. The same block in both forms is two blocks.
class KvMemory {
 public:
  /// capacity_bytes >= 0. `simulator` (and `trace`, unless null) must outlive the memory.
  KvMemory(const engine::Simulator& simulator, std::string name, std::int64_t capacity_bytes,
           engine::TraceSink* trace = nullptr);

  /// Bytes that a claim would bring: private ones and those of blocks that are not there in this form. Blocks that are
  /// there and that nobody refers to cost nothing here, but see fits().
  [[nodiscard]] std::int64_t need(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                                  std::int64_t private_bytes) const;

  /// Whether try_claim() would succeed and leave `keep_free` bytes that are free or can be made so by evicting blocks.
  [[nodiscard]] bool fits(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                          std::int64_t private_bytes, std::int64_t keep_free = 0) const;

  /// Fills an empty claim: reserves its private bytes, refers to the blocks of the chain and reserves those that are
  /// not there, evicting others as needed. False and no change where it does not fit. Where claim.missing > 0, loaded()
  /// must follow.
  [[nodiscard]] bool try_claim(MemoryClaim& claim, std::span<const std::uint64_t> chain, KvForm form,
                               std::int64_t block_bytes, std::int64_t private_bytes);

  /// The blocks that this claim was loading have arrived, for all who refer to them.
  void loaded(MemoryClaim& claim);

  /// Whether all its blocks are there, those loaded by others included; or all but those that it is loading itself.
  [[nodiscard]] bool complete(const MemoryClaim& claim) const { return claim.loading == 0 && complete_but_own(claim); }
  [[nodiscard]] bool complete_but_own(const MemoryClaim& claim) const;

  /// Lets the claim keep so many of its private bytes, at most those that it has.
  void shrink(MemoryClaim& claim, std::int64_t private_bytes);

  /// Empties a claim that is not loading. Blocks that nobody else refers to stay as long as their room is not needed.
  void release(MemoryClaim& claim);

  // Bytes and blocks without a claim, for whoever counts them itself.
  /// Reserves private bytes, evicting blocks as needed. False and no change where they do not fit.
  [[nodiscard]] bool try_reserve(std::int64_t bytes);
  void release(std::int64_t bytes);
  /// Refers to blocks of full KV, which are there and fit.
  [[nodiscard]] std::vector<BlockTable::Slot> refer(std::span<const std::uint64_t> chain);
  /// Makes so many private bytes a block of full KV that is not there yet, and that their owner refers to.
  [[nodiscard]] BlockTable::Slot share(std::uint64_t hash, std::int64_t bytes);
  /// Lets go of blocks, the last one first.
  void unrefer(std::span<const BlockTable::Slot> chain);
  [[nodiscard]] const BlockTable& blocks() const { return table_; }
  /// Statistics of reserved() over time.
  [[nodiscard]] const MemoryPool& pool() const { return used_; }

  [[nodiscard]] std::int64_t capacity() const { return used_.capacity(); }
  /// Bytes in use: private ones and those of blocks that somebody refers to.
  [[nodiscard]] std::int64_t reserved() const { return used_.reserved(); }
  /// Bytes of blocks that nobody refers to.
  [[nodiscard]] std::int64_t cached() const { return table_.cached_bytes(); }
  /// Most bytes that a claim without blocks could have.
  [[nodiscard]] std::int64_t available() const { return used_.available(); }
  [[nodiscard]] std::int64_t private_bytes() const { return private_; }  ///< of reserved(), not in shared blocks

  /// Forgets mean, high-water mark and evictions: the end of a warm-up.
  void reset_statistics();

  /// Claims and cached blocks together are within capacity, and every byte belongs to one of them; throws
  /// InvariantViolation. Takes time in proportion to the blocks.
  void check_conservation() const;

 private:
  struct Demand {
    std::int64_t fresh = 0;    ///< bytes that are not there
    std::int64_t revived = 0;  ///< bytes of blocks that are there and that nobody refers to

    void count(const BlockTable& table, BlockTable::Slot slot, std::int64_t block_bytes);
  };

  [[nodiscard]] Demand demand(std::span<const std::uint64_t> chain, KvForm form, std::int64_t block_bytes,
                              std::int64_t private_bytes) const;
  bool claim_blocks(MemoryClaim& claim, std::span<const std::uint64_t> chain, std::int64_t block_bytes,
                    std::int64_t private_bytes);
  std::int64_t refer_to_found(MemoryClaim& claim);
  std::int64_t add_missing(MemoryClaim& claim, std::span<const std::uint64_t> chain, std::int64_t block_bytes);
  void make_room(std::int64_t bytes);

  MemoryPool used_;
  std::int64_t private_ = 0;
  BlockTable table_;
  std::uint64_t last_loading_ = 0;
};

}  // namespace kvsim::memory
