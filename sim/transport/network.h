// Flows over routes of several shared links, each at its max-min fair rate: no flow can go faster without slowing one
// that is no faster. Rates change only when a flow starts or ends or a bandwidth changes, and only in the connected
// component of links and flows that it touches.
// Source: D. Bertsekas and R. Gallager, Data Networks, 2nd ed., 1992, section 6.5.2 (progressive filling).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/transport/link.h"

namespace kvsim::transport {

/// One link of one Network.
struct LinkId {
  std::uint32_t index = 0;
};

struct FlowId {
  std::uint64_t value = 0;  ///< 0: none
};

class Network {
 public:
  /// `simulator` must outlive the network.
  explicit Network(engine::Simulator& simulator) : simulator_(simulator) {}
  Network(const Network&) = delete;
  Network& operator=(const Network&) = delete;

  /// Throws std::invalid_argument when the bandwidth is impossible; it may be 0 later (link down).
  LinkId add_link(std::string name, double bytes_per_s);

  /// Starts a flow over every link of `route` at once (not store-and-forward); its first byte leaves after `setup`, in
  /// which it occupies the links but takes no bandwidth. An empty route takes no more time than that.
  /// `transfer.on_complete` runs when the last byte leaves, never within the call; `priority` has no effect. Throws
  /// std::invalid_argument for a route with an unknown link or the same link twice.
  FlowId submit(std::span<const LinkId> route, const Transfer& transfer, engine::Duration setup = {});

  /// Withdraws a flow whose last byte has not left; what it had moved is lost. False if it had.
  bool cancel(FlowId id);

  /// Changes a link's bandwidth from now on. 0 stalls what crosses it until it is raised again. Throws
  /// std::invalid_argument for a negative or infinite bandwidth.
  void set_bandwidth(LinkId link, double bytes_per_s);

  /// `on_change` runs whenever the link, which nothing crossed, is crossed by something, and when nothing does any
  /// more. It submits and withdraws nothing.
  void watch(LinkId link, engine::Callback on_change) { links_.at(link.index).on_change = on_change; }

  [[nodiscard]] double bandwidth(LinkId link) const { return links_.at(link.index).bytes_per_s; }
  /// Bandwidth of the narrowest link of a route.
  [[nodiscard]] double bandwidth(std::span<const LinkId> route) const;
  /// Work (bytes times slowdown) per second of a flow now; 0 while it is set up, or if it is gone. Infinite where its
  /// route is empty. Not const: it may bring the rates up to date.
  [[nodiscard]] double rate(FlowId id);
  /// Its work not yet moved; 0 if it is gone.
  [[nodiscard]] double remaining(FlowId id) const;
  /// Flows whose last byte has not left; those over one link.
  [[nodiscard]] std::size_t in_flight() const { return flows_.size(); }
  [[nodiscard]] std::size_t in_flight(LinkId link) const { return links_.at(link.index).occupying; }
  /// Statistics up to now(): a flow counts on every link of its route, is delivered when its last byte leaves, and
  /// waits for none.
  [[nodiscard]] LinkStatistics statistics(LinkId link) const;

  /// On every link, submitted = delivered + cancelled + under way, and the rates do not exceed its bandwidth. Throws
  /// engine::InvariantViolation when broken.
  void check_conservation() const;

 private:
  struct Hop {
    std::uint32_t link = 0;
    std::uint32_t place = 0;  // in that link's `flows`, while the flow moves
  };

  struct Flow {
    Transfer transfer;
    std::vector<Hop> route;
    double remaining = 0;  // work at `updated`
    double rate = 0;       // since `updated`
    engine::SimTime updated;
    engine::EventHandle event;  // the end of its setup, or its last byte leaving
    bool moving = false;
    // State of the recomputation that last visited it:
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
    std::vector<Crossing> flows;   // those moving over it
    std::size_t occupying = 0;     // and those being set up
    engine::Callback on_change{};  // of whether there are any
    LinkStatistics statistics;
    engine::Duration busy;
    engine::SimTime busy_since;
    // State of the recomputation under way:
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

  void check_route(std::span<const LinkId> route) const;
  void start(std::uint64_t id);
  [[nodiscard]] bool alone(const Flow& flow) const;
  void touch(std::uint32_t link);
  void recompute();
  void collect_component();
  void visit(std::uint32_t link);
  void fill();
  void push_share(std::uint32_t link);
  void rate_crossings(std::uint32_t link, double share);
  void set_rate(std::uint64_t id, Flow& flow, double rate);
  void schedule_end(std::uint64_t id, Flow& flow);
  void leave(Flow& flow);
  void on_last_byte(std::uint64_t id);

  engine::Simulator& simulator_;
  std::vector<NetworkLink> links_;
  engine::SlotTable<Flow> flows_;

  std::vector<std::uint32_t> touched_;  // links whose component needs new rates
  engine::EventHandle recompute_event_;
  std::uint64_t epoch_ = 0;
  std::vector<std::uint32_t> component_links_;
  std::vector<std::uint64_t> component_flows_;
  std::vector<Share> shares_;  // a heap, smallest first
};

}  // namespace kvsim::transport
