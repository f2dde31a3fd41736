// Room is made for what was computed, and it is stored: what the placement decides is carried out, bytes set out or
// wait.
//
// A store that finds no room waits as long as its KV is in GPU memory. Then it is stored at once: what it displaces is
// written from a bounce buffer, and a tier in which nothing may be displaced now is passed over. Where that holds for
// all tiers, the store itself waits in a bounce buffer. Lost is only the end of a chain that is longer than all tiers.
// Engines keep KV until it is written, too. SGLang's HiCache locks it in GPU memory (write_backup in
// python/sglang/srt/mem_cache/hiradix_cache.py). LMCache holds a copy in pinned host memory (submit_put_task in
// lmcache/v1/storage_backend/local_disk_backend.py). NVIDIA Dynamo's KVBM refers to the block while it is moved
// (lib/llm/src/block_manager/offload.rs).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/placement/placement.h"
#include "sim/cache/store/loads.h"
#include "sim/cache/store/moves.h"
#include "sim/cache/store/stored_objects.h"
#include "sim/cache/store/tiers.h"
#include "sim/engine/simulator.h"

namespace kvsim::cache {

/// StoreCounts counts events since the last reset_statistics().
struct StoreCounts {
  std::uint64_t loads = 0, joined_loads = 0;
  std::uint64_t stores = 0, unstored = 0, promotions = 0, demotions = 0, recompressions = 0, drops = 0;
  std::int64_t moved_bytes = 0;
  std::uint64_t whole_loads = 0;  ///< reads of what compressed copies lack
  std::int64_t whole_bytes = 0;   ///< of these
};

/// Stores puts what was computed into tiers, as the placement decides.
class Stores {
 public:
  /// The outcome of making room in a tier: it is there, it may be there later, or the incoming object stays outside.
  enum class Room { made, none, refused };

  /// All of it outlives this.
  Stores(engine::Simulator& simulator, const models::QualityTable& profiled, const Tiers& tiers, StoredObjects& objects,
         Moves& moves, const Loads& loads, StoreCounts& counts)
      : simulator_(simulator),
        profiled_(profiled),
        tiers_(tiers),
        objects_(objects),
        moves_(moves),
        loads_(loads),
        counts_(counts) {}

  /// See TieredStore.
  void preload(std::size_t replica, std::span<const ObjectId> objects);
  void store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
             std::uint64_t owner);
  void withdraw(std::uint64_t owner);

  /// Makes room for `bytes` more that belong to the tier. Changes that were not enough stay. Copies on their way out
  /// continue from a bounce buffer where the KV of the incoming object can wait no longer.
  Room make_room(TierIndex tier, std::int64_t bytes, ObjectId incoming);
  /// Somewhere there may be room that was not there: what waits is tried again after everything else of this instant.
  void retry_soon();

 private:
  /// Objects of one request that are to be stored, in order.
  struct Pending {
    std::size_t replica = 0;
    std::uint64_t owner = 0;
    std::vector<ObjectId> before;  // what they continue
    std::vector<ObjectId> objects;
    bool buffered = false;  // their KV has left the GPU
  };
  class Incoming;

  [[nodiscard]] bool waits(TierIndex tier, ObjectId incoming, const Change& change) const;
  bool apply(const Change& change);
  bool reassign(const Change& change);
  Room settle(const Change& where);
  void move(const Change& change);
  [[nodiscard]] bool is_there(ObjectId id) const;
  void store_or_wait(Pending chain);
  void store_some(Pending& chain);
  [[nodiscard]] bool is_over(const Pending& chain);
  void begin_stores(std::size_t replica, std::uint64_t owner);
  void retry_stores();

  engine::Simulator& simulator_;
  const models::QualityTable& profiled_;
  const Tiers& tiers_;
  StoredObjects& objects_;
  Moves& moves_;
  const Loads& loads_;
  StoreCounts& counts_;
  std::deque<Pending> pending_;
  std::vector<ObjectId> fresh_;  // belong to a tier, and their bytes have not set out yet
  bool retry_planned_ = false;
  bool last_chance_ = false;  // the KV of what is being stored is about to leave the GPU
};

}  // namespace kvsim::cache
