// A small scenario of two pools around a storage node.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::testing {

/// Llama-3.1-8B on one local and two remote nodes of one H100 each: 131,072 bytes of KV per token, so that a context of
/// 16k tokens is 2.1 GB, 52 ms over the fast link and 1.75 s over the slow one.
inline constexpr const char* kPoolsScenario = R"(
name: pools
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}
  pools:
    local: {nodes: 1, link: storage-node-fast}
    remote: {nodes: 2, link: storage-node-slow}
    message_latency: 1 ms
workload:
  closed: {concurrency: 10}
  context: 16k tokens
  output: 200 tokens
  requests: 60
prefill: stored
decode: {policy: draft_verify, compressor: kivi-4bit, draft_length: 20}
dispatch: {policy: online}
)";

inline scenario::ScenarioFile pools_file(const std::vector<std::string>& overrides = {}) {
  return scenario::ScenarioFile::from_text(kPoolsScenario, "pools.yaml", overrides);
}

inline scenario::Scenario pools_scenario(const std::vector<std::string>& overrides = {}) {
  return pools_file(overrides).load();
}

}  // namespace kvsim::testing
