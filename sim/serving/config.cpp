// A cluster's topology and interconnect, and the machines that its replicas take.
#include "sim/serving/config.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "sim/serving/configuration_error.h"

namespace kvsim::serving {
namespace {

std::int64_t sum(const ClusterConfig& cluster, std::int64_t (*of)(const GroupConfig&)) {
  return std::accumulate(cluster.groups.begin(), cluster.groups.end(), std::int64_t{0},
                         [of](std::int64_t all, const GroupConfig& group) { return all + of(group); });
}

}  // namespace

Topology ClusterConfig::topology() const& {
  if (!pools) {
    const GroupConfig& group = groups.front();
    return {"cluster.replicas",
            "replica",
            {{group, {group.host_link, "cluster.host.link", "host_link"}}},
            {"host", group.host_memory_bytes, {}, host_shared && group.host_memory_bytes > 0}};
  }
  const GroupConfig &local = with(&Roles::verify), &remote = with(&Roles::draft);
  Topology t{"cluster.pools",
             "node",
             {{local, {local.storage_link, "cluster.pools.local.link", "local_link"}},
              {remote, {remote.storage_link, "cluster.pools.remote.link", "remote_link"}}},
             {"storage", pools->storage.capacity_bytes, pools->storage.read_bytes_per_s, true, true, true}};
  t.dispatcher = &pools->dispatch;
  t.message_latency_s = pools->message_latency_s;
  t.drafts_while_waiting = false;
  return t;
}

const GroupConfig& ClusterConfig::with(bool Roles::*role) const {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [role](const auto& group) { return group.roles.*role; });
  return found == groups.end() ? groups.front() : *found;
}

GroupConfig& ClusterConfig::with(bool Roles::*role) {
  return groups.at(static_cast<std::size_t>(&std::as_const(*this).with(role) - groups.data()));
}

const GroupConfig& ClusterConfig::uniform() const {
  const auto used = [](const GroupConfig& group) { return group.count > 0; };
  const auto first = std::find_if(groups.begin(), groups.end(), used);
  if (first == groups.end()) return groups.front();
  const GroupConfig& one = *first;
  const auto differs =
      std::find_if(first, groups.end(), [&](const GroupConfig& g) { return used(g) && g.kind != one.kind; });
  if (differs == groups.end()) return one;
  const GroupConfig& other = *differs;
  throw ConfigurationError(other.gpu_key == "cluster.gpu" ? one.gpu_key : other.gpu_key,
                           fmt::format("{} instances have {}, {} ones {} or other memory or parallelism, and this is "
                                       "known of one kind of instance only: remove this key",
                                       one.name, one.gpu.name, other.name, other.gpu.name));
}

std::vector<const GroupConfig*> kinds(const ClusterConfig& cluster) {
  std::vector<const GroupConfig*> all;
  for (const GroupConfig& group : cluster.groups) {
    const bool known = std::any_of(all.begin(), all.end(), [&](const GroupConfig* g) { return g->kind == group.kind; });
    if (group.count > 0 && !known) all.push_back(&group);
  }
  if (all.empty()) all.push_back(&cluster.groups.front());
  return all;
}

std::int64_t instances(const ClusterConfig& cluster) {
  return sum(cluster, [](const GroupConfig& group) { return group.count; });
}

std::int64_t gpus(const ClusterConfig& cluster) {
  return sum(cluster, [](const GroupConfig& group) { return group.count * group.gpus(); });
}

std::vector<NamedLink> kv_links(const ServingConfig& config) {
  const Topology t = config.cluster.topology();
  std::vector<NamedLink> links;
  for (const InstancePool& pool : t.instances) {
    if (pool.group.count > 0) links.push_back(pool.link);
  }
  return links;
}

models::Interconnect interconnect(const ClusterConfig& cluster, const GroupConfig& group) {
  models::Interconnect links(group.peer_link);
  if (cluster.node) {
    links.node_gpus = cluster.node->gpus;
    links.between_nodes = cluster.node->link;
  }
  return links;
}

std::int64_t nodes_for(const ClusterConfig& cluster, std::int64_t replicas) {
  const std::int64_t node = cluster.node->gpus, replica = cluster.uniform().gpus();
  if (replica > node) return replicas * ((replica + node - 1) / node);
  const std::int64_t in_one = node / replica;
  return (replicas + in_one - 1) / in_one;
}

double nodes_per_replica(const ClusterConfig& cluster) {
  const std::int64_t node = cluster.node->gpus, replica = cluster.uniform().gpus();
  return replica > node ? static_cast<double>(nodes_for(cluster, 1)) : 1 / static_cast<double>(node / replica);
}

void share_node_memory(ClusterConfig& cluster) {
  if (!cluster.node || !cluster.node->memory_bytes) return;
  const double share = static_cast<double>(*cluster.node->memory_bytes) * nodes_per_replica(cluster);
  for (GroupConfig& group : cluster.groups) group.host_memory_bytes = static_cast<std::int64_t>(share);
}
}  // namespace kvsim::serving
