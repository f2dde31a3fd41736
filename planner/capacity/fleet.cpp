#include "planner/capacity/fleet.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "planner/capacity/machine_choice.h"
#include "sim/routing/router.h"

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
  HourlyCost cost = hourly_cost(prices, cluster.uniform().gpu.name, nodes * static_cast<double>(node.gpus),
                                host_memory_gb, storage_gb);
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
  HourlyCost all = hourly_cost(prices, "", 0, host_memory_gb, storage_gb);
  for (const serving::GroupConfig* kind : serving::kinds(cluster)) {
    std::int64_t gpus = 0;
    for (const serving::GroupConfig& group : cluster.groups) {
      if (group.kind == kind->kind) gpus += group.count / cluster.replicas() * replicas * group.gpus();
    }
    const auto cost = hourly_cost(prices, kind->gpu.name, static_cast<double>(gpus), 0, 0).gpus;
    if (!cost) return {{}, all.host_memory, all.storage};
    all.gpus = all.gpus.value_or(0) + *cost;
  }
  return all;
}

HourlyCost hourly_cost_of_one(const models::PriceTable& prices, const serving::ClusterConfig& cluster,
                              double host_memory_gb, double storage_gb) {
  if (cluster.node) {
    return cost_of_nodes(prices, cluster, serving::nodes_per_replica(cluster), host_memory_gb, storage_gb);
  }
  return hourly_cost(prices, cluster.uniform().gpu.name, static_cast<double>(cluster.uniform().gpus()), host_memory_gb,
                     storage_gb);
}

std::optional<double> usd_per_million_tokens(double usd_per_hour, double tokens_per_s) {
  constexpr double kSecondsPerHour = 3600;
  constexpr double kMillion = 1e6;
  if (!(tokens_per_s > 0)) return std::nullopt;
  return usd_per_hour / (tokens_per_s * kSecondsPerHour) * kMillion;
}

