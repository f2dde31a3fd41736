// A forward pass as a pipeline of layers whose KV comes over a link meanwhile. When a layer's KV is asked for, and when
// it must be there, is what the decode policies that fetch KV differ in:
//
//   next_step   layer j's fetch for step t + 1 is asked for when its attention in step t is done, and must have arrived
//               when its attention in step t + 1 begins (speculative prefetch)
//   next_layers the same some layers ahead: layer j's fetch when the attention of the layer so many before it is done
//   on_demand   asked for within the layer, once its scores are there; the attention waits for it
//
// KV of new tokens and of chunks of prompts that goes to host memory crosses the other way, each layer's when its
// attention is done. Source: SpeCache (Jie et al., arXiv:2503.16163), section 3.3.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/engine/simulator.h"
#include "sim/machine/gpu_work.h"
#include "sim/transport/link.h"
#include "sim/transport/planned_link.h"

namespace kvsim::serving {

enum class FetchTime { next_step, next_layers, on_demand };

/// One forward pass. Layers are alike.
struct LayerStep {
  engine::Duration before;       ///< of a layer, until its attention could begin
  engine::Duration scoring;      ///< of its attention, what comes before the fetch is asked for (on_demand)
  engine::Duration attention;    ///< all of its attention, the choice of what to fetch included
  engine::Duration after;        ///< of a layer, from the end of attention to the next layer
  engine::Duration tail;         ///< once, after the last layer
  std::int64_t fetch_bytes = 0;  ///< of a layer, over the whole group's links; 0: nothing
  double fetch_slowdown = 1;     ///< of scattered rows, see transport::Transfer
  double slowdown_at_twice = 1;  ///< fetch_slowdown over links of twice the bandwidth, to which their time is relative
  bool waits = false;            ///< some request needs what was fetched for it (next_step, next_layers)
  std::int64_t offload_bytes = 0;   ///< of a layer, to host memory; 0: nothing
  engine::Callback on_offloaded{};  ///< the last layer's is there; may be empty

  /// The GPU's time where nothing has to be waited for.
  [[nodiscard]] engine::Duration computing(std::int64_t layers) const {
    return (before + attention + after) * layers + tail;
  }
};

class LayerPipeline {
 public:
  virtual ~LayerPipeline() = default;

  /// Runs a forward pass from now on; `on_end` when its last token is there. One at a time.
  virtual void start(const LayerStep& step, engine::Callback on_end) = 0;
};

struct LayerPipelineConfig {
  std::int64_t layers = 1;
  FetchTime fetches = FetchTime::next_step;
  std::int64_t layers_ahead = 1;  ///< next_layers: at least 1, at most `layers`
};

/// Seconds of a step among steps like it: a layer's fetch keeps the link for `fetch_s`, nothing else does, and
/// computing takes `computing` times as long as it does (1: as it is), its tail after that `less_tail_s` less. With L >
/// 1 layers, of c seconds each, and t of the tail:
///   next_step: max(L c + t, L f), the fetches of a step beside the computing of the next;
///   on_demand: L (c + f) + t, one after the other;
///   next_layers, a ahead: a fetch begins with the end of attention a layers before it is needed, so that a layer takes
///   p = max(c, f, (f + attention) / a), and the last a, behind which the tail runs, max(a c + t, a p): exact
///   where a is 1, else within a layers.
[[nodiscard]] double steady_step_s(const LayerPipelineConfig& config, const LayerStep& step, double fetch_s,
                                   double computing, double less_tail_s = 0);

/// Step by step: an event for every layer and every transfer, on any two links and GPUs that copies may slow.
std::unique_ptr<LayerPipeline> make_simulated_layers(machine::GpuWork& gpus, const LayerPipelineConfig& config,
                                                     transport::Link& to_gpu, transport::Link& to_host);

/// Pipeline in closed form: one event a step. Its times are equal to the nanosecond, and no other transfer may be
/// submitted to the links while a step runs.
std::unique_ptr<LayerPipeline> make_planned_layers(engine::Simulator& simulator, const LayerPipelineConfig& config,
                                                   transport::PlannedLink& to_gpu, transport::PlannedLink& to_host);

}  // namespace kvsim::serving
