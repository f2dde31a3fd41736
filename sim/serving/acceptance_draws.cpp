#include "sim/serving/acceptance_draws.h"

#include "sim/engine/random.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

models::AcceptanceModel acceptance_of(const ServingConfig& config, std::int64_t longest) {
  const DecodeConfig& decode = config.decode;
  if (!find_decode_policy(decode.policy)->verifies) return {models::AcceptanceSpec{}, 1.0, longest};
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

}  // namespace kvsim::serving
