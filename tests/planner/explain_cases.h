// Scenarios in which one resource binds by construction, explained once for all tests of a process.
#pragma once

#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "sim/scenario/scenario.h"

namespace kvsim::testing {

struct ExplainCase {
  scenario::Scenario scenario;
  planner::ScenarioPlan plan;
  planner::Explanation explanation;
};

/// Llama-3.1-8B on one H100, stored contexts of 16k tokens, a minute after ten seconds of warm-up.
inline scenario::Scenario explain_scenario(const std::vector<std::string>& overrides) {
  return scenario::load_scenario_text(R"(
name: explained
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}
  host: {memory: 512 GiB, link: pcie5-x16}
workload:
  closed: {concurrency: 10}
  context: 16k tokens
  output: 500 tokens
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}
schedule: {policy: staggered}
run: {duration: 70 s, warmup: 10 s}
)",
                                      "explained.yaml", overrides);
}

inline planner::ExplainOptions quick_options() {
  planner::ExplainOptions options;
  options.replications = 3;
  options.jobs = 2;
  return options;
}

inline ExplainCase explained(const std::vector<std::string>& overrides) {
  ExplainCase one;
  one.scenario = explain_scenario(overrides);
  planner::PlanRequest request;
  request.keep_ratios = {0.15, 0.2, 0.25, 0.35, 0.4};
  request.most_draft_length = 40;
  one.plan = planner::plan(one.scenario, request);
  one.explanation = planner::explain(one.scenario, one.plan, quick_options());
  return one;
}

inline const ExplainCase& hbm_bandwidth_bound() {
  static const ExplainCase one = explained({"workload.closed.concurrency=4", "workload.output=2000 tokens",
                                            "cluster.gpu.profile={base: datasheet-generic, linear: {t0: 0 s}, "
                                            "attention: {t0: 0 s}, iteration_overhead: 0 s, "
                                            "drafts: {round: 0 s, request: 0 s, layer: 0 s}}"});
  return one;
}

inline const ExplainCase& link_bound() {
  static const ExplainCase one = explained({"cluster.host.link={base: pcie5-x16, read: 10 GB/s}",
                                            "workload.closed.concurrency=40", "workload.output=20 tokens"});
  return one;
}

/// Plans come in whole requests: at 0.38 the next plan is worth its memory, just above one it is worth half of it.
inline const ExplainCase& capacity_bound() {
  static const ExplainCase one = explained({"cluster.gpu.memory_fraction=0.38", "workload.closed.concurrency=100",
                                            "workload.output=2000 tokens", "run.duration=120 s", "run.warmup=20 s"});
  return one;
}

inline std::vector<const ExplainCase*> explain_cases() {
  return {&hbm_bandwidth_bound(), &link_bound(), &capacity_bound()};
}

}  // namespace kvsim::testing
