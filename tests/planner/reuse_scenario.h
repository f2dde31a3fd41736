// A prompt of retrieved chunks alone on an idle replica.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::testing {

/// Mistral-7B on a 40 GB A100, ten chunks of 512 tokens and a query of 64; a small model scores on the same GPU.
inline constexpr const char* kOnePrompt = R"(
name: one prompt
model: mistral-7b
cluster:
  gpu: {type: a100-40gb, activations: 0 B}
  host: {memory: 512 GiB}
workload:
  arrivals: {process: poisson, rate: 1/s}
  chunks: {count: 10, popularity: 0.5, per_request: 10, tokens: 512 tokens}
  context: 64 tokens
  output: 4 tokens
  requests: 1
prefill: {policy: selective, rho: 0.15}
placement: {policy: lru, preload: true}
decode: {policy: full_kv}
)";

inline scenario::Scenario one_prompt(const std::vector<std::string>& overrides = {}) {
  return scenario::load_scenario_text(kOnePrompt, "one_prompt.yaml", overrides);
}

}  // namespace kvsim::testing
