#include "tools/results/lossless.h"

#include "models/placement/option_pool.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::results {

bool lossless(const scenario::Scenario& scenario) {
  const serving::ServingConfig& config = scenario.serving;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  if (!decode.lossless()) return false;
  if (decode.verifies && !decode.keeps_full) return true;  // against the whole KV, whatever was drafted on
  if (config.reuse) return false;  // even with all of it computed again: it depends on the request
  return stores_whole(scenario);
}

bool stores_whole(const scenario::Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  return !placement || models::option_pool(*placement).size() == 1;
}

}  // namespace kvsim::results
