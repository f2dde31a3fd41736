#include "planner/capacity/fleet.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner::capacity {
namespace {

constexpr double kBytesPerGb = 1e9;

/// The smallest passing fleet near `estimate`; leaves the estimate unsimulated beyond the bound.
void find_needed(Fleet& result, std::int64_t estimate, const std::function<Probe(std::int64_t)>& simulate) {
  result.needed = estimate;
  if (estimate > kMostSimulatedReplicas) return;
  Probe probe = simulate(estimate);
  if (probe.passes) {
    while (result.needed > 1) {
      Probe smaller = simulate(result.needed - 1);
      if (!smaller.passes) break;
      probe = std::move(smaller);
      result.needed -= 1;
    }
    result.probe = std::move(probe);
    return;
  }
  while (result.needed < kMostSimulatedReplicas) {
    probe = simulate(++result.needed);
    if (!probe.passes) continue;
    result.probe = std::move(probe);
    return;
  }
  result.needed += 1;
}

}  // namespace

double host_memory_gb(std::int64_t peak_bytes) {
  return static_cast<double>(peak_bytes) * (1 + kHostMemoryMargin) / kBytesPerGb;
}

Fleet size_fleet(const scenario::Scenario& scenario, const FleetOptions& fleet, const ProbeOptions& options,
                 const models::PriceTable& prices, int jobs, const Watch& watch) {
  Fleet result;
  result.n_minus_1 = fleet.n_minus_1;
  const double exact = fleet.required_rate / fleet.replica_rate;
  const auto estimate = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(exact)));
  find_needed(result, estimate, [&](std::int64_t replicas) {
    scenario::Scenario whole = scenario;
    whole.serving.cluster.replicas = replicas;
    return probe_rate(whole, fleet.required_rate, options, jobs, watch);
  });
  result.replicas = result.needed + (fleet.n_minus_1 ? 1 : 0);
  const auto bought = static_cast<double>(result.replicas);
  result.gpus = result.replicas * scenario.serving.cluster.tensor_parallel;
  result.dram_gb = bought * host_memory_gb(result.probe ? result.probe->host_peak_bytes : fleet.replica_host_bytes);
  result.tokens_per_s = result.probe ? result.probe->tokens_per_s : fleet.replica_tokens_per_s * exact;
  // Where the estimate failed, a replica carries less in a fleet than alone: only the fleet's own rate is known to
  // hold.
  const auto needed = static_cast<double>(result.needed);
  double carried = exact;
  if (result.probe) carried = result.needed > estimate ? needed : std::min(exact, needed);
  const double of_one = 1.0 / carried;
  result.headroom = bought * of_one - 1;
  result.cost = hourly_cost(prices, scenario.serving.cluster.gpu.name, result.gpus, result.dram_gb);
  if (const auto total = result.cost.total())
    result.usd_per_million = usd_per_million_tokens(*total, result.tokens_per_s);
  return result;
}

}  // namespace kvsim::planner::capacity
