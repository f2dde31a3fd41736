// A scenario whose capacity is found in a moment.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "planner/capacity/capacity_plan.h"
#include "sim/scenario/scenario.h"

namespace kvsim::testing {

/// Short chat requests for Llama-3.1-8B on one H100.
inline constexpr const char* kQuickChat = R"(
name: quick chat
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, activations: 0 B}
workload:
  arrivals: {rate: 10/s}
  context: {distribution: lognormal, mean: 500 tokens, cv: 0.5, max: 4k tokens}
  output: {distribution: lognormal, mean: 10 tokens, cv: 0.5, max: 100 tokens}
prefill: recompute
decode: {policy: full_kv}
slo: {ttft_p99: 500 ms, tpot_p99: 50 ms}
run: {duration: 10 s, warmup: 2 s, seed: 1}
)";

inline scenario::Scenario quick_chat(const std::vector<std::string>& overrides = {}) {
  return scenario::load_scenario_text(kQuickChat, "quick.yaml", overrides);
}

/// 90 % of requests: a tenth of the simulation that 99 % takes. Confirming runs are as long as those of users.
inline planner::capacity::ProbeOptions confirming_probe() {
  planner::capacity::ProbeOptions options;
  options.target = 0.9;
  options.tolerance = 0.05;
  options.replications = 4;
  return options;
}

/// A probe for what does not depend on how well the rate is confirmed.
inline planner::capacity::ProbeOptions quick_probe() {
  planner::capacity::ProbeOptions options = confirming_probe();
  options.confirm_judged_s = 120;
  options.confirm_warmup_s = 20;
  return options;
}

inline planner::capacity::CapacityPlan quick_plan(const std::vector<std::string>& overrides,
                                                  planner::capacity::CapacityRequest request,
                                                  const planner::capacity::ProbeOptions& probe = quick_probe()) {
  request.probe = probe;
  if (request.prices.gpus.empty()) request.prices = models::PriceTable::built_in();
  return planner::capacity::plan_capacity(quick_chat(overrides), std::move(request));
}

/// The same without a request of its own, found once.
inline const planner::capacity::CapacityPlan& quick_plan(const std::vector<std::string>& overrides = {}) {
  static std::map<std::vector<std::string>, planner::capacity::CapacityPlan> known;
  const auto found = known.find(overrides);
  return found != known.end() ? found->second : known.emplace(overrides, quick_plan(overrides, {})).first->second;
}

inline double quick_rate(const std::vector<std::string>& overrides = {}) {
  return quick_plan(overrides).configurations.front().rate_per_replica();
}

}  // namespace kvsim::testing
