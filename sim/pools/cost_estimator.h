// Estimates of the pools for dispatchers: where a request has room now, and how long its work there takes as things
// are.
#pragma once

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/bound_tree.h"
#include "sim/engine/row.h"
#include "sim/engine/simulator.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/reloads.h"
#include "sim/pools/round_lengths.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"
#include "sim/pools/stored_prompts.h"

namespace kvsim::pools {

/// The nodes of both pools.
struct Sites {
  engine::Row<Site> all;  ///< local ones first
  std::span<Site> local, remote;

  /// All of it outlives them. `environments`: by pool. `changed`: see Site::touch().
  Sites(const std::array<serving::InstanceEnvironment, 2>& environments, serving::Route& route,
        std::vector<Site*>& changed, const StorageNetwork& network);

  /// do_it(node) for each, local ones first.
  template <class Do>
  void each(Do&& do_it) const {
    for (Site& node : all.made()) do_it(node);
  }
};

/// Parts of the estimator; all of it outlives it.
struct CostEstimatorParts {
  const engine::Simulator& simulator;
  const serving::ServingConfig& config;
  const serving::PoolsConfig& pools;
  std::span<const models::Path> paths;
  const Sites& nodes;
  const RequestMemory& memory;
  const StorageNetwork& network;
  const StoredPrompts& stored;
  const Reloads& reloads;
  const RoundLengths& lengths;
  Dispatcher& dispatcher;
  std::vector<Site*>& changed;  ///< nodes about which bounds may be out of date
};

/// Best case of a node as a place for a request, or of any of several nodes.
struct NodeBounds {
  std::int64_t room = -1;          ///< most that a request may hold there for good beside reloads
  std::int64_t room_in_turn = -1;  ///< the same, 0 and less where a reload waits for memory
  std::int64_t beside = -1;        ///< the same and another reload together
  std::int64_t reload = -1;        ///< longest reload, in bytes of memory
  std::int64_t available = -1;     ///< KvMemory::available()
  std::int64_t stateless = std::numeric_limits<std::int64_t>::max();  ///< fewest such requests
  double backlog_until_s = std::numeric_limits<double>::infinity();   ///< StorageNetwork::backlog_until_s()

  static NodeBounds worst() { return {}; }
  /// At `now_s`, no more than CostEstimator::backlog_s() of any node with these bounds.
  [[nodiscard]] double least_backlog_s(double now_s) const;
  void take_better(const NodeBounds& other);
  bool operator==(const NodeBounds&) const = default;
};

class CostEstimator final : public PoolsView {
 public:
  explicit CostEstimator(const CostEstimatorParts& parts);

  /// Whether it fits into empty nodes.
  [[nodiscard]] bool could_ever_run(const PoolRequest& r, models::Path path) const;

  /// A request may be assigned next. Results for it hold until the next call: nothing happens meanwhile.
  void look_anew();

  [[nodiscard]] engine::SimTime now() const override { return parts_.simulator.now(); }
  [[nodiscard]] std::span<const models::Path> paths() const override { return parts_.paths; }
  [[nodiscard]] std::optional<Assignment> room(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] Site* local_for_reloads() const override;
  [[nodiscard]] double expected_s(const PoolRequest& r, const Assignment& assignment) const override;
  [[nodiscard]] double first_load_s(const PoolRequest& r, const Assignment& assignment) const override;
  [[nodiscard]] double reload_s(const PoolRequest& r, const Site& local) const override;
  [[nodiscard]] double backlog_s(const Site& node) const override;
  [[nodiscard]] double late_reloads_s(const PoolRequest& r, const Site& local) const override;
  [[nodiscard]] double reload_load(const PoolRequest& r, const Assignment& assignment) const override;
  [[nodiscard]] double expected_rounds(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] double drafting_s(const Site& remote) const override {
    return static_cast<double>(parts_.lengths.usual()) / parts_.lengths.tokens_per_step() * remote.gpus().iteration_s();
  }
  [[nodiscard]] double reload_bytes(const PoolRequest& r) const override;
  [[nodiscard]] double reload_room(const Site& node) const override;

 private:
  /// The best node for requests that would hold so much there, stateless ones or in compressed form; null: none.
  struct Place {
    bool kind;
    std::int64_t own;
    Site* node;
  };
  /// Several paths need the same of a pool: what is found for one is found for the others.
  struct Found {
    std::vector<Place> local, remote;
    std::optional<bool> expects_stateless;
  };

  [[nodiscard]] bool holds_for_good(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] Site* local_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] Site* remote_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] bool room_for_good(const PoolRequest& r, const Site& node, std::int64_t own, bool keeps_room) const;
  /// Brings the bounds of nodes that have changed up to date.
  void renew_bounds() const;
  [[nodiscard]] NodeBounds bounds_of(const Site& node) const;
  /// backlog_s(); where the bounds had promised much less, they are renewed before the next search.
  [[nodiscard]] double seen_backlog_s(Site& node) const;
  [[nodiscard]] Site* best_local(const PoolRequest& r, models::Path path, std::int64_t own) const;
  [[nodiscard]] Site* best_remote(const PoolRequest& r, models::Path path, std::int64_t own) const;
  [[nodiscard]] bool expects_stateless(const PoolRequest& r) const;
  [[nodiscard]] bool look_for_stateless(const PoolRequest& r) const;
  [[nodiscard]] bool room_for_reloads(const PoolRequest& r, const Site& node) const;

  /// Message time of a round: its drafts, and the verdict on them.
  [[nodiscard]] double messages_s() const { return 2 * parts_.pools.message_latency_s; }

  CostEstimatorParts parts_;
  mutable std::array<engine::BoundTree<NodeBounds>, 2> bounds_;  // by pool; of all nodes, as they are or better
  mutable Found found_;                                          // since look_anew()
  bool weighted_;
  bool may_be_stateless_;  // requests may take a stateless path
};

}  // namespace kvsim::pools
