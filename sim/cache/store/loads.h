// Loads under way, and who waits for them: what is found crosses the links once for all of a replica's requests that
// want it meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/cache/store/tiers.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"

namespace kvsim::cache {

class Loads {
 public:
  /// Objects that come from one tier together.
  struct Batch {
    TierIndex tier = kNoTier;
    std::size_t replica = 0;
    std::int64_t bytes = 0;
    engine::SimTime since;
    std::vector<ObjectId> objects;  ///< that are read
    std::vector<std::uint64_t> loads;
    bool shared = true;  ///< with whoever wants its objects
  };
  /// A load that is put together: a batch for each tier that it reads.
  struct Begun {
    std::uint64_t load = 0;
    std::size_t replica = 0;
    bool shared = true;
    std::vector<std::pair<TierIndex, std::uint64_t>> batches{};
  };

  /// `simulator` and `tiers` outlive the loads. `arrived` runs with the number of a batch as its word when its last
  /// byte has come; finish(take()) must follow.
  Loads(const engine::Simulator& simulator, const Tiers& tiers, engine::Callback arrived)
      : simulator_(simulator), tiers_(tiers), arrived_(arrived) {}

  /// `done` runs in finish() of the last of its batches. No load joins one that is not `shared`.
  [[nodiscard]] Begun begin(std::size_t replica, bool shared, engine::Callback done);
  /// The load waits for an object that is on its way to the replica; false where it is not.
  [[nodiscard]] bool join(const Begun& begun, ObjectId id);
  /// It reads so many bytes of an object (kNoObject: of none that has to stay) from a tier.
  void add(Begun& begun, TierIndex tier, ObjectId id, std::int64_t bytes);
  /// Its batches set out; there is something to wait for.
  void submit(const Begun& begun, std::uint64_t owner, const char* kind);

  /// A batch has arrived: nobody joins it any more.
  [[nodiscard]] Batch take(std::uint64_t id);
  void finish(const Batch& batch);
  [[nodiscard]] bool under_way() const { return batches_.size() > 0; }

 private:
  struct Load {
    std::size_t pending = 0;
    engine::Callback done;
  };

  std::uint64_t batch_of(Begun& begun, TierIndex tier);
  void wait(std::uint64_t batch, std::uint64_t load);

  const engine::Simulator& simulator_;
  const Tiers& tiers_;
  engine::Callback arrived_;
  engine::SlotTable<Batch> batches_;
  engine::SlotTable<Load> loads_;
  std::unordered_map<std::uint64_t, std::uint64_t> on_their_way_;  // batch by object and replica
};

}  // namespace kvsim::cache
