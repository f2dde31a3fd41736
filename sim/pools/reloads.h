// Full KV read anew for every verification (stateless paths): which requests of each local node want it, when a reload
// starts, and with which memory.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/pools/loads.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"

namespace kvsim::pools {

class Reloads {
 public:
  /// All of it outlives this; `local` are all local nodes.
  Reloads(engine::Simulator& simulator, const serving::ServingConfig& config, const RequestMemory& memory,
          const StorageNetwork& network, std::span<Site> local, Loads& loads);

  // A stateless request is verified on its local node, has begun to draft, and needs that node no more.
  void join(PoolRequest& r);
  void drafts(PoolRequest& r);
  void leave(PoolRequest& r);

  /// For the round that begins now, whose drafts are expected at DraftRound::due; from when on, if not just in time.
  void wish(PoolRequest& r, std::optional<engine::SimTime> from);
  /// It is not wanted any more, or has been used.
  void withdraw(PoolRequest& r);
  /// Its drafts wait on the local node, and if its reload has not begun, for that.
  void drafts_wait(const PoolRequest& r);
  /// Those whose time has come, in the order in which their drafts are due, as far as the link and the memory allow.
  void start(Site& local);
  /// At once, where the memory allows it and, while turns are taken, no other has any.
  bool start_now(PoolRequest& r);
  /// Memory of a claim was released.
  void released(PoolRequest& r);

  /// Memory or the link of a local node fell free: start_changed() looks at it again.
  void changed(const Site& local) {
    if (!std::exchange(of(local).changed, true)) changed_.push_back(local.index());
  }
  void start_changed();
  /// Somebody has waited for local memory for too long: while that is so, a node has one reload at a time, so that its
  /// room adds up.
  void take_turns(bool turns) { turns_ = turns; }
  [[nodiscard]] bool taking_turns() const { return turns_; }

  /// Seconds that one takes on a free link.
  [[nodiscard]] double length_s(const PoolRequest& r, const Site& local) const;
  /// Time from which a verification may begin during a reload under way, if its last layers come as the link is now
  /// (schedule.arrival: layerwise). Nothing where the reload has to be whole, or that is not known yet.
  [[nodiscard]] std::optional<engine::SimTime> in_time_from(const PoolRequest& r) const;
  // Figures of a local node: requests that draft; those whose drafts wait for a reload that has not begun; memory
  // reserved for reloads; bytes of the largest one of any request there; and whether one that is due found no memory.
  [[nodiscard]] std::int64_t drafting(const Site& local) const { return of(local).drafting; }
  [[nodiscard]] std::int64_t late(const Site& local) const;
  [[nodiscard]] std::int64_t bytes(const Site& local) const { return of(local).bytes; }
  [[nodiscard]] std::int64_t largest(const Site& local) const { return of(local).largest; }
  [[nodiscard]] bool starved(const Site& local) const { return of(local).starved; }

 private:
  /// A wish that was not begun, with what of its request decides when it does: all of a node are looked at often.
  struct Due {
    PoolRequest* request;
    std::uint64_t id;
    std::int64_t bytes;                   // of the whole reload over the link
    std::optional<engine::SimTime> from;  // the dispatcher's wish; none: just in time
    engine::SimTime due;                  // DraftRound::due
    bool drafts_wait = false;
  };
  struct NodeReloads {
    Site* node = nullptr;
    std::vector<PoolRequest*> stateless;  // verified there
    std::vector<Due> due;
    std::int64_t drafting = 0;
    std::int64_t bytes = 0;
    std::int64_t largest = 0;
    bool starved = false;
    bool changed = false;
    engine::EventHandle timer;
  };

  [[nodiscard]] NodeReloads& of(const Site& local) { return nodes_[local.index()]; }
  [[nodiscard]] const NodeReloads& of(const Site& local) const { return nodes_[local.index()]; }
  [[nodiscard]] engine::SimTime start_of(const Due& due, const StorageNetwork::ReadTime& read, double backlog_s) const;
  static void forget(NodeReloads& node, const PoolRequest& r);
  void on_timer(std::uint64_t node);

  engine::Simulator& simulator_;
  const serving::ServingConfig& config_;
  const RequestMemory& memory_;
  const StorageNetwork& network_;
  Loads& loads_;
  std::vector<NodeReloads> nodes_;
  std::vector<std::size_t> changed_, looked_at_;  // of nodes; the second is kept for its memory
  bool turns_ = false;
};

}  // namespace kvsim::pools
