// The lanes between the storage node and the nodes of both pools, and what whoever plans with them expects of them.
// Each node has a link in each direction, which serves one transfer at a time; what the pool or the storage node can
// read in total is shared by max-min fairness.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/instance/fetched_steps.h"
#include "sim/serving/config.h"
#include "sim/transport/fabric.h"

namespace kvsim::pools {

enum class Pool : std::uint8_t { local, remote };
const char* name_of(Pool pool);
/// The pool's group: the local one verifies, and the remote one drafts.
inline const serving::GroupConfig& group_of(const serving::ClusterConfig& cluster, Pool pool) {
  return cluster.with(pool == Pool::local ? &serving::Roles::verify : &serving::Roles::draft);
}
/// "local node 0": in timelines and messages.
std::string node_name(Pool pool, std::size_t index);

/// Towards the node, or back to the storage node.
enum class Direction : std::uint8_t { read, write };

/// Priority of transfers that go when no other one waits for the same node's link; below 0: see Lane::urgent_bytes.
inline constexpr int kDeferrable = -1;

class StorageNetwork {
 public:
  /// All of it outlives the network.
  StorageNetwork(engine::Simulator& simulator, transport::Fabric& fabric, const serving::ClusterConfig& cluster,
                 const serving::StorageConfig& storage);

  /// One node's link in one direction.
  [[nodiscard]] transport::Lane& lane(Pool pool, std::size_t node, Direction direction) const {
    return *of(pool, node, direction).lane;
  }

  /// Both of each node's, local ones first; and a node's place there.
  [[nodiscard]] std::vector<transport::GroupLanes> lanes() const;
  [[nodiscard]] std::size_t number(Pool pool, std::size_t node) const {
    return node + (pool == Pool::local ? 0 : pools_.front().lanes.size() / 2);
  }
  /// Both of a node's, over which its steps fetch KV.
  [[nodiscard]] serving::KvLink kv_link(Pool pool, std::size_t node) const;

  /// Seconds that what a node's reads have queued and under way take at its bandwidth as it is now, beside the others,
  /// deferrable transfers left out.
  [[nodiscard]] double backlog_s(Pool pool, std::size_t node) const;
  /// A time, in seconds, before which backlog_s(), rounding aside, is more than what is left until it, now and later.
  [[nodiscard]] double backlog_until_s(Pool pool, std::size_t node) const;
  /// How long a node's reads take at its bandwidth as it is now, beside the others, latency and setup included.
  struct ReadTime {
    double bytes_per_s, latency_s, setup_s;
    [[nodiscard]] double of(std::int64_t bytes) const {
      return static_cast<double>(bytes) / bytes_per_s + latency_s + setup_s;
    }
  };
  [[nodiscard]] ReadTime read_time(Pool pool, std::size_t node) const;
  [[nodiscard]] double read_s(Pool pool, std::size_t node, std::int64_t bytes) const {
    return read_time(pool, node).of(bytes);
  }

 private:
  struct NodeLane {
    transport::Lane* lane = nullptr;
    transport::LinkId link;
    double bytes_per_s = 0;
  };
  struct PoolLinks {
    std::vector<NodeLane> lanes;  // by node and direction
    std::optional<transport::LinkId> shared;
    std::size_t readers = 0;               // nodes whose links read now
    std::vector<double> read_bytes_per_s;  // of so many
  };

  void add_pool(const serving::GroupConfig& pool, Pool which);
  NodeLane make_lane(const serving::GroupConfig& pool, Pool which, std::int64_t node, Direction direction);
  [[nodiscard]] const NodeLane& of(Pool pool, std::size_t node, Direction direction) const {
    return pools_.at(static_cast<std::size_t>(pool)).lanes.at(2 * node + (direction == Direction::read ? 0 : 1));
  }
  [[nodiscard]] double read_bandwidth(Pool pool, std::size_t node) const;
  [[nodiscard]] double left_for(const NodeLane& lane, transport::LinkId shared, double others) const;
  /// Bandwidth of the links of a pool's nodes that read now.
  [[nodiscard]] double reading_bytes_per_s(Pool pool) const {
    const PoolLinks& links = pools_.at(static_cast<std::size_t>(pool));
    return links.read_bytes_per_s[links.readers];
  }

  engine::Simulator& simulator_;
  transport::Fabric& fabric_;
  const serving::ClusterConfig& cluster_;
  std::optional<transport::LinkId> egress_;
  std::array<PoolLinks, 2> pools_;
};

}  // namespace kvsim::pools
