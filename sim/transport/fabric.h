// All links of a system, by kind, and the lanes over them: what a replica's GPUs, its host memory, tiers and storage
// nodes are connected by.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/transport/lane.h"
#include "sim/transport/network.h"
#include "sim/transport/planned_link.h"

namespace kvsim::transport {

/// Way between a group of GPUs and the host memory beside it, in each direction. The run loop owns the fabric, so that
/// it is measured, checked and sampled in one place.
struct HostWay {
  double to_gpu_bytes_per_s = 0;
  double from_gpu_bytes_per_s = 0;
  engine::Duration latency{};
  engine::Duration setup{};
  Queueing queueing = Queueing::serialised;
  double both_bytes_per_s = 0;  ///< of both together while both carry something; 0: no such limit
};

class Fabric {
 public:
  /// `simulator` (and `trace`, unless null) must outlive it.
  Fabric(engine::Simulator& simulator, engine::TraceSink* trace);
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// The link of this kind that an owner ("replica 0") has; made when it is first asked for. `kind` is the name that
  /// results give to links like it; those of no kind are in no totals. Throws std::invalid_argument unless the
  /// bandwidth is finite and positive.
  LinkId link(const std::string& kind, const std::string& owner, double bytes_per_s);

  /// A lane over links of this fabric, which owns it. Throws std::invalid_argument for a negative latency or setup.
  Lane& add_lane(LaneConfig config);

  /// The group's links host_to_gpu and gpu_to_host, and a lane over each; or the same as planned links.
  GroupLanes add_host_lanes(const std::string& group, const HostWay& way);
  struct PlannedLanes {
    PlannedLink& to_gpu;
    PlannedLink& from_gpu;
  };
  PlannedLanes add_planned_host_lanes(const std::string& group, const HostWay& way);

  /// A link of its own whose transfers are planned, not simulated; of `kind` in totals. `config.route` is not used.
  PlannedLink& add_planned(const std::string& kind, double bytes_per_s, const LaneConfig& config);

  /// Plans changes of the bandwidth of links; `on_change`, unless empty, runs after each.
  void plan_outages(const std::vector<LinkId>& links, std::vector<Outage> outages, engine::Callback on_change = {});

  /// Makes transfers on the link take so many times as long from now until the next call. Precondition: slowdown >= 1.
  void slow(LinkId link, double slowdown);
  /// Network::watch.
  void watch(LinkId link, engine::Callback on_change) { network_.watch(link, on_change); }

  [[nodiscard]] const Network& network() const { return network_; }

  /// Starts the counts that measured() returns.
  void start_measuring();
  [[nodiscard]] std::map<std::string, LinkTotals> measured() const;
  /// Since the start of the run.
  [[nodiscard]] std::map<std::string, LinkTotals> totals() const;

  /// Throws engine::InvariantViolation where bytes were lost, or more bandwidth given out than there is.
  void check_conservation() const;

 private:
  struct NamedLink {
    std::size_t kind = 0;  // in kinds_
    std::string owner;
    double bytes_per_s = 0;
    double fraction = 1;  // of it, in an outage
    double slowdown = 1;
  };
  struct Planned {
    std::size_t kind = 0;  // in kinds_
    std::unique_ptr<PlannedLink> link;
  };
  struct Change {
    std::vector<LinkId> links;
    double fraction = 1;
    engine::Callback on_change;
  };
  /// Counts of every link, lane and planned link.
  struct Counts {
    engine::SimTime at;
    std::vector<LinkStatistics> links, lanes, planned;
  };

  std::size_t number_of(const std::string& kind);
  void plan_change(double at_s, Change change);
  void change(std::uint64_t index);
  void set_bandwidth(LinkId link);
  [[nodiscard]] Counts count() const;
  [[nodiscard]] std::map<std::string, LinkTotals> since(const Counts& before) const;

  engine::Simulator& simulator_;
  engine::TraceSink* trace_;
  Network network_;
  std::vector<std::string> kinds_;
  std::vector<NamedLink> links_;  // by LinkId
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<Planned> planned_;
  std::vector<Change> changes_;
  Counts before_;
};

}  // namespace kvsim::transport
