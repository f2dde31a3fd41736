#include "planner/capacity/fleet.h"

#include <algorithm>
#include <cmath>

#include "models/schema/units.h"
#include "planner/capacity/machine_choice.h"

namespace kvsim::planner::capacity {

HourlyCost hourly_cost(const models::PriceTable& prices, const std::string& gpu, double gpus, double host_memory_gb,
                       double storage_gb) {
  HourlyCost cost;
  if (const models::Price* price = prices.gpu(gpu)) cost.gpus = price->usd.value * gpus;
  cost.host_memory = prices.dram.usd.value * host_memory_gb / models::kHoursPerMonth;
  cost.storage = prices.ssd.usd.value * storage_gb / models::kHoursPerMonth;
  return cost;
}

namespace {

/// The rule for all that is bought in nodes.
HourlyCost cost_of_nodes(const models::PriceTable& prices, const serving::ClusterConfig& cluster, double nodes,
                         double host_memory_gb, double storage_gb) {
  const serving::NodeConfig& node = *cluster.node;
  HourlyCost cost =
      hourly_cost(prices, cluster.gpu.name, nodes * static_cast<double>(node.gpus), host_memory_gb, storage_gb);
  if (node.usd_per_hour) cost = {*node.usd_per_hour * nodes, 0, cost.storage};
  return cost;
}

}  // namespace

HourlyCost hourly_cost(const models::PriceTable& prices, const serving::ClusterConfig& cluster, std::int64_t replicas,
                       double host_memory_gb, double storage_gb) {
  if (cluster.node) {
    const auto nodes = static_cast<double>(serving::nodes_for(cluster, replicas));
    return cost_of_nodes(prices, cluster, nodes, host_memory_gb, storage_gb);
  }
  const std::int64_t groups = cluster.pools ? serving::groups(cluster) : replicas;
  return hourly_cost(prices, cluster.gpu.name, static_cast<double>(groups * serving::gpus_per_group(cluster)),
                     host_memory_gb, storage_gb);
}

HourlyCost hourly_cost_of_one(const models::PriceTable& prices, const serving::ClusterConfig& cluster,
                              double host_memory_gb, double storage_gb) {
  if (cluster.node) {
    return cost_of_nodes(prices, cluster, serving::nodes_per_replica(cluster), host_memory_gb, storage_gb);
  }
  return hourly_cost(prices, cluster.gpu.name, static_cast<double>(serving::gpus_per_group(cluster)), host_memory_gb,
                     storage_gb);
}

std::optional<double> usd_per_million_tokens(double usd_per_hour, double tokens_per_s) {
  constexpr double kSecondsPerHour = 3600;
  constexpr double kMillion = 1e6;
  if (!(tokens_per_s > 0)) return std::nullopt;
  return usd_per_hour / (tokens_per_s * kSecondsPerHour) * kMillion;
}

namespace {

/// What all replicas load from binds at some fleet, which no estimate from one replica knows.
bool share_tiers(const serving::ServingConfig& config) {
  const auto& storage = config.cluster.storage;
  return config.placement && std::any_of(storage.begin(), storage.end(), [](const auto& tier) { return tier.shared; });
}

/// The smallest passing fleet near `estimate`; leaves the estimate unsimulated beyond the bound.
void find_needed(Fleet& result, std::int64_t estimate, bool shares,
                 const std::function<Probe(std::int64_t)>& simulate) {
  if (shares) estimate = std::min(estimate, kMostSimulatedReplicas);
  result.needed = estimate;
  if (estimate > kMostSimulatedReplicas) return;
  Probe probe = simulate(estimate);
  if (probe.passes) {
    while (result.needed > 1) {
      Probe smaller = simulate(result.needed - 1);
      if (!smaller.passes) {
        result.fails = std::move(smaller);
        break;
      }
      probe = std::move(smaller);
      result.needed -= 1;
    }
    result.probe = std::move(probe);
    return;
  }
  while (result.needed < kMostSimulatedReplicas) {
    result.fails = std::move(probe);
    probe = simulate(++result.needed);
    if (!probe.passes) continue;
    result.probe = std::move(probe);
    return;
  }
  result.fails = std::move(probe);
  result.found = !shares;
  result.needed += 1;
}

}  // namespace

double host_memory_gb(std::int64_t peak_bytes) {
  return static_cast<double>(peak_bytes) * (1 + kHostMemoryMargin) / kGB;
}

double headroom_of(double bought, double carried, double tolerance) {
  const double headroom = bought / carried - 1;
  return headroom < tolerance ? 0 : headroom;
}

Fleet size_fleet(const scenario::Scenario& scenario, const FleetOptions& fleet, const ProbeOptions& options,
                 const models::PriceTable& prices, int jobs, const Watch& watch) {
  Fleet result;
  result.n_minus_1 = fleet.n_minus_1;
  const double exact = fleet.required_rate / fleet.replica_rate;
  const auto estimate = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(exact)));
  find_needed(result, estimate, share_tiers(scenario.serving), [&](std::int64_t replicas) {
    scenario::Scenario whole = scenario;
    whole.serving.cluster.replicas = replicas;
    return probe_rate(whole, fleet.required_rate, options, jobs, watch);
  });
  if (!result.found) return result;
  result.replicas = result.needed + (fleet.n_minus_1 ? 1 : 0);
  const auto bought = static_cast<double>(result.replicas);
  result.gpus = result.replicas * serving::gpus_per_group(scenario.serving.cluster);
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  if (cluster.node) result.nodes = serving::nodes_for(cluster, result.replicas);
  const Purchase purchase =
      purchase_for(scenario, result.replicas, result.probe ? result.probe->host_peak_bytes : fleet.replica_host_bytes);
  result.dram_gb = purchase.dram_gb;
  result.ssd_gb = purchase.storage_gb;
  result.tokens_per_s = result.probe ? result.probe->tokens_per_s : fleet.replica_tokens_per_s * exact;
  // Where the estimate failed, a replica carries less in a fleet than alone: only the fleet's own rate is known to
  // hold.
  const auto needed = static_cast<double>(result.needed);
  double carried = exact;
  if (result.probe) carried = result.needed > estimate ? needed : std::min(exact, needed);
  result.headroom = headroom_of(bought, carried, options.tolerance);
  result.cost = hourly_cost(prices, cluster, result.replicas, result.dram_gb, result.ssd_gb);
  if (const auto total = result.cost.total())
    result.usd_per_million = usd_per_million_tokens(*total, result.tokens_per_s);
  return result;
}

}  // namespace kvsim::planner::capacity
