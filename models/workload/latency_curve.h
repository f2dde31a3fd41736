// How long requests wait for their first token beside a prefix cache of a given size: what the cache holds is loaded,
// the rest is prefilled. For every LRU capacity at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

/// What a token of the prompt costs, in seconds; both >= 0.
struct PromptTimes {
  double load_s = 0;     ///< where the cache holds it: its KV's bytes / the cache's read bandwidth
  double prefill_s = 0;  ///< where it does not: 1 / tokens prefilled per second
};

/// Prompt tokens that an LRU cache of blocks holds as its capacity grows.
struct LatencyCurve {
  std::uint64_t requests = 0;
  std::int64_t prompt_tokens = 0;  ///< of all requests

  struct Step {
    std::uint64_t capacity = 0;     ///< blocks
    std::int64_t found_tokens = 0;  ///< with this capacity, and with any up to the next step's
  };
  std::vector<Step> steps;  ///< ascending in both; empty where nothing is used twice

  [[nodiscard]] std::int64_t found_tokens(std::uint64_t capacity) const;
  /// Mean over requests of load(found tokens) + prefill(the others), each request alone on the machine: no queueing, no
  /// overlap of the two, and nothing prefilled where all is found. 0 without requests. Where loading a token takes
  /// longer than prefilling it, the time grows with the capacity.
  [[nodiscard]] double mean_ttft_s(std::uint64_t capacity, const PromptTimes& times) const;
};

/// The curve of requests whose blocks are used as StackDistances says. A block is of use where all before it are found
/// too; the last one of a prompt may be filled in part. block_tokens >= 1.
LatencyCurve latency_curve(std::span<const RequestSpec> requests, std::int64_t block_tokens);

}  // namespace kvsim::models
