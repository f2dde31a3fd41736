#include "sim/pools/configuration.h"

#include <algorithm>

namespace kvsim::pools {

using serving::ServingConfig;

std::vector<models::Path> usable_paths(const ServingConfig& config) {
  const bool local = config.cluster.with(&serving::Roles::verify).count > 0;
  const bool remote = config.cluster.with(&serving::Roles::draft).count > 0;
  const bool verifies = serving::find_decode_policy(config.decode.policy)->verifies;
  std::vector<models::Path> usable;
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const auto& listed = config.cluster.pools->dispatch.paths;
    const bool allowed = listed.empty() || std::find(listed.begin(), listed.end(), path) != listed.end();
    const bool there = (!t.on_local || local) && (!t.on_remote || remote);
    if (allowed && there && (verifies || !t.drafts)) usable.push_back(path);
  }
  return usable;
}

}  // namespace kvsim::pools
