// A scenario whose capacity is found in a moment.
#pragma once

#include <string>
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

/// 90 % of requests: a tenth of the simulation that 99 % takes.
inline planner::capacity::ProbeOptions quick_probe() {
  planner::capacity::ProbeOptions options;
  options.target = 0.9;
  options.tolerance = 0.05;
  options.replications = 4;
  return options;
}

inline planner::capacity::CapacityPlan quick_plan(const std::vector<std::string>& overrides = {},
                                                  planner::capacity::CapacityRequest request = {}) {
  request.probe = quick_probe();
  if (request.prices.gpus.empty()) request.prices = models::PriceTable::built_in();
  return planner::capacity::plan_capacity(quick_chat(overrides), std::move(request));
}

inline double quick_rate(const std::vector<std::string>& overrides = {}) {
  return quick_plan(overrides).configurations.front().rate_per_replica();
}

}  // namespace kvsim::testing
