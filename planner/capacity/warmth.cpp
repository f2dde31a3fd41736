#include "planner/capacity/warmth.h"

#include <algorithm>

#include "planner/experiment.h"

namespace kvsim::planner::capacity {
namespace {

/// Of all replicas together.
std::optional<std::int64_t> capacity_of(const scenario::Scenario& s, const std::string& tier) {
  const serving::ClusterConfig& cluster = s.serving.cluster;
  if (tier == "gpu") return s.serving.placement->gpu_memory_bytes * cluster.replicas;
  if (tier == "host") return cluster.host_memory_bytes * cluster.replicas;
  for (const serving::StorageTierConfig& t : cluster.storage) {
    if (t.name == tier && t.capacity_bytes) return *t.capacity_bytes * (t.shared ? 1 : cluster.replicas);
  }
  return std::nullopt;
}

}  // namespace

bool TierFill::filling() const {
  return !overflowed &&
         static_cast<double>(at_end_bytes) > (1 + kStillFilling) * static_cast<double>(after_warmup_bytes);
}

std::vector<TierFill> tier_fills(const scenario::Scenario& scenario, const Probe& probe, const Watch& watch) {
  if (!scenario.serving.placement) return {};
  scenario::Scenario warming = at_rate(scenario, probe.rate, probe.length);
  serving::RunConfig& run = warming.serving.run;
  run.duration_s = run.warmup_s;
  run.warmup_s = 0;
  run.judge_until_s.reset();
  serving::SimulationOptions options;
  options.progress = [&](engine::SimTime) {
    if (watch) watch();
    return true;
  };
  const bool confirming = probe.stage == Stage::confirmation && !scenario.trace;
  const auto outcome = simulate_replication(warming, confirming ? kConfirmationSeeds : 0, options);
  const auto& contents = outcome.measured.placement.contents;
  const auto fill_of = [&](const std::string& tier) {
    TierFill fill{tier, capacity_of(scenario, tier), 0, 0, false};
    const auto& tiers = outcome.measured.tiers;
    if (const auto found = tiers.find(tier); found != tiers.end()) fill.overflowed = found->second.evictions > 0;
    if (const auto found = contents.find(tier); found != contents.end()) fill.after_warmup_bytes = found->second.bytes;
    if (const auto found = probe.tiers.find(tier); found != probe.tiers.end()) fill.at_end_bytes = found->second.bytes;
    return fill;
  };
  std::vector<TierFill> fills;
  for (const std::string& tier : tier_names(scenario)) fills.push_back(fill_of(tier));
  return fills;
}

}  // namespace kvsim::planner::capacity
