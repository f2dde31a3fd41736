// KV movements of a step, and their times, under a policy that fetches KV, gathered by request into one LayerStep.
#pragma once

#include <cstdint>
#include <vector>

#include "models/hardware/link_spec.h"
#include "models/kernels/step_time.h"
#include "models/prefetch/prefetch_spec.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/layer_pipeline.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

class Fetching {
 public:
  /// Over `links` such links side by side, each of which moves its part. All of it outlives this.
  Fetching(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
           const KvGeometry& geometry, const models::StepTimer& timer, const models::LinkSpec& link, double links);

  /// The pipeline of the policy's layers.
  [[nodiscard]] LayerPipelineConfig pipeline() const;

  /// Query tokens of a request's next step, with so many of an auxiliary drafter.
  [[nodiscard]] std::int64_t query_tokens(const Request& r, std::int64_t proposed) const;

  /// A new step begins.
  void clear();
  /// The request decodes in it.
  void add_decode(const Request& r, std::int64_t proposed, models::StepWork& work);
  /// The KV of `tokens` tokens of a prompt goes to host memory.
  void add_offload(std::int64_t tokens) { offloaded_tokens_ += tokens; }
  /// GPU time beside the batch's forward pass; call it once everybody is in, before the batch is timed.
  [[nodiscard]] double quantising_s() const;
  /// GPU time of choosing what to fetch.
  [[nodiscard]] double selection_s() const;
  /// The step as a pipeline; `time` is that of `work`.
  [[nodiscard]] LayerStep step(const models::StepTime& time, const models::StepWork& work) const;

  /// Bytes that one request's fetch moves in a step, all layers and GPUs, for a next step of as many proposals as were
  /// chosen for this one.
  [[nodiscard]] double request_bytes(const Request& r, std::int64_t context) const;

  /// Seconds that the step's fetches would take longer with one more proposal for each of its requests.
  [[nodiscard]] double longer_with_one_more_s() const;

 private:
  /// Rows that one request's fetch of one layer moves to one GPU.
  [[nodiscard]] models::LayerFetch layer_fetch(std::int64_t context, std::int64_t proposals) const;
  /// For which a request's fetches are meant.
  [[nodiscard]] std::int64_t proposals(const Request& r) const;
  /// Speculative tokens that choose them.
  [[nodiscard]] std::int64_t choosing(std::int64_t proposals) const;

  const ServingConfig& config_;
  const GroupConfig& group_;
  const DecodePolicy& decode_;
  const KvGeometry& geometry_;
  const models::StepTimer& timer_;
  const models::LinkSpec& link_;
  double links_;
  double gpus_;
  double kv_heads_;  // of one GPU
  /// By proposals: of a context longer than what is fetched.
  struct FullFetch {
    std::int64_t tokens = 0;
    models::LayerFetch layer;
  };
  std::vector<FullFetch> full_fetches_;
  double row_bytes_ = 0;
  const models::GatherMethod* method_ = nullptr;

  // State of the step being put together.
  double rows_ = 0;         // of a layer, on each GPU
  double more_rows_ = 0;    // with one more proposal for each request
  double whole_bytes_ = 0;  // of all layers, everywhere: full_offload
  double scores_ = 0;       // of a layer, on each GPU
  double score_rows_ = 0;   // in which they lie
  std::int64_t decoded_tokens_ = 0;
  std::int64_t offloaded_tokens_ = 0;
  bool waits_ = false;
};

}  // namespace kvsim::serving
