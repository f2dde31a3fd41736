// Where the full KV comes from that drafts are verified against, and what a request keeps of it. Drafts on a policy's
// own compressed copy are verified against a copy of the full KV in host memory. Drafts on prompts as they were loaded
// or put together are verified against whole ones: what placement stores compressed is fetched whole from the tiers for
// every verification; a prompt put together from chunks is computed whole once, beside the drafts on it, and replaces
// them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "models/kernels/step_work.h"
#include "sim/engine/simulator.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/measurements.h"
#include "sim/serving/prompt_store.h"
#include "sim/serving/request.h"
#include "sim/serving/schedule_policy.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

/// A tensor-parallel group, as sources see it; all of it outlives them.
struct FullKvParts {
  const ServingConfig& config;
  const KvGeometry& geometry;
  KvHoldings& memory;
  transport::Link& from_host;
  PromptStore& prompts;
  Measurements& measured;
  engine::Callback on_arrived;  ///< word: the request's id; what bring() asked for is in GPU memory
};

class FullKvSource : public FullKvLoads {
 public:
  explicit FullKvSource(const FullKvParts& parts) : parts_(parts) {}

  /// GPU memory that the largest verification of a request with this context in the end takes beside its drafts; 0
  /// where it is counted in KvGeometry::compressed_reservation() + reload_reservation() already.
  [[nodiscard]] virtual std::int64_t most_beside(std::int64_t /*tokens*/) const { return 0; }
  /// Bytes of the KV read by its drafts that the full KV contains as well, so that they may leave while it is there.
  [[nodiscard]] virtual std::int64_t replaceable(const Request&) const { return 0; }

  /// The request is about to be admitted; Request::prefix says what was found of its prompt, which decides whether
  /// there is anything to verify.
  virtual void found(Request&) const {}
  /// Its memory is reserved.
  virtual void bring(Request& r) = 0;
  /// The KV that bring() asked for is there.
  virtual void arrived(Request&) const {}
  /// The request was preempted while that KV was being loaded.
  virtual void abandoned(Request&) const {}

  /// Adds the part of the full KV that steps compute, with the step's tokens that decoding and other prompts leave.
  virtual void batch(std::span<Request* const>, std::int64_t& /*budget*/, models::StepWork&) {}
  /// The step is over.
  virtual void apply() {}

  /// The request was verified: the KV loaded for that leaves, or stays if `free` (no request waits for the memory).
  virtual void verified(Request& r, bool /*free*/) { parts_.memory.unstage(r.kv); }

 protected:
  FullKvParts parts_;
};

/// Verifications may begin while the last layers of what they read are on their way. `decode`: the configured policy.
[[nodiscard]] bool full_kv_comes_by_layers(const ServingConfig& config, const DecodePolicy& decode);

/// `decode`: the configured policy.
std::unique_ptr<FullKvSource> make_full_kv_source(const FullKvParts& parts, const DecodePolicy& decode);

}  // namespace kvsim::serving
