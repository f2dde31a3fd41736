#include "tools/results/machines.h"

#include <fmt/format.h>

namespace kvsim::results {

std::string_view group_word(const serving::ClusterConfig& cluster) {
  return cluster.pools ? "node" : "replica";
}

std::string machines_text(const serving::ClusterConfig& cluster) {
  std::string group = fmt::format("{} x {}", cluster.tensor_parallel, cluster.gpu.name);
  if (cluster.scorer_gpus > 0) group += fmt::format(" and {} to score", cluster.scorer_gpus);
  if (!cluster.pools) return cluster.replicas > 1 ? fmt::format("{} replicas of {}", cluster.replicas, group) : group;
  const std::int64_t local = cluster.pools->local.nodes, remote = cluster.pools->remote.nodes;
  const char* nodes = remote == 1 || (remote == 0 && local == 1) ? "node" : "nodes";
  if (local == 0) return fmt::format("{} remote {} of {}", remote, nodes, group);
  if (remote == 0) return fmt::format("{} local {} of {}", local, nodes, group);
  return fmt::format("{} local and {} remote {} of {}", local, remote, nodes, group);
}

std::string_view prefill_word(serving::PrefillKind prefill) {
  switch (prefill) {
    case serving::PrefillKind::recompute:
      return "recompute";
    case serving::PrefillKind::stored:
      return "stored";
    case serving::PrefillKind::prefix_cache:
      return "prefix_cache";
    case serving::PrefillKind::full_reuse:
      return "full_reuse";
    case serving::PrefillKind::selective:
      return "selective";
    case serving::PrefillKind::cacheblend:
      return "cacheblend";
    case serving::PrefillKind::epic:
      break;
  }
  return "epic";
}

}  // namespace kvsim::results
