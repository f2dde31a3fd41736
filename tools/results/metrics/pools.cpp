// Two pools of nodes around a storage node: nodes, paths, and where prompts' KV came from.
#include <algorithm>

#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using serving::PathMeasurement;
using serving::PoolMeasurement;
using serving::PrefixMeasurement;

const Names kPoolNames{"pool",
                       [](const Outcome&) {
                         return std::vector<std::string>{"local", "remote"};
                       },
                       [](const scenario::Scenario&) {
                         return std::vector<std::string>{"local", "remote"};
                       }};

std::vector<std::string> paths_of_pools() {
  std::vector<std::string> names;
  for (const models::Path path : models::kAllPaths) names.emplace_back(models::path_name(path));
  return names;
}

const Condition kStoredBlocks{"with two pools, and no placement", [](const scenario::Scenario& s) {
                                return s.serving.cluster.topology().memory.keeps_blocks && !s.serving.placement;
                              }};

const Condition kFoundBlocks{
    "with two pools and no placement, or schedule.prefix_caching",
    [](const scenario::Scenario& s) { return kStoredBlocks.holds(s) || s.serving.schedule.prefix_caching; }};

const Names kPathNames{"path", [](const Outcome&) { return paths_of_pools(); },
                       [](const scenario::Scenario&) { return paths_of_pools(); }};

const serving::GroupConfig& group(const View& v) {
  const auto& groups = v.config().cluster.groups;
  return *std::find_if(groups.begin(), groups.end(),
                       [&v](const serving::GroupConfig& group) { return group.name == v.name; });
}

std::int64_t nodes(const View& v) {
  return group(v).count;
}

PoolMeasurement pool(const View& v) {
  const auto found = v.measured().pools.find(v.name);
  return found == v.measured().pools.end() ? PoolMeasurement{} : found->second;
}

template <class T>
auto pool_count(T PoolMeasurement::*member) {
  return [member](const View& v) { return count(pool(v).*member); };
}

/// Figure of a pool that has nodes.
Figure of_nodes(const View& v, const Figure& figure) {
  return nodes(v) == 0 ? missing("the pool has no nodes") : figure;
}

const PathMeasurement& path(const View& v) {
  const std::vector<std::string> names = paths_of_pools();
  const auto at = std::find(names.begin(), names.end(), v.name) - names.begin();
  return v.measured().paths.at(models::index_of(models::kAllPaths.at(static_cast<std::size_t>(at))));
}

template <class T>
auto path_count(T PathMeasurement::*member) {
  return [member](const View& v) { return count(path(v).*member); };
}

Figure path_share(const View& v) {
  std::uint64_t all = 0;
  for (const PathMeasurement& p : v.measured().paths) all += p.started;
  return ratio(static_cast<double>(path(v).started), static_cast<double>(all),
               "no request was given a path in the measured time");
}

template <class T>
auto prefix(T PrefixMeasurement::*member) {
  return [member](const View& v) { return count(v.measured().prefix.*member); };
}

Figure prefix_hit_rate(const View& v) {
  const PrefixMeasurement& p = v.measured().prefix;
  const std::int64_t hits = p.loaded_tokens + p.on_node_tokens + p.joined_tokens;
  return ratio(static_cast<double>(hits), static_cast<double>(hits + p.prefilled_tokens),
               "no prompt was looked up in the measured time");
}

}  // namespace

Metrics pools_metrics() {
  Metrics rows = for_each(
      kPoolNames,
      {{"pools.*.nodes", kCount, kNeither, "tensor-parallel groups of the pool",
        [](const View& v) { return count(nodes(v)); }},
       {"pools.*.gpus", kCount, kNeither, "GPUs of all nodes of the pool",
        [](const View& v) { return count(nodes(v) * group(v).parallel.tensor); }},
       {"pools.*.busy_fraction", kShare, kHigher, "share of the nodes' time with a forward pass under way",
        [](const View& v) { return of_nodes(v, ratio(pool(v).busy_s, pool(v).capacity_s, kNoTime)); }},
       {"pools.*.iterations", kCount, kNeither, "forward passes of the pool's nodes",
        pool_count(&PoolMeasurement::iterations)},
       {"pools.*.decode_tokens", kTokens, kNeither, "emitted by ordinary decoding",
        pool_count(&PoolMeasurement::decode_tokens)},
       {"pools.*.draft_tokens", kTokens, kNeither, "tokens that the pool drafted, accepted or not",
        pool_count(&PoolMeasurement::draft_tokens)},
       {"pools.*.verifications", kCount, kNeither, "rounds that the pool verified",
        pool_count(&PoolMeasurement::verifications)},
       {"pools.*.verified_tokens", kTokens, kNeither, "positions of verifications, one more than was drafted each",
        pool_count(&PoolMeasurement::verified_tokens)},
       {"pools.*.prefill_tokens", kTokens, kNeither, "prompt tokens computed there",
        pool_count(&PoolMeasurement::prefill_tokens)},
       {"pools.*.kv_reserved_mean_bytes", kBytes, kLower, "KV memory reserved on a node, mean over nodes and time",
        [](const View& v) { return of_nodes(v, number(pool(v).reserved_mean_bytes, kNoTime)); }},
       {"pools.*.kv_reserved_peak_bytes", kBytes, kLower, "KV memory reserved on the fullest node, at most",
        [](const View& v) { return of_nodes(v, count(pool(v).reserved_peak_bytes)); }},
       {"pools.*.kv_capacity_bytes", kBytes, kNeither, "KV memory of a node of the pool",
        [](const View& v) { return of_nodes(v, count(capacity_of(v.outcome, group(v)).bytes)); }}});
  append(
      rows,
      for_each(kPathNames,
               {{"paths.*.started", kRequests, kNeither, "given the path in the measured time",
                 path_count(&PathMeasurement::started)},
                {"paths.*.completed", kRequests, kNeither, "requests on the path that finished in the measured time",
                 path_count(&PathMeasurement::completed)},
                {"paths.*.output_tokens", kTokens, kNeither, "tokens that requests on the path emitted",
                 path_count(&PathMeasurement::output_tokens)},
                {"paths.*.share", kShare, kNeither, "share of the requests started that took the path", path_share}}));
  rows = when(kPools, std::move(rows));
  append(rows, when(kStoredBlocks, {{"prefix.loaded_tokens", kTokens, kNeither,
                                     "tokens of prompts that were read from the storage node",
                                     prefix(&PrefixMeasurement::loaded_tokens)}}));
  append(rows, when(kFoundBlocks,
                    {{"prefix.on_node_tokens", kTokens, kHigher, "tokens of prompts whose KV was in GPU memory already",
                      prefix(&PrefixMeasurement::on_node_tokens)}}));
  append(rows, when(kStoredBlocks, {{"prefix.joined_tokens", kTokens, kHigher,
                                     "tokens of prompts that were on their way to the node for another request",
                                     prefix(&PrefixMeasurement::joined_tokens)}}));
  append(rows, when(kFoundBlocks,
                    {{"prefix.prefilled_tokens", kTokens, kLower, "tokens of prompts that were computed",
                      prefix(&PrefixMeasurement::prefilled_tokens)},
                     {"prefix.hit_rate", kShare, kHigher,
                      "share of prompts' tokens that were not computed, each prompt once, as it was first admitted",
                      prefix_hit_rate}}));
  return rows;
}

}  // namespace kvsim::results
