// The links between replicas and tiers. A lane is one way through them (a tier's reads by one replica, its writes); it
// carries one transfer at a time, in order of submission, or all at once. Lanes share the links they cross by max-min
// fairness.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/network.h"
#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"

namespace kvsim::cache {

/// A time in which links have a share of their bandwidth, or none.
struct BandwidthChange {
  double at_s = 0;
  double lasting_s = 0;
  double fraction = 0;  ///< in [0, 1)
};

struct LaneId {
  std::uint32_t index = 0;
};

/// What a class of links (all replicas' host_to_gpu, say) carried.
struct LinkTotals {
  double busy_s = 0;
  std::size_t links = 0;
  std::int64_t bytes = 0;  ///< delivered
  double wait_s = 0;       ///< of transfers, before their first byte; counted on the first link of their lane
  std::uint64_t transfers = 0;
};

class TierNetwork {
 public:
  /// All of it outlives the network; `trace` may be null.
  TierNetwork(engine::Simulator& simulator, engine::TraceSink* trace);

  /// `kind` is the name that results give to links of its class.
  engine::NetworkLinkId add_link(const std::string& kind, double bytes_per_s);

  struct LaneConfig {
    std::string group, name;  ///< of its track in the timeline
    std::vector<engine::NetworkLinkId> route;
    engine::Duration latency{};  ///< from the last byte leaving to its arrival
    engine::Duration setup{};    ///< before the first byte
    bool serial = true;          ///< one transfer at a time
  };
  LaneId add_lane(LaneConfig config);

  /// Plans changes of the bandwidth of links; `on_change` runs after each.
  void plan_changes(const std::vector<engine::NetworkLinkId>& links, const std::vector<BandwidthChange>& changes,
                    engine::Callback on_change);

  /// Queues a transfer; its on_complete runs when the last byte has arrived.
  void submit(LaneId lane, const engine::Transfer& transfer);

  /// Bandwidth of the narrowest link of a lane now, whoever else uses it.
  [[nodiscard]] double bandwidth(LaneId lane) const;

  /// Up to now, by kind of link.
  [[nodiscard]] std::map<std::string, LinkTotals> totals() const;

  /// Throws engine::InvariantViolation.
  void check_conservation();

 private:
  struct Waiting {
    engine::Transfer transfer;
    engine::SimTime submitted;
  };
  struct Lane {
    LaneConfig config;
    std::deque<Waiting> waiting;
    std::int64_t under_way = 0;
    int track = -1;           // of a serial lane
    engine::TraceLanes rows;  // of one whose transfers overlap
    std::int64_t submitted_bytes = 0, arrived_bytes = 0, moving_bytes = 0;
    double wait_s = 0;
    std::uint64_t started = 0;
  };
  struct Moving {
    std::uint32_t lane = 0;
    engine::Transfer transfer;
    engine::SimTime began;
    int row = engine::TraceLanes::no_lane;
  };
  struct Link {
    std::string kind;
    double bytes_per_s = 0;
  };
  struct Change {
    std::vector<engine::NetworkLinkId> links;
    double fraction = 1;
    engine::Callback on_change;
  };

  void start(std::uint32_t lane);
  void move(std::uint64_t moving);
  void on_last_byte(std::uint64_t moving);
  void plan_change(double at_s, Change change);
  void change(std::uint64_t index);

  engine::Simulator& simulator_;
  engine::TraceSink* trace_;
  engine::Network network_;
  std::vector<Link> links_;  // by NetworkLinkId
  std::vector<Lane> lanes_;
  engine::SlotTable<Moving> moving_;
  std::vector<Change> changes_;
};

}  // namespace kvsim::cache
