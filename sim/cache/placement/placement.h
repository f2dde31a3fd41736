// The placement decides where objects go. It sees objects and tiers and says what to change; the tiered store carries
// it out, moves the bytes, and reports back. It advances no clock.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/time.h"

namespace kvsim::cache {

// Facts about every stored object: how large it is, where it is and as what.

/// One object in one hierarchy of tiers. `tier` and `option` are where it belongs by decision; bytes may still be on
/// their way there.
struct CachedObject {
  std::uint64_t key = 0;  ///< its content: number of a context, or a block's hash
  std::int64_t full_bytes = 0;
  std::int64_t tokens = 0;
  models::CurveIndex curve = 0;    ///< in the quality tables
  float share = 1;                 ///< of a request's quality that this object decides: a block's tokens / its prompt's
  TierIndex tier = kNoTier;        ///< kNoTier: not stored
  models::OptionIndex option = 0;  ///< of the pool
  float quality = 1;               ///< as profiled, of the representation it is in: lower than its option's where it
                                   ///< went through a worse one
};

/// By ObjectId.
using ObjectTable = std::vector<CachedObject>;

/// A tier as a placement sees it.
struct TierFacts {
  std::string name;
  std::int64_t capacity_bytes = std::numeric_limits<std::int64_t>::max();  ///< for objects that belong to it
  TierIndex next = kNoTier;     ///< the tier below; kNoTier: what leaves this one is lost
  double read_bytes_per_s = 0;  ///< to the GPU, as believed now; > 0
  double read_latency_s = 0;    ///< of every load, beside its bytes
};

struct Change {
  ObjectId object = kNoObject;
  TierIndex tier = kNoTier;  ///< where it belongs from now on: where it was, or a tier below; kNoTier: it is dropped
  models::OptionIndex option = 0;
};

class Placement {
 public:
  virtual ~Placement() = default;

  /// Where a new object goes, and as what; it does not fit above `first`, the highest tier to consider. The object is
  /// in the table, with tier kNoTier. kNoTier: it is not stored.
  virtual Change place_new(ObjectId id, TierIndex first) = 0;

  /// The object belongs to table[id].tier, as table[id].option, from now on; it was nowhere or in `from` before.
  virtual void moved(ObjectId id, TierIndex from) = 0;
  /// It was dropped; it was in `from`.
  virtual void dropped(ObjectId id, TierIndex from) = 0;
  /// A request uses it now: it is in table[id].tier, or (tier kNoTier) had to be computed.
  virtual void used(ObjectId id, engine::SimTime now) = 0;
  /// It counts as used as lately as what came in last, and no more often than before.
  virtual void touched(ObjectId) {}

  /// `to` is the same content in other tiers: how often `from` was used counts for it, too.
  virtual void renamed(ObjectId from, ObjectId to) {
    (void)from;
    (void)to;
  }

  /// It is being read or moved and must not be chosen until released() (calls do not nest).
  virtual void held(ObjectId id) = 0;
  virtual void released(ObjectId id) = 0;

  /// Whether what is loaded from table[id].tier should belong to the higher tier `to` from now on. It takes
  /// `bytes` there, of which `free` are free.
  virtual bool promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) = 0;

  /// Whether a new object is itself among those that make room for it: it belongs to its tier before room is made, and
  /// may go on from there. Else it enters once there is room.
  [[nodiscard]] virtual bool weighs_incoming() const { return false; }

  /// The next change that makes `tier` hold less, for the sake of `incoming` (or kNoObject), as long as it lacks
  /// `need_bytes` >= 1; one change may free less. None where all that is in the tier is held, or it is empty. A change
  /// of `incoming` that is not in the tier: it is better left outside of this tier. Else the change is applied, and
  /// reported by moved() or dropped(), before the next call, or refused by calling nothing.
  virtual std::optional<Change> relieve(TierIndex tier, ObjectId incoming, std::int64_t need_bytes) = 0;

  /// Beliefs in TierFacts changed, or the profile of a curve did.
  virtual void tiers_changed() = 0;
  virtual void profile_changed(models::CurveIndex curve) = 0;
};

}  // namespace kvsim::cache
