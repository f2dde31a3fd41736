// A cluster's interconnect, and the machines that its replicas take.
#include "sim/serving/config.h"

namespace kvsim::serving {

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
