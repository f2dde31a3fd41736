// Steps that fetch KV or read a low-bit copy of it: what requests do in them, how they run, and what is measured of it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "models/hardware/link_spec.h"
#include "models/kernels/step_work.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/fetching.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/layer_pipeline.h"
#include "sim/serving/step_parts.h"
#include "sim/transport/lane.h"
#include "sim/transport/link.h"
#include "sim/transport/planned_link.h"

namespace kvsim::serving {

/// The way between a group's GPUs and where the full KV is that they do not hold: host memory, or a storage node.
struct KvLink {
  transport::Link& to_gpu;
  transport::Link& from_gpu;
  const models::LinkSpec& spec;  ///< of each of `links`, side by side
  double links = 1;
  // These two links where the layers of steps are planned; else null.
  transport::PlannedLink* planned_to_gpu = nullptr;
  transport::PlannedLink* planned_from_gpu = nullptr;
  // Both as lanes where they are not planned.
  transport::GroupLanes lanes{};
};

class FetchedSteps {
 public:
  /// All of it outlives this. `on_offloaded` runs with the request's id as its word when the KV of a chunk of its
  /// prompt, which left layer by layer while the step ran, has arrived.
  FetchedSteps(const GroupEnvironment& environment, machine::GpuGroup& gpus, const KvLink& link,
               engine::Callback on_offloaded);

  /// Whether requests decode in such steps at all; else StepParts says what they compute.
  [[nodiscard]] bool possible() const { return env_.decode.low_bit_copy || by_layers(); }
  /// Steps run as a pipeline of layers: start().
  [[nodiscard]] bool by_layers() const { return layers_ != nullptr; }
  /// New tokens' KV stays on the GPU until it has left: is there no more room in the residual window? Then no step may
  /// begin, and the group is woken when one may.
  [[nodiscard]] bool lags() const;
  /// Nothing is leaving.
  [[nodiscard]] bool idle() const { return leaving_.empty(); }
  /// Nothing of the request can be fetched before all of its KV has left.
  [[nodiscard]] bool waits_for_offload(const Request& r) const { return by_layers() && r.full_kv.offload_pending; }
  /// Query tokens of a request's next step, with so many of an auxiliary drafter.
  [[nodiscard]] std::int64_t query_tokens(const Request& r, std::int64_t proposed) const {
    return fetching_.query_tokens(r, proposed);
  }

  /// A new step is put together.
  void begin_step() {
    if (possible()) fetching_.clear();
  }
  void add(const Request& r, std::int64_t proposed, models::StepWork& work);
  /// A chunk of a prompt is computed.
  void add_chunk(std::int64_t tokens) { fetching_.add_offload(tokens); }
  /// GPU time beside the forward pass; everybody is in.
  [[nodiscard]] double quantising_s() const { return fetching_.quantising_s(); }
  /// Precondition: by_layers(). `step`: what the group is told of it, but for the time.
  void start(machine::Step step, const ForwardPass& pass);
  void end_step();
  /// Seconds that the fetches of a step that is over would have taken longer with one more proposal for each request.
  [[nodiscard]] double longer_with_one_more_s() const { return fetching_.longer_with_one_more_s(); }

  /// The request's step has ended. True if it was a pre-decode step: nothing is decoded, the speculative token chooses
  /// the first pairs.
  [[nodiscard]] bool chose_first(Request& r);
  /// Nothing uses the fetches asked for beside the request's last step, which began with `context` tokens.
  void abandon(Request& r, std::int64_t context);

 private:
  [[nodiscard]] engine::Callback leaves(const ForwardPass& pass);
  void on_step_offloaded();
  void note_savings();

  const GroupEnvironment& env_;
  machine::GpuGroup& gpus_;
  double read_bytes_per_s_;
  Fetching fetching_;
  LayerPipelineConfig config_;
  std::unique_ptr<LayerPipeline> layers_;  // null: nothing is fetched
  LayerStep step_;                         // under way, or the latest
  engine::Callback on_offloaded_;
  std::deque<std::vector<std::uint64_t>> leaving_;  // by step under way: requests whose prompts' KV leaves
};

}  // namespace kvsim::serving
