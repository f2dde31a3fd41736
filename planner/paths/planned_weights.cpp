#include "planner/paths/planned_weights.h"

#include "planner/paths/scenario_problem.h"

namespace kvsim::planner {

scenario::Scenario with_planned_weights(const scenario::Scenario& scenario) {
  return with_weights(scenario, plan_paths(path_problem(scenario)).n);
}

scenario::Scenario with_weights(const scenario::Scenario& scenario, const PathRates& n) {
  scenario::Scenario changed = scenario;
  serving::DispatchConfig& dispatch = changed.serving.cluster.pools->dispatch;
  dispatch.policy = "weighted";
  dispatch.weights = n;
  return changed;
}

bool needs_planned_weights(const scenario::Scenario& scenario) {
  const auto& pools = scenario.serving.cluster.pools;
  return pools && pools->dispatch.policy == "planned";
}

}  // namespace kvsim::planner
