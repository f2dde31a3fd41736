#include "planner/paths/planned_weights.h"

#include <numeric>

#include "planner/paths/scenario_problem.h"

namespace kvsim::planner {
namespace {

/// Of all requests. What an optimum leaves over of a path is no use of it, but would keep memory free for it.
constexpr double kLeastShare = 1e-4;

}  // namespace

scenario::Scenario with_planned_weights(const scenario::Scenario& scenario) {
  return with_weights(scenario, plan_paths(path_problem(scenario)).n);
}

scenario::Scenario with_weights(const scenario::Scenario& scenario, const PathRates& n) {
  scenario::Scenario changed = scenario;
  serving::DispatchConfig& dispatch = changed.serving.cluster.pools->dispatch;
  dispatch.policy = "weighted";
  dispatch.weights = path_weights(n);
  return changed;
}

std::optional<scenario::Scenario> with_full_kv_weights(const scenario::Scenario& scenario) {
  PathProblem problem = path_problem(scenario);
  const std::size_t drafting = std::erase_if(problem.paths, [](Path path) { return traits(path).drafts; });
  if (drafting == 0 || problem.paths.empty()) return std::nullopt;
  return with_weights(scenario, plan_paths(problem).n);
}

PathRates path_weights(const PathRates& n) {
  const double least = kLeastShare * std::accumulate(n.begin(), n.end(), 0.0);
  PathRates weights = n;
  for (double& weight : weights) weight = weight < least ? 0 : weight;
  return weights;
}

bool needs_planned_weights(const scenario::Scenario& scenario) {
  const auto& pools = scenario.serving.cluster.pools;
  return pools && pools->dispatch.policy == "planned";
}

}  // namespace kvsim::planner
