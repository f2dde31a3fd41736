// Bytes that follow a decision: from the GPU or another tier to host memory, made smaller there, and on to where they
// belong; and whole copies beside what is stored compressed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/store/stored_objects.h"
#include "sim/cache/store/tiers.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"

namespace kvsim::cache {

/// Whole copies of what is stored, where the store keeps them: written to the last tier once, when an object is first
/// stored, and read where a compressed copy is not enough. The last tier is without end, so that nothing there gives
/// way.
class WholeCopies {
 public:
  /// All of it outlives the copies.
  WholeCopies(const Tiers& tiers, const StoredObjects& objects);
  WholeCopies(const WholeCopies&) = delete;
  WholeCopies& operator=(const WholeCopies&) = delete;

  /// Whether a replica finds this content whole in its last tier.
  [[nodiscard]] bool has(std::size_t replica, std::uint64_t key) const;
  /// Objects of a replica that were stored in `to` have left its GPUs: from host memory they also go to the last tier
  /// as they are, but for what is there.
  void keep(std::size_t replica, std::span<const ObjectId> stored, TierIndex to, std::uint64_t owner);

  /// Grows whenever has() becomes true of something.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] std::int64_t bytes(TierIndex tier) const { return bytes_[tier]; }
  /// Bytes sent on from host memory since the last reset_statistics().
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }
  void reset_statistics() { moved_bytes_ = 0; }

 private:
  struct Write {
    std::size_t replica = 0;
    std::vector<std::uint64_t> keys;
    std::int64_t bytes = 0;
    std::uint64_t owner = 0;
  };

  void write(std::uint64_t id);
  void on_written(std::uint64_t id);

  const Tiers& tiers_;
  const StoredObjects& objects_;
  std::vector<std::unordered_map<std::uint64_t, bool>> there_;  // by domain of the last tier, content: once it is there
  std::vector<std::int64_t> bytes_;                             // by tier
  engine::SlotTable<Write> writes_;
  std::uint64_t changes_ = 0;
  std::int64_t moved_bytes_ = 0;
};

/// Move of objects that are stored together, or of one that moves between tiers.
struct Move {
  std::vector<ObjectId> objects{};  ///< as they are called where they go
  ObjectId source = kNoObject;      ///< the one that moves, as it is called where it comes from; else from the GPU
  TierIndex from = kNoTier, to = kNoTier;
  models::OptionIndex option = 0;
  bool compresses = false;
  std::int64_t source_bytes = 0;  ///< what leaves the GPU, in full, or is read
  std::int64_t bytes = 0;         ///< what arrives
  std::int64_t leaving = 0;       ///< room in `from` until it is over
  std::size_t replica = 0;
  std::uint64_t owner = 0;
};

/// Moves under way. A moving object is held; its old copy can be read until it is over.
class Moves {
 public:
  /// All of it outlives the moves. `over` runs at the end of each: somewhere there may be room that was not there.
  Moves(engine::Simulator& simulator, const Tiers& tiers, const models::OptionPool& pool, StoredObjects& objects,
        WholeCopies& whole, engine::Callback over);
  Moves(const Moves&) = delete;
  Moves& operator=(const Moves&) = delete;

  /// Its objects belong to `to` by now.
  void start(Move move);
  /// Ends a move that was over but for readers of the old copy (StoredCopy::moved): none is left.
  void finish(std::uint64_t id);

  [[nodiscard]] bool under_way() const { return moves_.size() > 0; }
  /// Bytes sent on from host memory since the last reset_statistics().
  [[nodiscard]] std::int64_t moved_bytes() const { return moved_bytes_; }
  void reset_statistics() { moved_bytes_ = 0; }

 private:
  void on_read(std::uint64_t id);
  void on_compressed(std::uint64_t id);
  void on_written(std::uint64_t id);
  void arrive(ObjectId id);

  engine::Simulator& simulator_;
  const Tiers& tiers_;
  const models::OptionPool& pool_;
  StoredObjects& objects_;
  WholeCopies& whole_;
  engine::Callback over_;
  engine::ServerPool workers_;  // that compress
  engine::SlotTable<Move> moves_;
  std::int64_t moved_bytes_ = 0;
};

}  // namespace kvsim::cache
