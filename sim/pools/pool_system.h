// Two pools of nodes around a storage node, and every request's way through them: queued, placed, loaded, drafting and
// verified (or decoding), finished.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "sim/memory/prefix_store.h"
#include "sim/pools/dispatcher.h"
#include "sim/pools/node.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/request_log.h"
#include "sim/serving/simulation.h"

namespace kvsim::pools {

class PoolSystem final : public serving::ServingSystem, private StepListener, private PoolsView {
 public:
  explicit PoolSystem(const serving::RunEnvironment& environment);

  [[nodiscard]] std::string submit(serving::Request& request, const models::RequestSpec& spec) override;
  void start_measuring() override;
  void finish_measuring() override;
  void check_conservation() const override;
  [[nodiscard]] serving::LoadSample load() override;
  [[nodiscard]] std::int64_t kv_capacity() const override;
  [[nodiscard]] std::vector<std::string> fallbacks() const override { return timer_.fallbacks(); }

 private:
  /// Requests that wait together: one queue for each path, and one for those whose path is not decided.
  struct Queue {
    std::deque<PoolRequest*> waiting;
    engine::SimTime head_since;  // since when its first one is the first
  };
  struct Upload {
    std::vector<std::uint64_t> blocks;
    std::uint64_t request = 0;
    bool resumes = false;  // the request goes on when it is over
  };

  // Arrival and placement (placement.cpp).
  void enqueue(PoolRequest& r);
  void count_queued(std::int64_t change);
  void fit_blocks(PoolRequest& r, const models::RequestSpec& spec) const;
  [[nodiscard]] bool could_ever_run(const PoolRequest& r, models::Path path) const;
  void changed(Node& node);
  void settle_soon();
  void settle();
  void place_waiting();
  bool place_head(Queue& queue);
  void start(PoolRequest& r, const Placement& placement);
  void count_loads(const memory::MemoryClaim& claim, std::int64_t tokens);
  [[nodiscard]] Node* local_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] Node* remote_room(const PoolRequest& r, models::Path path) const;
  [[nodiscard]] bool room_for_good(const PoolRequest& r, models::Path path, const Node& node, bool keeps_room) const;
  [[nodiscard]] bool expects_stateless(const PoolRequest& r) const;
  [[nodiscard]] bool room_for_reloads(const PoolRequest& r, const Node& node) const;
  [[nodiscard]] std::size_t stored_blocks(const PoolRequest& r) const;
  [[nodiscard]] std::int64_t stored_tokens(const PoolRequest& r) const;
  [[nodiscard]] bool out_of_patience(const Queue& queue) const;

  // What dispatchers see.
  [[nodiscard]] engine::SimTime now() const override { return env_.simulator.now(); }
  [[nodiscard]] std::span<const models::Path> paths() const override { return paths_; }
  [[nodiscard]] std::optional<Placement> room(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] Node* local_for_reloads() const override;
  [[nodiscard]] double expected_s(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double first_load_s(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double reload_s(const PoolRequest& r, const Node& local) const override;
  [[nodiscard]] double backlog_s(const Node& node) const override;
  [[nodiscard]] double late_reloads_s(const PoolRequest& r, const Node& local) const override;
  [[nodiscard]] double reload_load(const PoolRequest& r, const Placement& placement) const override;
  [[nodiscard]] double expected_rounds(const PoolRequest& r, models::Path path) const override;
  [[nodiscard]] double reload_bytes(const PoolRequest& r) const override;
  [[nodiscard]] double reload_room(const Node& node) const override;

  // Loading (loading.cpp).
  void load(PoolRequest& r, Node& node, Claim claim, std::int64_t bytes, const char* kind);
  void on_arrival(std::uint64_t word);
  void sweep(Node& node);
  void on_complete(PoolRequest& r, Claim claim);
  void drop(PoolRequest& r, Node& node, Claim claim);
  void on_local_complete(PoolRequest& r);
  void on_remote_complete(PoolRequest& r);
  void upload(PoolRequest& r, Node& node, std::int64_t tokens, bool resumes);
  void on_uploaded(std::uint64_t upload);
  void load_rest(PoolRequest& r);
  void on_rest(std::uint64_t id);

  // Rounds and tokens (rounds.cpp).
  void on_step(Node& node, const StepEntry& entry) override;
  void on_prefilled(Node& node, PoolRequest& r);
  void start_decoding(Node& node, PoolRequest& r);
  void start_drafting(PoolRequest& r);
  void begin_round(PoolRequest& r);
  void on_drafted(PoolRequest& r);
  void on_drafts_here(std::uint64_t id);
  void verify_if_ready(PoolRequest& r);
  void on_verified(PoolRequest& r);
  void on_verdict(std::uint64_t id);
  void go_alone(PoolRequest& r);
  void on_caught_up(PoolRequest& r);
  std::int64_t settle_round(PoolRequest& r);
  void emit_directly(PoolRequest& r);
  void count_prompt(PoolRequest& r);
  void finish(PoolRequest& r);
  void leave(PoolRequest& r);
  void leave_local(PoolRequest& r);
  void forget_if_free(PoolRequest& r);
  void forget(std::uint64_t id);

  // Reloads (loading.cpp).
  void wish_reload(PoolRequest& r);
  void withdraw_reload(PoolRequest& r);
  void start_reloads(Node& node);
  [[nodiscard]] engine::SimTime reload_start(const PoolRequest& r) const;
  bool start_reload(PoolRequest& r);
  void on_reload_timer(std::uint64_t node);

  [[nodiscard]] PoolRequest* find(std::uint64_t id) const {
    return id < requests_.size() ? requests_[id].get() : nullptr;
  }
  [[nodiscard]] serving::PathMeasurement& path_sums(const PoolRequest& r) {
    return env_.measured.paths.at(models::index_of(r.path));
  }
  [[nodiscard]] std::vector<std::unique_ptr<Node>>& nodes_of(Pool pool) {
    return pool == Pool::local ? local_ : remote_;
  }

  serving::RunEnvironment env_;
  const serving::ServingConfig& config_;
  const serving::PoolsConfig& pools_;
  const serving::DecodePolicy& decode_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  models::AcceptanceModel acceptance_;
  double accepted_per_round_ = 0;  // expected tokens of a full round
  std::vector<models::Path> paths_;
  bool may_be_stateless_ = false;  // requests may take a stateless path
  serving::RequestLog log_;
  StorageNetwork network_;
  RequestMemory memory_;
  NodeEnvironment node_environment_;
  std::vector<std::unique_ptr<Node>> local_, remote_;
  std::optional<memory::PrefixStore> store_;  // prefill: prefix_cache
  std::unique_ptr<Dispatcher> dispatcher_;
  std::vector<std::unique_ptr<PoolRequest>> requests_;  // by id
  std::array<Queue, models::kPaths + 1> queues_;
  std::vector<Queue*> heads_;  // while requests are placed; kept for its memory
  std::unordered_map<std::uint64_t, Upload> uploads_;
  std::uint64_t next_upload_ = 1;
  bool settle_pending_ = false;
  std::int64_t queued_ = 0;  // in all queues
  int queue_counter_ = -1;
  bool local_drains_ = false;  // somebody has waited for local memory for too long: reloads take turns
  engine::EventHandle retry_;
  std::uint64_t store_hits_ = 0, store_misses_ = 0;
};

}  // namespace kvsim::pools
