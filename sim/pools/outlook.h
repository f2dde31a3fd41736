// What dispatchers see of the pools: where a request has room now, and how long what it would do there takes as things
// are.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/node.h"
#include "sim/pools/reloads.h"
#include "sim/pools/round_lengths.h"
#include "sim/pools/storage_network.h"
#include "sim/pools/stored_prompts.h"

namespace kvsim::pools {

/// The nodes of both pools.
struct Nodes {
  std::vector<std::unique_ptr<Node>> local, remote;

  /// All of it outlives them; each has so many bytes for KV.
  Nodes(const serving::GroupEnvironment& environment, StepListener& listener, std::int64_t kv_capacity_bytes,
        const StorageNetwork& network);

  /// do_it(node) for each, local ones first.
  template <class Do>
  void each(Do&& do_it) const {
    for (const auto* pool : {&local, &remote}) {
      for (const auto& node : *pool) do_it(*node);
    }
  }
};

/// What it is made of; all of it outlives it.
struct OutlookParts {
  const engine::Simulator& simulator;
  const serving::ServingConfig& config;
  std::span<const models::Path> paths;
  const Nodes& nodes;
  const RequestMemory& memory;
  const StorageNetwork& network;
  const StoredPrompts& stored;
  const Reloads& reloads;
  const RoundLengths& lengths;
  Dispatcher& dispatcher;
};

class Outlook final : public PoolsView {
 public:
  explicit Outlook(const OutlookParts& parts);

  /// Whether it fits into empty nodes.
  [[nodiscard]] bool could_ever_run(const PoolRequest& r, models::Path path) const;

  [[nodiscard]] engine::SimTime now() const override { return parts_.simulator.now(); }
  [[nodiscard]] std::span<const models::Path> paths() const override { return parts_.paths; }
  [[nodiscard]] std::optional<Placement> room(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] Node* local_for_reloads() const override;
  [[nodiscard]] double expected_s(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double first_load_s(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double reload_s(const PoolRequest& r, const Node& local) const override;
  [[nodiscard]] double backlog_s(const Node& node) const override;
  [[nodiscard]] double late_reloads_s(const PoolRequest& r, const Node& local) const override;
  [[nodiscard]] double reload_load(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double expected_rounds(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] double drafting_s(const Node& remote) const override {
    return static_cast<double>(parts_.lengths.usual()) / parts_.lengths.tokens_per_step() * remote.gpus().iteration_s();
  }
  [[nodiscard]] double reload_bytes(const PoolRequest& r) const override;
  [[nodiscard]] double reload_room(const Node& node) const override;

 private:
  [[nodiscard]] Node* local_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] Node* remote_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] bool room_for_good(const PoolRequest& r, models::Path path, const Node& node, bool keeps_room) const;
  [[nodiscard]] bool expects_stateless(const PoolRequest& r) const;
  [[nodiscard]] bool room_for_reloads(const PoolRequest& r, const Node& node) const;

  /// Of a round: its drafts, and the verdict on them.
  [[nodiscard]] double messages_s() const { return 2 * parts_.config.cluster.pools->message_latency_s; }

  OutlookParts parts_;
  bool weighted_;
  bool may_be_stateless_;  // requests may take a stateless path
};

}  // namespace kvsim::pools
