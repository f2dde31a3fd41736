// A decoding step of a batch of like requests under any of the policies that prefetching is compared with: what the
// simulator's steps come to once its pipeline has filled.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/layer_pipeline.h"

namespace kvsim::planner {

// How long a step becomes that repeats for ever, layers alike and each with its fetch: the closed form of
// sim/serving/layer_pipeline.

/// One layer's fetch on the host link, in ns.
struct FetchTimes {
  double flowing_ns = 0;  ///< d: bytes on the link
  double setup_ns = 0;    ///< s: before them, while the fetch ahead flows
  double latency_ns = 0;  ///< from the last byte sent to its arrival
};

/// Resource that sets the pace.
enum class Pace {
  gpu,    ///< every fetch is there in time
  link,   ///< it is never idle
  window  ///< the time between asking for a fetch and needing it is too short for one
};
std::string_view words_of(Pace pace);

struct SteadyStep {
  double step_ns = 0;  ///< mean: steps may alternate
  Pace pace = Pace::gpu;
};

/// A step of L layers, each before + attention + after = c: computing is L c + tail, D = max(d, s) is how far fetches
/// flow apart, x = attention + s + d + latency is from the beginning of one attention to the earliest one its fetch can
/// serve.
///
/// Fetched a layers ahead (next_layers; next_step is a = L), the times of a step obey a max-plus recurrence with the
/// moves
///     attention -> attention of the next layer   c, and the tail behind the last layer
///     fetch -> the next layer's fetch            D
///     attention -> its fetch -> attention a layers later   x
/// and the mean step is the largest mean of its cycles (Baccelli et al., Synchronization and Linearity, 1992, theorem
/// 2.23), which are
///     L c + tail                                     the GPU
///     L D                                            the link
///     L x / a                                        the window
///     (c + tail + h x + (m L - 1 - h a) max(c, D)) / m   m steps of which one tail is met, with h fetches awaited;
///                                                    h = 1 or as many as fit, as it is linear in h
/// The last one is above the others only where the tail or the latency is long against the layers.
/// On demand, each layer waits for its own: L c + tail + L (s + d + latency).
[[nodiscard]] SteadyStep steady_step(const serving::LayerStep& step, const serving::LayerPipelineConfig& pipeline,
                                     const FetchTimes& fetch);

/// A fetch counts as hidden where it lengthens the step by at most this share.
inline constexpr double kHiddenShare = 1e-3;

/// The longest d, in ns, at which the fetch is hidden; below 0 where setup and latency alone are too long.
[[nodiscard]] double longest_hidden_ns(const serving::LayerStep& step, const serving::LayerPipelineConfig& pipeline,
                                       FetchTimes fetch);

struct LikeRequests {
  std::int64_t batch = 1;
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  [[nodiscard]] std::int64_t context() const { return prompt + generated; }
};

struct StepEstimate {
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
[[nodiscard]] StepEstimate estimate(const serving::ServingConfig& config, const LikeRequests& requests);

}  // namespace kvsim::planner
