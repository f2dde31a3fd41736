// Prompts made of chunks, a scenario small enough to reason about by hand.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/policy_words.h"
#include "sim/scenario/scenario.h"
#include "tests/support/sets.h"

namespace kvsim::testing {

/// Llama-3-8B on one A100, its small model on another: prompts of 10 chunks of 512 tokens (131,072 bytes each, 64 MiB a
/// chunk) and a query of 64. All chunks fit into host memory.
inline constexpr const char* kChunkScenario = R"(
name: chunks
model: llama-3-8b
cluster:
  gpu: {type: a100-40gb, activations: 0 B}
  host: {memory: 160 GB}
workload:
  arrivals: {process: poisson, rate: 1/s}
  chunks: {count: 100, popularity: 0.9, per_request: 10, tokens: 512 tokens}
  context: 64 tokens
  output: 16 tokens
  requests: 1
prefill:
  policy: selective
  rho: 0.15
  speculative: {model: llama-3.2-1b, gpus: 1}
placement: {policy: lru, preload: true}
decode: {policy: full_kv}
)";

inline scenario::Scenario chunk_scenario(const Sets& sets = {}) {
  return scenario::load_scenario_text(kChunkScenario, "chunks.yaml", sets);
}

inline serving::Measurements run_chunks(const Sets& sets) {
  return planner::run_experiment(chunk_scenario(sets)).measured;
}

inline Sets operator+(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// The repository's top, for scenarios and data.
inline std::string source_path(const std::string& relative) {
  return std::string(KVSIM_SOURCE_DIR) + "/" + relative;
}

}  // namespace kvsim::testing
