#include "sim/serving/acceptance_draws.h"

#include "sim/engine/random.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/whole_kv.h"

namespace kvsim::serving {

models::AcceptanceModel acceptance_of(const ServingConfig& config, std::int64_t longest) {
  const DecodeConfig& decode = config.decode;
  const DecodePolicy& policy = *find_decode_policy(decode.policy);
  if (!policy.verifies) return {models::AcceptanceSpec{}, 1.0, longest};
  if (drafts_as_loaded(config, policy) && whole_kv(config) == WholeKv::tiers &&
      decode.acceptance.kind == models::AcceptanceKind::compressor) {
    // Each request's agreement is that of what it loads. Before anything is loaded adaptive lengths need a mean.
    constexpr double kAssumedMean = 0.9;
    models::AcceptanceSpec by_request;
    by_request.kind = models::AcceptanceKind::heterogeneous;
    by_request.agreement = kAssumedMean;
    return {by_request, 1.0, longest};
  }
  const double ratio = effective_ratio(decode.compressor, decode.keep_ratio);
  return {decode.acceptance, decode.compressor.agreement_at(ratio), longest};
}

void draw_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                     std::uint64_t id) {
  request.accept_stream = engine::RandomStream(seed, "acceptance", id);
  if (!acceptance.heterogeneous()) return;
  engine::RandomStream agreement(seed, "agreement", id);
  request.acceptance.agreement = agreement.beta(acceptance.beta_a(), acceptance.beta_b());
}

void draw_drafter_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                             std::uint64_t id) {
  request.drafter_stream = engine::RandomStream(seed, "drafter acceptance", id);
  if (!acceptance.heterogeneous()) return;
  engine::RandomStream agreement(seed, "drafter agreement", id);
  request.drafter_acceptance.agreement = agreement.beta(acceptance.beta_a(), acceptance.beta_b());
}

}  // namespace kvsim::serving
