// Tiers of memory and storage that hold objects for later: the mechanism. A Placement decides what belongs where and as
// what; the store makes room, moves the bytes over links that loads use too, compresses on CPU workers, and keeps what
// is being read until its last reader is done.
//
// Decisions count at once: an object belongs to its new tier as soon as that is decided. Its bytes follow; until they
// have arrived its old copy can be read, and takes up room beside what belongs to the tier it leaves. Both together
// exceed a tier's capacity only by what is in a bounce buffer. An object made smaller where it is takes the place of
// the larger form when it is ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/placement/placement.h"
#include "sim/cache/store/loads.h"
#include "sim/cache/store/moves.h"
#include "sim/cache/store/stored_objects.h"
#include "sim/cache/store/stores.h"
#include "sim/cache/store/tiers.h"
#include "sim/engine/simulator.h"
#include "sim/transport/fabric.h"

namespace kvsim::cache {

/// A stored copy that can be read now.
struct Found {
  ObjectId id = kNoObject;  ///< kNoObject: there is none
  std::size_t level = 0;    ///< of StoreConfig::tiers
  models::OptionIndex option = 0;
  float quality = 1;  ///< as profiled
};

class TieredStore {
 public:
  /// All but `config` and `make_placement` outlives the store. Its links and lanes are the fabric's. Throws
  /// std::invalid_argument where the tiers make no sense.
  TieredStore(engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
              const models::OptionPool& pool, const models::QualityTable& profiled,
              const MakePlacement& make_placement);
  TieredStore(const TieredStore&) = delete;

  /// The object of this content in the tiers that a replica has for itself (or all share), known from now on.
  /// `share`: see CachedObject.
  ObjectId object(std::size_t replica, std::uint64_t key, std::int64_t full_bytes, std::int64_t tokens,
                  models::CurveIndex curve, float share = 1);
  [[nodiscard]] const ObjectTable& objects() const { return objects_.table(); }

  /// Puts objects of object() where they would go if they were stored one after the other, the first being the most
  /// wanted, and nothing gave way: down to where there is room. They are there at once, and no bytes move.
  void preload(std::size_t replica, std::span<const ObjectId> objects) { stores_.preload(replica, objects); }

  /// A copy for the replica to read. Where objects are kept whole beside what was stored of them, a compressed one
  /// counts from when its whole copy is there.
  [[nodiscard]] Found find(std::size_t replica, std::uint64_t key) const;
  /// Grows whenever that may be another one for any content.
  [[nodiscard]] std::uint64_t changes() const { return objects_.changes() + whole_.changes(); }

  /// Loads what find() returned now, all of it; `done` runs when the last byte is on the replica, never within the
  /// call. Transfers on their way there for another request are shared.
  void load(std::size_t replica, std::span<const ObjectId> found, std::uint64_t owner, engine::Callback done);

  struct Missing {
    ObjectId id = kNoObject;  ///< as it was found
    std::int64_t bytes = 0;   ///< that its stored copy lacks
  };
  /// Loads what compressed copies lack from wherever the object is whole: from the tier it is in, if its copy there is
  /// whole by now, else from the last one (StoreConfig::keeps_whole). Such a load is not shared.
  void load_missing(std::size_t replica, std::span<const Missing> missing, std::uint64_t owner, engine::Callback done);
  /// Seconds of links that both would take now, one tier after the other, of links that nothing else uses. A device
  /// that replicas share counts as their equal part of it. It joins no load that is under way.
  [[nodiscard]] double load_s(std::size_t replica, std::span<const ObjectId> found) const;
  [[nodiscard]] double load_missing_s(std::size_t replica, std::span<const Missing> missing) const;

  /// A request of the replica used these, the last one first; those that were found under another name count there,
  /// too.
  void used(std::span<const ObjectId> own, std::span<const ObjectId> found);

  /// Stores objects of object() whose full KV is in the replica's GPU memory now; those that are there or on their way
  /// already are passed over. `before`: the objects that a chain begins with, which stay more recent than these.
  /// Objects that find no room wait for it.
  void store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
             std::uint64_t owner) {
    stores_.store(replica, computed, before, owner);
  }
  /// Stores an object whose stored copy a new profile replaces. The old copy gives way, unless something reads or moves
  /// it.
  void store_again(std::size_t replica, ObjectId computed);
  /// The KV leaves the GPU: what still waits is stored now, or waits in a bounce buffer.
  void withdraw(std::uint64_t owner) { stores_.withdraw(owner); }

  /// The profile of a curve, which the objects of this content have, is another one.
  void profile_changed(models::CurveIndex curve, std::uint64_t key) { objects_.profile_changed(curve, key); }

  [[nodiscard]] StoreCounts counts() const;
  [[nodiscard]] std::size_t levels() const { return tiers_.config().tiers.size(); }
  [[nodiscard]] const std::string& level_name(std::size_t level) const { return tiers_.config().tiers[level].name; }

  struct LevelUse {
    std::int64_t peak_bytes = 0;  ///< of the fullest tier of the level, copies on their way out included: above its
                                  ///< capacity, these were in a bounce buffer
    std::uint64_t evictions = 0;  ///< objects that had to leave
    std::vector<std::uint64_t> objects_by_option;
    std::int64_t bytes = 0, full_bytes = 0;  ///< of what belongs there now
    std::int64_t whole_bytes = 0;            ///< of copies kept whole, beside that
  };
  [[nodiscard]] LevelUse level_use(std::size_t level) const;
  /// Forgets counts, and peaks and evictions by level: the end of a warm-up.
  void reset_statistics();

  /// Every byte is accounted for in its tier. Throws engine::InvariantViolation.
  void check_conservation() const { objects_.check_conservation(); }

 private:
  void tiers_changed() { objects_.placement().tiers_changed(); }
  /// The tier to read what a copy lacks from; kNoObject where that is the copy kept whole.
  [[nodiscard]] std::pair<TierIndex, ObjectId> source_of(std::size_t replica, const Missing& missing) const;
  void on_batch(std::uint64_t batch);
  void end_read(ObjectId id);
  void consider_promotion(ObjectId id, std::size_t replica);
  void promote(ObjectId id, std::size_t replica, TierIndex to);

  engine::Simulator& simulator_;
  std::size_t options_;  // of the pool
  Tiers tiers_;
  StoredObjects objects_;
  WholeCopies whole_;
  Moves moves_;
  Loads loads_;
  StoreCounts counts_;
  Stores stores_;
};

}  // namespace kvsim::cache
