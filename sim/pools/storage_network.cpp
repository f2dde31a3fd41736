#include "sim/pools/storage_network.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace kvsim::pools {

using transport::LinkId;

const char* name_of(Pool pool) {
  return pool == Pool::local ? "local" : "remote";
}

std::string node_name(Pool pool, std::size_t index) {
  return fmt::format("{} node {}", name_of(pool), index);
}

StorageNetwork::StorageNetwork(engine::Simulator& simulator, transport::Fabric& fabric,
                               const serving::ClusterConfig& cluster, const serving::StorageConfig& storage)
    : simulator_(simulator), fabric_(fabric), cluster_(cluster) {
  if (storage.read_bytes_per_s) egress_ = fabric.link("", "storage", *storage.read_bytes_per_s);
  for (const Pool pool : {Pool::local, Pool::remote}) add_pool(group_of(cluster, pool), pool);
}

void StorageNetwork::add_pool(const serving::GroupConfig& pool, Pool which) {
  PoolLinks& links = pools_.at(static_cast<std::size_t>(which));
  std::vector<LinkId> all;
  if (pool.count > 0 && pool.shared_bytes_per_s) {
    links.shared = fabric_.link("", fmt::format("storage to {} pool", name_of(which)), *pool.shared_bytes_per_s);
    all.push_back(*links.shared);
  }
  links.read_bytes_per_s.push_back(0);
  for (std::int64_t node = 0; node < pool.count; ++node) {
    links.read_bytes_per_s.push_back(links.read_bytes_per_s.back() + pool.storage_link.read_bytes_per_s.value);
    for (const Direction direction : {Direction::read, Direction::write}) {
      links.lanes.push_back(make_lane(pool, which, node, direction));
      all.push_back(links.lanes.back().link);
    }
  }
  fabric_.plan_outages(all, pool.outages);
}

StorageNetwork::NodeLane StorageNetwork::make_lane(const serving::GroupConfig& pool, Pool which, std::int64_t node,
                                                   Direction direction) {
  const bool read = direction == Direction::read;
  const std::string owner = node_name(which, static_cast<std::size_t>(node));
  NodeLane made;
  made.bytes_per_s = (read ? pool.storage_link.read_bytes_per_s : pool.storage_link.write_bytes_per_s).value;
  made.link = fabric_.link(std::string(read ? "storage_to_" : "") + name_of(which) + (read ? "" : "_to_storage"), owner,
                           made.bytes_per_s);
  transport::LaneConfig lane{owner, read ? "from storage" : "to storage", {made.link}};
  PoolLinks& links = pools_.at(static_cast<std::size_t>(which));
  const auto& shared = links.shared;
  if (read) lane.carrying = &links.readers;
  if (const double both = pool.storage_link.both_ways_bytes_per_s.value; both > 0) {
    lane.route.push_back(fabric_.link("", owner + ", both ways", both));
  }
  if (read && shared) lane.route.push_back(*shared);
  if (read && egress_) lane.route.push_back(*egress_);
  lane.latency = engine::from_seconds(pool.storage_link.latency_s.value);
  lane.setup = engine::from_seconds(pool.storage_link.setup_s.value);
  made.lane = &fabric_.add_lane(std::move(lane));
  return made;
}

std::vector<transport::GroupLanes> StorageNetwork::lanes() const {
  std::vector<transport::GroupLanes> all;
  for (const PoolLinks& pool : pools_) {
    for (std::size_t i = 0; i < pool.lanes.size(); i += 2) all.push_back({pool.lanes[i].lane, pool.lanes[i + 1].lane});
  }
  return all;
}

serving::KvLink StorageNetwork::kv_link(Pool pool, std::size_t node) const {
  const transport::GroupLanes lanes{of(pool, node, Direction::read).lane, of(pool, node, Direction::write).lane};
  return {*lanes.to_gpu, *lanes.from_gpu, group_of(cluster_, pool).storage_link, 1, nullptr, nullptr, lanes};
}

double StorageNetwork::backlog_s(Pool pool, std::size_t node) const {
  const NodeLane& reads = of(pool, node, Direction::read);
  const double bandwidth = read_bandwidth(pool, node);
  auto bytes = static_cast<double>(reads.lane->urgent_bytes());
  const auto carried = reads.lane->carried();
  if (carried && carried->transfer.priority >= 0 && bandwidth == reads.bytes_per_s) {
    bytes -= std::min(bytes, (simulator_.now() - carried->since).seconds() * reads.bytes_per_s);
  }
  return bytes / bandwidth;
}

double StorageNetwork::backlog_until_s(Pool pool, std::size_t node) const {
  const NodeLane& reads = of(pool, node, Direction::read);
  const std::int64_t bytes = reads.lane->urgent_bytes();
  if (bytes == 0) return std::numeric_limits<double>::lowest();
  const auto carried = reads.lane->carried();
  const engine::SimTime begin = carried && carried->transfer.priority >= 0 ? carried->since : simulator_.now();
  return begin.seconds() + static_cast<double>(bytes) / reads.bytes_per_s;
}

StorageNetwork::ReadTime StorageNetwork::read_time(Pool pool, std::size_t node) const {
  const transport::LaneConfig& lane = of(pool, node, Direction::read).lane->config();
  return {read_bandwidth(pool, node), lane.latency.seconds(), lane.setup.seconds()};
}

/// As it is now; a dead link is a very slow one to whoever plans with it.
double StorageNetwork::read_bandwidth(Pool pool, std::size_t node) const {
  constexpr double kDead = 1e-6;  // of its bandwidth
  const NodeLane& lane = of(pool, node, Direction::read);
  double now = fabric_.network().bandwidth(lane.link);
  const double in_pool = reading_bytes_per_s(pool);
  if (const auto& shared = pools_.at(static_cast<std::size_t>(pool)).shared) {
    now = std::min(now, left_for(lane, *shared, in_pool));
  }
  if (egress_) {
    const Pool other = pool == Pool::local ? Pool::remote : Pool::local;
    now = std::min(now, left_for(lane, *egress_, in_pool + reading_bytes_per_s(other)));
  }
  return std::max(now, kDead * lane.bytes_per_s);
}

/// Bandwidth that reads over something shared leave for one more, or its even share where that is more.
double StorageNetwork::left_for(const NodeLane& lane, LinkId shared, double reading) const {
  const double bytes_per_s = fabric_.network().bandwidth(shared);
  const bool reads = lane.lane->carried().has_value();
  const std::size_t readers = fabric_.network().in_flight(shared) + (reads ? 0 : 1);
  return std::max(bytes_per_s - (reading - (reads ? lane.bytes_per_s : 0)), bytes_per_s / static_cast<double>(readers));
}

}  // namespace kvsim::pools
