// The headline: Llama-3.1-70B on 2 x H100 NVL, KVzip c = 0.2, x = 25, against the published tokens/s.
#include <tuple>

#include "planner/experiment.h"
#include "tools/validation/groups/published_scenarios.h"

namespace kvsim::validation {
namespace {

double tokens_per_s(scenario::Scenario scenario, const std::string& policy, std::uint64_t seed) {
  scenario.serving.run.seed = seed;
  const serving::Measurements m = planner::run_experiment(planner::with_policy(scenario, policy)).measured;
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

}  // namespace

std::vector<Figure> headline_figures(std::uint64_t seed) {
  const scenario::Scenario scenario = carried_scenario("scenarios/long_context/headline.yaml");
  const double full = tokens_per_s(scenario, "full_kv", seed);
  const double staggered = tokens_per_s(scenario, "draft_verify:staggered", seed);
  const double lock_step = tokens_per_s(scenario, "draft_verify:lock_step", seed);
  const double sequential = tokens_per_s(scenario, "draft_verify:sequential_verify", seed);

  std::vector<Figure> figures;
  const auto add = [&](const char* name, const char* what, const char* unit, double expected, double simulated,
                       double tolerance) -> Figure& {
    Figure& f = figures.emplace_back();
    f.id = std::string("draft-verify/headline.") + name;
    f.what = what;
    f.unit = unit;
    f.expected = expected;
    f.simulated = simulated;
    f.tolerance = tolerance;
    f.source = "VeriCache, Llama-70B on 2 x H100 NVL, PCIe 5 x16, KVzip c = 0.2, x = 25, agentic traces";
    f.assumptions = scenario.assumptions;
    return f;
  };
  constexpr double kFull = 102, kDraftVerify = 256;  // tokens/s, published
  add("full_kv", "full KV", "tokens/s", kFull, full, 0.15);
  add("draft_verify", "draft/verify, staggered", "tokens/s", kDraftVerify, staggered, 0.15);
  add("gain", "gain of draft/verify", "", kDraftVerify / kFull, staggered / full, 0.14);
  const char* order = "what staggering is for: it is to beat verifying together or one after another";
  for (auto [name, what, other] : {std::tuple{"lock_step", "lock-step/staggered, at most", lock_step},
                                   std::tuple{"sequential", "sequential/staggered, at most", sequential}}) {
    Figure& f = add(name, what, "", 1, other / staggered, 0);
    f.claim = Claim::at_most;
    f.assumptions.emplace_back(order);
  }
  return figures;
}

}  // namespace kvsim::validation
