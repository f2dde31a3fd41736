// How long a step becomes that repeats for ever, layers alike and each with its fetch: the closed form of
// sim/serving/layer_pipeline.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/serving/layer_pipeline.h"

namespace kvsim::planner {

/// One layer's fetch on the host link, in ns.
struct FetchTimes {
  double flowing_ns = 0;  ///< d: bytes on the link
  double setup_ns = 0;    ///< s: before them, while the fetch ahead flows
  double latency_ns = 0;  ///< from the last byte sent to its arrival
};

/// What sets the pace.
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

/// Of L layers, each before + attention + after = c; computing is L c + tail, D = max(d, s) is how far apart fetches
/// flow, x = attention + s + d + latency is from the beginning of one attention to the earliest one its fetch can
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

}  // namespace kvsim::planner
