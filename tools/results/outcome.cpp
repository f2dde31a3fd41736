#include "tools/results/outcome.h"

#include "planner/capacity/fleet.h"
#include "planner/capacity/machine_choice.h"

namespace kvsim::results {

std::string unsteady_state(const Outcome& outcome) {
  return planner::unsteady_state(outcome.result.measured, planner::variation_of_gaps(outcome.scenario));
}

double output_tokens_per_s(const planner::ExperimentResult& result) {
  const serving::Measurements& m = result.measured;
  return m.measured_s > 0 ? static_cast<double>(m.output_tokens) / m.measured_s : 0;
}

std::optional<double> speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline) {
  const double base = output_tokens_per_s(baseline);
  if (base <= 0) return std::nullopt;
  return output_tokens_per_s(result) / base;
}

std::optional<double> ttft_speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline) {
  const double own = result.measured.ttft_s.mean(), base = baseline.measured.ttft_s.mean();
  if (!(own > 0) || !(base > 0)) return std::nullopt;
  return base / own;
}

const serving::KvCapacity& capacity_of(const Outcome& outcome, const serving::GroupConfig& group) {
  const auto& groups = outcome.scenario.serving.cluster.groups;
  const auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == group.name; });
  return outcome.result.capacities.at(static_cast<std::size_t>(at - groups.begin()));
}

std::optional<double> usd_per_hour(const Outcome& outcome, const models::PriceTable& prices) {
  const serving::ClusterConfig& cluster = outcome.scenario.serving.cluster;
  const planner::capacity::Purchase memory = planner::capacity::purchase_for(outcome.scenario, cluster.replicas());
  return planner::capacity::hourly_cost(prices, cluster, cluster.replicas(), memory.dram_gb, memory.storage_gb).total();
}

std::optional<double> usd_per_million(const Outcome& outcome, const models::PriceTable& prices) {
  const std::optional<double> hour = usd_per_hour(outcome, prices);
  if (!hour) return std::nullopt;
  return planner::capacity::usd_per_million_tokens(*hour, output_tokens_per_s(outcome.result));
}

}  // namespace kvsim::results
