// A scenario small enough to reason about by hand, and what tests do with one.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/planned_dispatch.h"
#include "sim/scenario/scenario.h"
#include "tests/support/sets.h"

namespace kvsim::testing {

/// Llama-3.1-8B on one H100: 16 GB of weights, 131,072 bytes of KV per token, stored 16k-token contexts, ten requests
/// at once.
inline constexpr const char* kSmallScenario = R"(
name: small
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}
  host: {memory: 512 GiB, link: pcie5-x16}
workload:
  closed: {concurrency: 10}
  context: 16k tokens
  output: 200 tokens
  requests: 60
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 20}
schedule: {policy: staggered}
)";

inline Sets with(Sets sets, const std::string& set) {
  sets.push_back(set);
  return sets;
}

/// With the full KV in GPU memory.
inline Sets full_kv(const Sets& more) {
  Sets sets = {"decode={policy: full_kv}", "schedule={policy: fcfs}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

inline scenario::ScenarioFile small_file(const std::vector<std::string>& overrides = {}) {
  return scenario::ScenarioFile::from_text(kSmallScenario, "small.yaml", overrides);
}

inline scenario::Scenario small_scenario(const std::vector<std::string>& overrides = {}) {
  return small_file(overrides).load();
}

/// Why it is refused; empty: it is not.
inline std::string small_refusal(const std::vector<std::string>& overrides) {
  try {
    (void)small_scenario(overrides);
  } catch (const std::exception& e) {
    return e.what();
  }
  return "";
}

inline serving::Measurements measure(const scenario::Scenario& scenario) {
  return planner::run_experiment(planner::with_best_planned_weights(scenario)).measured;
}

inline serving::Measurements measure_with(const std::vector<std::string>& overrides) {
  return measure(small_scenario(overrides));
}

/// The repository's top, for scenarios and data.
inline std::string source_path(const std::string& relative) {
  return std::string(KVSIM_SOURCE_DIR) + "/" + relative;
}

}  // namespace kvsim::testing
