// The rate of a batch that drafts and verifies, predicted: what a steady state would bring, from the parts of steps and
// the timer that the simulation uses too.
#pragma once

#include <cstdint>

#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

/// Requests that are all alike, their verifications spread evenly.
struct RoundBatch {
  double requests = 1;
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  std::int64_t draft_length = 1;  ///< x
  double accepted = 0;            ///< A(x), expected
};

struct RoundRate {
  double iteration_s = 0;   ///< of the GPUs
  double link_s = 0;        ///< that the round's reloads take on the link; 0 where nothing is reloaded
  double round_s = 0;       ///< x + 1 iterations, or the reloads if they take longer
  double tokens_per_s = 0;  ///< of all requests
};

/// B requests of which B / (x + 1) verify in each iteration and the others draft:
///   round_s = max((x + 1) T(B), B_c reload / BW_link),  tokens/s = B (1 + A(x)) / round_s,
/// B_c being those of which decode.resident has no place. Prompts that are prefilled or loaded meanwhile, and what is
/// written back, are left out. Precondition: `decode` verifies.
[[nodiscard]] RoundRate predict_round(const ServingConfig& config, const DecodePolicy& decode,
                                      const KvGeometry& geometry, const models::StepTimer& timer,
                                      const RoundBatch& batch);

}  // namespace kvsim::serving