namespace {

/// Whether replicas load from a shared tier. It binds at some fleet, which no estimate from one replica knows.
bool share_tiers(const serving::ServingConfig& config) {
  const auto& storage = config.cluster.storage;
  return config.placement && std::any_of(storage.begin(), storage.end(), [](const auto& tier) { return tier.shared; });
}

/// Each of several independent replicas is a run of its own: fewer runs together have as many of these.
ProbeOptions replications_of(const scenario::Scenario& s, ProbeOptions options) {
  constexpr std::int64_t kFewest = 3;  // of which a spread can be told
  if (!independent_replicas(s)) return options;
  const std::int64_t replicas = s.serving.cluster.replicas();
  const std::int64_t runs = (options.replications + replicas - 1) / replicas;
  options.replications = std::min(options.replications, std::max(kFewest, runs));
  return options;
}

/// Whether a replica finds more of the prompts that it gets where there are fewer replicas: the turns of a session go
/// to any of them, and each stores prompts for itself.
bool scatters_sessions(const scenario::Scenario& s) {
  const serving::ServingConfig& c = s.serving;
  const auto& storage = c.cluster.storage;
  const bool own_tier = (c.cluster.groups.front().host_memory_bytes > 0 && !c.cluster.host_shared) ||
                        (c.placement && c.placement->gpu_memory_bytes > 0) ||
                        std::any_of(storage.begin(), storage.end(), [](const auto& tier) { return !tier.shared; });
  const bool stores = (c.placement && own_tier) || c.schedule.prefix_caching;
  return s.workload.has_sessions() && stores && c.cluster.router != routing::session_router;
}

std::string scattered_words(const scenario::Scenario& s) {
  return fmt::format(
      "more than the {} replicas that are simulated at most are needed, and no fewer speak for them: router {} sends "
      "the turns of a session to any replica, and each stores prompts for itself; cluster.router: session keeps them "
      "together",
      kMostSimulatedReplicas, s.serving.cluster.router);
}

/// The knowledge that a search for a fleet's size has of fleets.
struct Fleets {
  std::int64_t most = kMostSimulatedReplicas;
  std::function<Probe(std::int64_t)> probe;
  std::function<bool(std::int64_t)> certain_to_fail;  ///< without a probe
  std::function<std::int64_t(std::int64_t)> step_up;  ///< how many more replicas are tried where so many fail
  std::function<bool(std::int64_t)> whole;            ///< so many replicas are all simulated
};

/// The smallest passing fleet near `estimate`; one of which a subset is simulated is not made smaller.
void find_needed(Fleet& result, std::int64_t estimate, const Fleets& fleets) {
  result.needed = estimate;
  Probe probe = fleets.probe(estimate);
  if (probe.passes) {
    while (result.needed > 1 && fleets.whole(result.needed) && !fleets.certain_to_fail(result.needed - 1)) {
      Probe smaller = fleets.probe(result.needed - 1);
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
  while (result.needed < fleets.most) {
    result.fails.reset();
    const std::int64_t step = fleets.step_up(result.needed);
    if (step == 1) result.fails = std::move(probe);
    result.needed += step;
    probe = fleets.probe(result.needed);
    if (!probe.passes) continue;
    result.probe = std::move(probe);
    return;
  }
  result.fails = std::move(probe);
  result.found = false;
}

}  // namespace

bool independent_replicas(const scenario::Scenario& s) {
  return s.workload.has_sessions() && s.serving.cluster.router == routing::session_router &&
         load_of(s) == Load::sessions && !share_tiers(s.serving) && !s.serving.cluster.host_shared;
}

std::int64_t simulated_replicas(const scenario::Scenario& s, std::int64_t fleet) {
  const std::int64_t whole = independent_replicas(s) ? kSubsetReplicas : kMostSimulatedReplicas;
  return fleet <= whole ? fleet : kSubsetReplicas;
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
  auto estimate = std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(exact)));
  constexpr std::int64_t kGrowth = 2;  // times the estimate: a fleet above it would not be what one replica promises
  std::int64_t most = std::max(kMostSimulatedReplicas, kGrowth * estimate);
  const bool scattered = scatters_sessions(scenario);
  if (share_tiers(scenario.serving) || scattered) most = kMostSimulatedReplicas;
  if (scattered && estimate > most) {
    result.unknown = scattered_words(scenario);
    return result;
  }
  estimate = std::min(estimate, most);
  const bool independent = independent_replicas(scenario);
  const auto load_on = [&](std::int64_t replicas) { return fleet.required_rate / static_cast<double>(replicas); };
  Fleets fleets;
  fleets.most = most;
  fleets.probe = [&](std::int64_t replicas) {
    scenario::Scenario simulated = scenario;
    simulated.serving.cluster.groups.front().count = simulated_replicas(scenario, replicas);
    const Watch watch_fleet = [&](const ProbeProgress& progress) {
      if (!watch) return;
      ProbeProgress of_fleet = progress;
      of_fleet.fleet = replicas;
      watch(of_fleet);
    };
    const auto part = static_cast<double>(simulated.serving.cluster.replicas());
    return probe_rate(simulated, load_on(replicas) * part, replications_of(simulated, options), jobs, watch_fleet);
  };
  fleets.certain_to_fail = [&](std::int64_t replicas) {
    return independent && load_on(replicas) >= fleet.replica_fails_at;
  };
  fleets.whole = [&](std::int64_t replicas) { return simulated_replicas(scenario, replicas) == replicas; };
  fleets.step_up = [&](std::int64_t replicas) {
    const auto told_apart = static_cast<std::int64_t>(static_cast<double>(replicas) * options.tolerance);
    return fleets.whole(replicas + 1) ? 1 : std::max<std::int64_t>(1, told_apart);
  };
  find_needed(result, estimate, fleets);
  if (!result.found && scattered) result.unknown = scattered_words(scenario);
  if (!result.found) return result;
  result.simulated = simulated_replicas(scenario, result.needed);
  result.replicas = result.needed + (fleet.n_minus_1 ? 1 : 0);
  const auto bought = static_cast<double>(result.replicas);
  result.gpus = result.replicas * scenario.serving.cluster.uniform().gpus();
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  if (cluster.node) result.nodes = serving::nodes_for(cluster, result.replicas);
  const Purchase purchase = purchase_for(scenario, result.replicas);
  result.dram_gb = purchase.dram_gb;
  result.ssd_gb = purchase.storage_gb;
  const auto needed = static_cast<double>(result.needed);
  result.tokens_per_s = result.probe->tokens_per_s * needed / static_cast<double>(result.simulated);
  // Where the estimate failed, a replica carries less in a fleet than alone: only the fleet's own rate is known to
  // hold.
  const double carried = result.needed > estimate ? needed : std::min(exact, needed);
  result.headroom = headroom_of(bought, carried, options.tolerance);
  result.cost = hourly_cost(prices, cluster, result.replicas, result.dram_gb, result.ssd_gb);
  if (const auto total = result.cost.total())
    result.usd_per_million = usd_per_million_tokens(*total, result.tokens_per_s);
  return result;
}

ModelMargin model_margin(const StatedErrors& errors, const models::PriceTable& prices,
                         const scenario::Scenario& scenario, const Fleet* fleet, double confidence) {
  ModelMargin margin;
  margin.error = stated_error(errors, error_question(scenario, 0), 2 * confidence - 1);
  margin.slower = std::max(1.0, margin.error.e2e.high);
  if (fleet == nullptr || !fleet->found) return margin;
  // headroom: replicas x rate of one / required rate - 1.
  const double of_one = (1 + fleet->headroom) / static_cast<double>(fleet->replicas);
  constexpr double kRounding = 1e-9;
  const auto needed = static_cast<std::int64_t>(std::ceil(margin.slower / of_one - kRounding));
  margin.replicas = std::max(fleet->needed, needed) + (fleet->n_minus_1 ? 1 : 0);
  const double more =
      static_cast<double>(margin.replicas) / static_cast<double>(std::max<std::int64_t>(fleet->replicas, 1));
  margin.usd_per_hour =
      hourly_cost(prices, scenario.serving.cluster, margin.replicas, fleet->dram_gb * more, fleet->ssd_gb * more)
          .total();
  return margin;
}

}  // namespace kvsim::planner::capacity
