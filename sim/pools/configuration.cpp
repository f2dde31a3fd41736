#include "sim/pools/configuration.h"

#include <algorithm>

namespace kvsim::pools {

using serving::PoolsConfig;
using serving::ServingConfig;

std::vector<models::Path> usable_paths(const ServingConfig& config) {
  const PoolsConfig& pools = *config.cluster.pools;
  const bool verifies = serving::find_decode_policy(config.decode.policy)->verifies;
  std::vector<models::Path> usable;
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const auto& listed = pools.dispatch.paths;
    const bool allowed = listed.empty() || std::find(listed.begin(), listed.end(), path) != listed.end();
    const bool there = (!t.on_local || pools.local.nodes > 0) && (!t.on_remote || pools.remote.nodes > 0);
    if (allowed && there && (verifies || !t.drafts)) usable.push_back(path);
  }
  return usable;
}

}  // namespace kvsim::pools
