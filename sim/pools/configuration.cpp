#include "sim/pools/configuration.h"

#include <algorithm>

namespace kvsim::pools {

using serving::ServingConfig;

std::vector<models::Path> usable_paths(const ServingConfig& config) {
  const auto& groups = config.cluster.groups;
  const bool verifies = serving::find_decode_policy(config.decode.policy)->verifies;
  std::vector<models::Path> usable;
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const auto& listed = config.cluster.pools->dispatch.paths;
    const bool allowed = listed.empty() || std::find(listed.begin(), listed.end(), path) != listed.end();
    const bool there = (!t.on_local || groups.front().count > 0) && (!t.on_remote || groups.back().count > 0);
    if (allowed && there && (verifies || !t.drafts)) usable.push_back(path);
  }
  return usable;
}

}  // namespace kvsim::pools
