// From a scenario's machines and placement to the tiers of a store.
#include "sim/cache/prompt_cache.h"

#include <algorithm>
#include <utility>

#include "models/placement/placement_spec.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/step_parts.h"

namespace kvsim::cache {

using serving::ServingConfig;

std::vector<StoreTier> tiers_of(const ServingConfig& config) {
  const serving::ClusterConfig& cluster = config.cluster;
  std::vector<StoreTier> tiers;
  if (config.placement->gpu_memory_bytes > 0) {
    const serving::GroupConfig& group = cluster.uniform();
    StoreTier gpu;
    gpu.name = "gpu";
    gpu.kind = TierKind::gpu;
    gpu.capacity_bytes = config.placement->gpu_memory_bytes;
    // A copy reads and writes every byte.
    gpu.read_bytes_per_s = group.gpu.memory_bytes_per_s.value / 2 * static_cast<double>(group.parallel.tensor);
    tiers.push_back(std::move(gpu));
  }
  const serving::PromptMemory memory = cluster.topology().memory;
  if (memory.capacity_bytes != 0) {
    StoreTier tier;
    tier.name = memory.name;
    tier.shared = memory.shared;
    if (memory.capacity_bytes) tier.capacity_bytes = *memory.capacity_bytes * (memory.shared ? cluster.replicas() : 1);
    tiers.push_back(std::move(tier));
  }
  for (const serving::StorageTierConfig& t : cluster.storage) {
    StoreTier device;
    device.name = t.name;
    device.kind = TierKind::device;
    device.capacity_bytes = t.capacity_bytes;
    device.read_bytes_per_s = t.read_bytes_per_s;
    device.write_bytes_per_s = t.write_bytes_per_s.value_or(t.read_bytes_per_s);
    device.latency_s = t.latency_s;
    device.shared = t.shared || memory.shared;
    device.outages = t.outages;
    tiers.push_back(std::move(device));
  }
  return tiers;
}

bool verifies_stored(const ServingConfig& config) {
  return serving::configured_policy(config).full_kv == serving::FullKv::tiers;
}

StoreConfig store_config(const ServingConfig& config) {
  const serving::ClusterConfig& cluster = config.cluster;
  StoreConfig store;
  store.host_outages = cluster.groups.front().outages;
  store.tiers = tiers_of(config);
  store.workers = static_cast<std::size_t>(config.placement->workers * cluster.replicas());
  store.keeps_whole = verifies_stored(config);
  store.in_transit = config.placement->in_transit;
  store.observed_bandwidth = config.placement->policy == models::utility_policy &&
                             config.placement->utility.bandwidth == models::BandwidthBelief::observed;
  return store;
}

models::PrefillCost prefill_cost(const ServingConfig& config, const serving::KvGeometry& geometry,
                                 const models::StepTimer& timer) {
  const std::int64_t chunk = config.schedule.max_batched_tokens;
  const std::int64_t longest = std::max<std::int64_t>(config.model.max_context / chunk, 2);  // chunks
  const auto time_s = [&](std::int64_t chunks) {
    double total = 0;
    for (std::int64_t i = 0; i < chunks; ++i) {
      models::StepWork work;
      serving::add_chunk(work, geometry, i * chunk, chunk, i + 1 == chunks);
      total += timer.time(work).total_s;
    }
    return total;
  };
  const auto bytes_of = [&](std::int64_t chunks) {
    return static_cast<double>(geometry.full_transfer(chunks * chunk));
  };
  constexpr std::int64_t kShort = 8, kLong = 32;
  const std::int64_t b = std::min(kLong, longest), a = std::min(kShort, b / 2);
  const double per_a = time_s(a) / bytes_of(a), per_b = time_s(b) / bytes_of(b);
  const double square = std::max((per_b - per_a) / (bytes_of(b) - bytes_of(a)), 0.0);
  return {per_a - square * bytes_of(a), square};
}

}  // namespace kvsim::cache
