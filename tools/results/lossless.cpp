#include "tools/results/lossless.h"

#include "models/placement/option_building.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::results {

bool lossless(const scenario::Scenario& scenario) {
  const serving::ServingConfig& config = scenario.serving;
  if (!serving::find_decode_policy(config.decode.policy)->lossless()) return false;
  return !config.placement || models::option_pool(*config.placement).size() == 1;  // the whole alone
}

}  // namespace kvsim::results
