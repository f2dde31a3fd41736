// A decoding step of a batch of like requests under any of the policies that prefetching is compared with: what the
// simulator's steps come to once its pipeline has filled.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernels/step_time.h"
#include "planner/prefetch/steady_step.h"
#include "sim/serving/config.h"

namespace kvsim::planner {

struct LikeRequests {
  std::int64_t batch = 1;
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  [[nodiscard]] std::int64_t context() const { return prompt + generated; }
};

struct StepOutlook {
  LikeRequests requests;
  serving::LayerPipelineConfig pipeline;
  serving::LayerStep layers;
  FetchTimes fetch;  ///< of a layer; all 0 where nothing is fetched
  Pace pace = Pace::gpu;
  double step_s = 0;                       ///< T
  double fetch_bytes_per_request = 0;      ///< in a step: all layers, all GPUs
  double attention_bytes_per_request = 0;  ///< KV that attention reads in a step, all layers, times the kernel's factor
  bool within_domain = true;               ///< false: some size lies beyond what the profile was measured at
  std::vector<std::string> fallbacks;      ///< figures that had to be replaced, in words

  [[nodiscard]] double computing_s() const { return layers.computing(pipeline.layers).seconds(); }
  [[nodiscard]] double tokens_per_s() const { return static_cast<double>(requests.batch) / step_s; }
  /// Link time of a step's fetches.
  [[nodiscard]] double fetch_s() const { return static_cast<double>(pipeline.layers) * fetch.flowing_ns * 1e-9; }
  [[nodiscard]] bool hidden() const { return step_s <= computing_s() * (1 + kHiddenShare); }
};

/// The timer of a configuration's machine and model.
[[nodiscard]] models::StepTimer step_timer(const serving::ServingConfig& config);

/// The step of config's decode policy: full_kv, or one with a low-bit copy, or one that fetches. Every request has
/// chosen its pairs before. Preconditions: a valid configuration of such a policy, batch >= 1.
[[nodiscard]] StepOutlook outlook(const serving::ServingConfig& config, const LikeRequests& requests);

}  // namespace kvsim::planner
