// The rate of a batch that drafts and verifies, predicted: what a steady state would bring, from the parts of steps and
// the timer that the simulation uses too.
#pragma once

#include <cstdint>

#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

/// Requests that are all alike, their verifications spread evenly.
struct RoundBatch {
  double requests = 1;
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  std::int64_t draft_length = 1;  ///< x; at least 1 of a policy that verifies
  double accepted = 0;            ///< A(x), expected
};

struct RoundRate {
  double iteration_s = 0;   ///< of the GPUs
  double link_s = 0;        ///< that the round's reloads or fetches take on the link; 0 where there are none
  double iterations = 1;    ///< of a round
  double round_s = 0;       ///< all of them, or the link if that takes longer
  double tokens_per_s = 0;  ///< of all requests
};

/// Rate of a policy that verifies: k + 1 iterations a round; in each, B / (k + 1) requests verify and the others draft:
///   round_s = max((k + 1) T(B), B_c reload / BW_link),  tokens/s = B (1 + A(x)) / round_s.
/// B_c counts the requests that decode.resident has no place for; it is 0 where the full KV stays. A drafting step
/// gives one token and k = x, or those of an auxiliary drafter too: k steps then give x tokens on average.
/// Where every step verifies x proposals of a drafter, a round is the passes that propose them and one iteration of
/// B (x + 1) query tokens or, if that takes longer, the fetches.
/// Prompts that are prefilled or loaded meanwhile, and what is written back, are left out. Precondition:
/// decode.drafts(); config.decode is own_drafts() of the scenario's.
[[nodiscard]] RoundRate predict_round(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                                      const KvGeometry& geometry, const models::StepTimer& timer,
                                      const Drafting& drafting, const RoundBatch& batch);

}  // namespace kvsim::serving
