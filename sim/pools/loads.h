// KV on its way from the storage node to the claims that requests hold on nodes: loads, which also wait for blocks that
// others load, and the rest of a prompt's KV, layer by layer (P2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"

namespace kvsim::pools {

/// Which of a request's claims a load fills.
enum class Claim : std::uint8_t { local, remote, reload };

/// Hears what has arrived, and what fell free.
class LoadsListener {
 public:
  virtual ~LoadsListener() = default;
  /// A load is over: everything of the claim is there, or it was released as nobody wanted it any more.
  virtual void on_loaded(PoolRequest& r, Claim claim, bool wanted) = 0;
  /// A claim on the node was released.
  virtual void on_released(PoolRequest& r, Claim claim, Site& node) = 0;
  /// A reload is on its way, or what was before it on the link has arrived: coming() may answer, or answer otherwise.
  virtual void on_nearer(PoolRequest& r) = 0;
  /// The rest of its KV has reached the remote node.
  virtual void on_whole(PoolRequest& r) = 0;
};

class Loads {
 public:
  /// All of it outlives this.
  Loads(engine::Simulator& simulator, const serving::ClusterConfig& cluster, const StorageNetwork& network,
        const RequestTable& requests, LoadsListener& listener);

  /// `bytes` to a node, for a claim of it; `kind` for the trace.
  void load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes, const char* kind);
  /// Expects bytes that something else loads. Call the result once, not from within this, when all have arrived.
  [[nodiscard]] engine::Callback expect(PoolRequest& r, Site& node, Claim claim) { return expect(r, node, claim, 0); }
  /// Releases a claim, now or when what is on its way for it has arrived.
  void drop(PoolRequest& r, Site& node, Claim claim);
  /// Reloads on their way to a local node, or queued for its link.
  [[nodiscard]] std::int64_t reloads(const Site& local) const { return of(local).reloads; }

  /// Rest of a reload that waits only for its own transfer, which is under way. It is the time left as the link is now;
  /// beside it, the time of all of its bytes.
  struct Coming {
    engine::Duration left;
    double all_s = 0;
  };
  [[nodiscard]] std::optional<Coming> coming(const PoolRequest& r) const;

  /// `bytes` in all, of so many layers, when nothing more urgent waits for the remote node's link.
  void load_rest(PoolRequest& r, std::int64_t bytes, std::int64_t layers);
  /// Cancels the part of it that was not sent yet.
  void cancel_rest(PoolRequest& r);

 private:
  struct Load {
    PoolRequest* request = nullptr;
    Claim claim = Claim::local;
    std::int64_t bytes = 0;
    transport::TransferId transfer{};  // 0: nothing had to be sent
    bool arrived = false;              // its own transfer is over
    bool leaves = false;               // not wanted any more: the claim is released when everything is there
  };
  struct NodeLoads {
    std::vector<Load> all;  // under way, or waiting for what others load
    std::int64_t reloads = 0;
  };

  engine::Callback expect(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes);
  void on_arrival(std::uint64_t word);
  void tell_reloads(const Site& node);
  void sweep(Site& node);
  void send_rest(PoolRequest& r);
  void on_rest(std::uint64_t id);
  [[nodiscard]] NodeLoads& of(const Site& node) {
    return nodes_.at(static_cast<std::size_t>(node.pool())).at(node.index());
  }
  [[nodiscard]] const NodeLoads& of(const Site& node) const {
    return nodes_.at(static_cast<std::size_t>(node.pool())).at(node.index());
  }

  engine::Simulator& simulator_;
  const StorageNetwork& network_;
  const RequestTable& requests_;
  LoadsListener& listener_;
  std::array<std::vector<NodeLoads>, 2> nodes_;  // by pool
};

}  // namespace kvsim::pools
