// Transfers over routes of several shared links, each transfer at its max-min fair rate: no transfer can go faster
// without slowing one that is no faster. Rates change only when a transfer starts or ends or a bandwidth changes, and
// only in the connected component of links and transfers that it touches.
// Source: D. Bertsekas and R. Gallager, Data Networks, 2nd ed., 1992, section 6.5.2 (progressive filling).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/link.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/engine/trace.h"

namespace kvsim::engine {

struct NetworkLinkConfig {
  std::string name;
  double bytes_per_s = 0;  ///< > 0; may be set to 0 during the run (link down)
  Duration latency{};      ///< >= 0; a transfer's latency is the sum over its route
};

/// One link of one Network.
struct NetworkLinkId {
  std::uint32_t index = 0;
};

class Network {
 public:
  /// `simulator` (and `trace`, unless null) must outlive the network.
  explicit Network(Simulator& simulator, TraceSink* trace = nullptr);
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Throws std::invalid_argument when the configuration is impossible.
  NetworkLinkId add_link(NetworkLinkConfig config);

  /// Starts a transfer over every link of `route` at once (a flow, not store-and-forward). An empty route takes no
  /// time. Never completes within the call. `transfer.priority` and `slowdown` have no effect. Throws
  /// std::invalid_argument for a route with an unknown link or the same link twice.
  TransferId submit(std::span<const NetworkLinkId> route, const Transfer& transfer);

  /// Withdraws a transfer that has not completed; what it had moved is lost. False if it had completed.
  bool cancel(TransferId id);

  /// Changes a link's bandwidth from now on. 0 stalls what crosses it until it is raised again. Throws
  /// std::invalid_argument for a negative or infinite bandwidth.
  void set_bandwidth(NetworkLinkId link, double bytes_per_s);

  [[nodiscard]] double bandwidth(NetworkLinkId link) const { return links_.at(link.index).bytes_per_s; }
  /// Bytes per second at which a transfer moves now; 0 if it only waits for its latency, or is gone. Infinite where
  /// its route is empty. Not const: it may bring the rates up to date.
  [[nodiscard]] double rate(TransferId id);
  /// Transfers submitted and not yet completed.
  [[nodiscard]] std::size_t in_flight() const { return flows_.size(); }
  /// Statistics up to now(): a transfer counts on every link of its route, and waits for none.
  [[nodiscard]] LinkStatistics statistics(NetworkLinkId link) const;

  /// On every link, submitted = delivered + cancelled + not yet delivered, and the rates do not exceed its bandwidth.
  /// Throws InvariantViolation when broken.
  void check_conservation();

 private:
  struct Hop {
    std::uint32_t link = 0;
    std::uint32_t place = 0;  // in that link's `flows`, while the transfer moves
  };

  struct Flow {
    Transfer transfer;
    std::vector<Hop> route;
    double remaining = 0;  // bytes at `updated`
    double rate = 0;       // bytes per second since `updated`
    SimTime updated;
    Duration latency;
    EventHandle event;  // its last byte leaving, or arriving
    bool moving = false;
    // Of the recomputation that last visited it:
    std::uint64_t epoch = 0;
    double new_rate = 0;
    bool rated = false;  // new_rate is known
  };

  struct Crossing {
    std::uint64_t flow = 0;
    std::uint32_t hop = 0;  // of the flow's route
  };

  struct NetworkLink {
    std::string name;
    double bytes_per_s = 0;
    Duration latency;
    std::vector<Crossing> flows;  // those moving over it
    LinkStatistics statistics;
    Duration busy;
    SimTime busy_since;
    int counter = -1;
    double shown = 0;  // the counter's last value
    // Of the recomputation under way:
    std::uint64_t epoch = 0;
    double left = 0;  // bandwidth not yet given out
    std::size_t unrated = 0;
  };

  struct Share {
    double bytes_per_s = 0;
    std::uint32_t link = 0;

    bool operator>(const Share& other) const {
      return bytes_per_s != other.bytes_per_s ? bytes_per_s > other.bytes_per_s : link > other.link;
    }
  };

  void touch(std::uint32_t link);
  void recompute();
  void collect_component();
  void visit(std::uint32_t link);
  void fill();
  void push_share(std::uint32_t link);
  void rate_crossings(std::uint32_t link, double share);
  void apply(std::uint64_t id);
  void schedule_end(std::uint64_t id, Flow& flow);
  void join(std::uint64_t id, Flow& flow);
  void leave(Flow& flow);
  void on_last_byte(std::uint64_t id);
  void deliver(std::uint64_t id);
  void show(NetworkLink& link);

  Simulator& simulator_;
  TraceSink* trace_;
  std::vector<NetworkLink> links_;
  SlotTable<Flow> flows_;

  std::vector<std::uint32_t> touched_;  // links whose component needs new rates
  EventHandle recompute_event_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> component_links_;
  std::vector<std::uint64_t> component_flows_;
  std::vector<Share> shares_;  // a heap, smallest first
};

}  // namespace kvsim::engine
