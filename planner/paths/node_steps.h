// Step times of one node of a scenario's pools, for its mean request.
#pragma once

#include "models/kernels/step_time.h"
#include "planner/plan/traffic.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::planner {

class NodeSteps {
 public:
  NodeSteps(const serving::ServingConfig& config, const serving::KvGeometry& geometry, const Traffic& traffic);

  /// Seconds of a step in which so many requests decode over the full KV, so many draft (over what compression leaves
  /// on a remote node) and so many verify x drafts. Precondition: not all of them 0.
  [[nodiscard]] double seconds(double decoding, double drafting, double verifying) const;

 private:
  serving::ServingConfig config_;
  serving::KvGeometry geometry_;
  std::int64_t prompt_;
  std::int64_t generated_;
  models::StepTimer timer_;
};

/// Tokens of a prompt that a remote node holds, in full size, once the compressed ones have arrived: what is quantised
/// is decompressed to full size, what is dropped is gone.
double resident_tokens(const models::CompressorSpec& compressor, const serving::KvGeometry& geometry,
                       std::int64_t prompt);

}  // namespace kvsim::planner
