#include "planner/complexity.h"

#include "models/placement/option_pool.h"
#include "planner/policy_words.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::planner {

bool lossless(const scenario::Scenario& scenario) {
  const serving::ServingConfig& config = scenario.serving;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  if (!decode.lossless()) return false;
  if (decode.verifies && !decode.keeps_full) return true;  // against the whole KV, whatever was drafted on
  if (config.reuse) return false;                          // even with all of it recomputed: it depends on the request
  return stores_whole(scenario);
}

bool stores_whole(const scenario::Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  return !placement || models::option_pool(*placement).size() == 1;
}

Complexity complexity_of(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::ClusterConfig& cluster = c.cluster;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  Complexity all;
  all.lossy = !lossless(scenario);
  for (const bool there : {decode.reads_compressed, decode.verifies, decode.drafter,
                           decode.drafts() && c.decode.draft_lengths.policy != "fixed", decode.fetches(),
                           c.prefill != serving::PrefillKind::recompute, !stores_whole(scenario),
                           cluster.groups.front().scorer_gpus > 0, takes_paths(scenario)}) {
    all.mechanisms += there ? 1 : 0;
  }
  for (const serving::GroupConfig& group : cluster.groups) {
    const auto count = static_cast<double>(group.count);
    all.memory_bytes += count * static_cast<double>(group.gpus()) * static_cast<double>(group.gpu.memory_bytes.value) +
                        count * static_cast<double>(group.host_memory_bytes);
  }
  if (!c.placement) return all;
  all.tiers = (c.placement->gpu_memory_bytes > 0 ? 1 : 0) + (cluster.groups.front().host_memory_bytes > 0 ? 1 : 0) +
              static_cast<std::int64_t>(cluster.storage.size());
  for (const serving::StorageTierConfig& tier : cluster.storage) {
    if (tier.capacity_bytes) all.memory_bytes += static_cast<double>(*tier.capacity_bytes);
  }
  return all;
}

}  // namespace kvsim::planner
