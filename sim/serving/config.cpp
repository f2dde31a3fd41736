// A cluster's topology and interconnect, and the machines that its replicas take.
#include "sim/serving/config.h"

#include <numeric>

namespace kvsim::serving {
namespace {

InstancePool nodes(std::string_view name, const PoolConfig& pool, std::string_view key, std::string_view figure) {
  return {name, pool.nodes, {pool.link, key, figure}, pool.shared_bytes_per_s, pool.outages};
}

}  // namespace

Topology ClusterConfig::topology() const& {
  if (!pools) {
    return {"cluster.replicas",
            "replica",
            {{"gpu", replicas, {host_link, "cluster.host.link", "host_link"}, {}, host_outages}},
            {"host", host_memory_bytes, {}, host_shared && host_memory_bytes > 0}};
  }
  Topology t{"cluster.pools",
             "node",
             {nodes("local", pools->local, "cluster.pools.local.link", "local_link"),
              nodes("remote", pools->remote, "cluster.pools.remote.link", "remote_link")},
             {"storage", pools->storage.capacity_bytes, pools->storage.read_bytes_per_s, true, true, true}};
  t.dispatcher = &pools->dispatch;
  t.message_latency_s = pools->message_latency_s;
  t.drafts_while_waiting = false;
  return t;
}

std::int64_t groups(const ClusterConfig& cluster) {
  const Topology t = cluster.topology();
  return std::accumulate(t.instances.begin(), t.instances.end(), std::int64_t{0},
                         [](std::int64_t sum, const InstancePool& pool) { return sum + pool.count; });
}

std::vector<NamedLink> kv_links(const ServingConfig& config) {
  const Topology t = config.cluster.topology();
  std::vector<NamedLink> links;
  for (const InstancePool& pool : t.instances) {
    if (pool.count > 0) links.push_back(pool.link);
  }
  return links;
}

models::Interconnect interconnect(const ClusterConfig& cluster) {
  models::Interconnect links(cluster.peer_link);
  if (cluster.node) {
    links.node_gpus = cluster.node->gpus;
    links.between_nodes = cluster.node->link;
  }
  return links;
}

std::int64_t nodes_for(const ClusterConfig& cluster, std::int64_t replicas) {
  const std::int64_t node = cluster.node->gpus, replica = gpus_per_group(cluster);
  if (replica > node) return replicas * ((replica + node - 1) / node);
  const std::int64_t in_one = node / replica;
  return (replicas + in_one - 1) / in_one;
}

double nodes_per_replica(const ClusterConfig& cluster) {
  const std::int64_t node = cluster.node->gpus, replica = gpus_per_group(cluster);
  return replica > node ? static_cast<double>(nodes_for(cluster, 1)) : 1 / static_cast<double>(node / replica);
}

void share_node_memory(ClusterConfig& cluster) {
  if (!cluster.node || !cluster.node->memory_bytes) return;
  const double share = static_cast<double>(*cluster.node->memory_bytes) * nodes_per_replica(cluster);
  cluster.host_memory_bytes = static_cast<std::int64_t>(share);
}
}  // namespace kvsim::serving
