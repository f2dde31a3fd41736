// The links between the storage node and the nodes of both pools. Each node has a link in each direction, which serves
// one transfer at a time; what the pool or the storage node can read in total is shared by max-min fairness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/network.h"
#include "sim/engine/simulator.h"
#include "sim/engine/trace.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request_log.h"

namespace kvsim::pools {

enum class Pool : std::uint8_t { local, remote };
const char* name_of(Pool pool);
/// "local node 0": in timelines and messages.
std::string node_name(Pool pool, std::size_t index);

/// Towards the node, or back to the storage node.
enum class Direction : std::uint8_t { read, write };

/// On one node's link, deferrable transfers go when no prompt one waits; each kind in order of submission.
enum class Urgency : std::uint8_t { prompt, deferrable };

/// One node's link in one direction.
struct LaneId {
  std::uint32_t index = 0;
};

class StorageNetwork {
 public:
  /// All of it outlives the network; `trace` may be null.
  StorageNetwork(engine::Simulator& simulator, const serving::PoolsConfig& pools, engine::TraceSink* trace);

  [[nodiscard]] LaneId lane(Pool pool, std::size_t node, Direction direction) const;

  /// Queues a transfer; transfer.on_complete runs when its last byte has arrived. Returns its name for cancel().
  std::uint64_t submit(LaneId lane, const engine::Transfer& transfer, Urgency urgency = Urgency::prompt);

  /// Withdraws a transfer whose last byte has not left; what it moved is lost. False if it had.
  bool cancel(LaneId lane, std::uint64_t transfer);

  /// Seconds that what is queued and under way takes at the lane's bandwidth as it is now, beside the others,
  /// deferrable transfers left out.
  [[nodiscard]] double backlog_s(LaneId lane) const;
  /// Seconds that `bytes` take at the lane's bandwidth as it is now, beside the others, latency and setup included.
  [[nodiscard]] double transfer_s(LaneId lane, std::int64_t bytes) const;

  void start_measuring();
  void finish_measuring(serving::Measurements& measured, double measured_s) const;
  [[nodiscard]] serving::LinkTimes link_times() const;

  /// Bytes submitted = delivered + cancelled + under way + queued, on every link. Throws engine::InvariantViolation.
  void check_conservation();

 private:
  struct Waiting {
    std::uint64_t id = 0;
    engine::Transfer transfer;
    engine::SimTime submitted;
    engine::SimTime ready;  // set up
  };

  struct Lane {
    engine::NetworkLinkId link;
    std::vector<engine::NetworkLinkId> route;
    double bytes_per_s = 0;
    Pool pool = Pool::local;
    bool reads = false;
    engine::Duration latency, setup;
    std::array<std::deque<Waiting>, 2> waiting;  // by urgency
    engine::SimTime set_up;                      // when the last setup is over
    std::int64_t prompt_bytes = 0;               // of prompt transfers, waiting or under way
    // Under way:
    bool busy = false;
    Waiting current;
    engine::TransferId flow;
    engine::SimTime began;
    bool current_is_prompt = true;
    int track = -1;
    // Sums:
    std::int64_t submitted_bytes = 0, started_bytes = 0, withdrawn_bytes = 0;
    double wait_s = 0;
    std::uint64_t started = 0;
  };

  struct Snapshot {
    engine::LinkStatistics link;
    double wait_s = 0;
    std::uint64_t started = 0;
  };

  struct Change {
    Pool pool = Pool::local;
    double fraction = 1;
  };
  /// Reads under way over something shared.
  struct Shared {
    std::int64_t busy = 0;
    double own_bytes_per_s = 0;  ///< of their own links together

    /// What is left for one more, or its even share where that is more.
    [[nodiscard]] double left_for(double own, double bytes_per_s, bool is_busy) const;
  };
  struct PoolLinks {
    std::size_t first_lane = 0, lanes = 0;
    Shared reads;
    std::optional<engine::NetworkLinkId> shared;
    double shared_bytes_per_s = 0;
  };

  [[nodiscard]] static std::string link_name(const Lane& lane);
  void add_pool(const serving::PoolConfig& pool, Pool which);
  void add_lane(const serving::PoolConfig& pool, Pool which, std::int64_t node, Direction direction);
  void plan_change(double at_s, Change change);
  void change_bandwidth(std::uint64_t change);
  void pump_at(std::uint32_t lane, engine::SimTime at);
  void pump(std::uint64_t lane);
  void on_last_byte(std::uint64_t lane);
  void release(Lane& lane, std::uint64_t index);
  void count_read(const Lane& lane, int change);
  [[nodiscard]] double bandwidth(const Lane& lane) const;
  [[nodiscard]] PoolLinks& links_of(Pool pool) { return pools_.at(static_cast<std::size_t>(pool)); }
  [[nodiscard]] const PoolLinks& links_of(Pool pool) const { return pools_.at(static_cast<std::size_t>(pool)); }

  engine::Simulator& simulator_;
  engine::TraceSink* trace_;
  engine::Network network_;
  std::optional<engine::NetworkLinkId> egress_;
  Shared egress_reads_;
  std::array<PoolLinks, 2> pools_;
  std::vector<Lane> lanes_;  // by pool, node and direction
  std::vector<Snapshot> before_;
  std::vector<Change> changes_;
  std::uint64_t next_id_ = 1;
};

}  // namespace kvsim::pools
