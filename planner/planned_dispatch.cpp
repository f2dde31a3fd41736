#include "planner/planned_dispatch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "planner/experiment.h"
#include "planner/paths/path_plan.h"

namespace kvsim::planner {
namespace {

constexpr double kPilot_s = 300;
constexpr double kPilotWarmup_s = 60;
constexpr double kAsGood = 0.01;  // of throughput

bool drafts(const PathRates& n) {
  return std::any_of(kAllPaths.begin(), kAllPaths.end(),
                     [&n](Path path) { return traits(path).drafts && n[models::index_of(path)] > 0; });
}

struct Pilot {
  double tokens_per_s = 0;
  double e2e_s = 0;
};

Pilot pilot(scenario::Scenario s, const std::function<bool()>& go_on) {
  serving::RunConfig& run = s.serving.run;
  run.duration_s = std::min(run.duration_s.value_or(kPilot_s), kPilot_s);
  run.warmup_s = std::min({run.warmup_s, kPilotWarmup_s, *run.duration_s / 2});
  run.token_samples = false;
  serving::SimulationOptions options;
  if (go_on) options.progress = [&go_on](engine::SimTime) { return go_on(); };
  const serving::Measurements m = simulate_replication(s, 0, options).measured;
  const double late = std::numeric_limits<double>::infinity();
  return {m.measured_s > 0 ? static_cast<double>(m.output_tokens) / m.measured_s : 0.0,
          m.e2e_s.count() > 0 ? m.e2e_s.mean() : late};
}

bool better(const Pilot& a, const Pilot& b) {
  const double margin = kAsGood * std::max(a.tokens_per_s, b.tokens_per_s);
  if (std::abs(a.tokens_per_s - b.tokens_per_s) > margin) return a.tokens_per_s > b.tokens_per_s;
  return a.e2e_s < b.e2e_s;
}

}  // namespace

scenario::Scenario with_best_planned_weights(const scenario::Scenario& scenario, const std::function<bool()>& go_on) {
  if (!needs_planned_weights(scenario)) return scenario;
  const scenario::Scenario all = with_planned_weights(scenario, go_on);
  if (!drafts(all.serving.cluster.topology().dispatcher->weights)) return all;
  const auto full_kv = with_full_kv_weights(scenario, go_on);
  return full_kv && better(pilot(*full_kv, go_on), pilot(all, go_on)) ? *full_kv : all;
}

}  // namespace kvsim::planner
