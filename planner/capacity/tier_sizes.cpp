#include "planner/capacity/machine_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/schema/error.h"
#include "models/schema/si.h"
#include "models/schema/spelling.h"
#include "planner/capacity/fleet.h"

namespace kvsim::planner::capacity {
namespace {

using schema::InputError;

std::string option_of(const TierSizes& sizes) {
  return sizes.tier == kHostTier ? "--memory" : fmt::format("--storage {}", sizes.tier);
}

}  // namespace

std::vector<SizeChoice> size_choices(const std::vector<TierSizes>& sizes) {
  std::vector<SizeChoice> choices{{}};
  for (const TierSizes& tier : sizes) {
    std::vector<SizeChoice> next;
    for (const SizeChoice& choice : choices) {
      for (const std::int64_t bytes : tier.bytes) {
        next.push_back(choice);
        next.back().push_back({tier.tier, bytes});
      }
    }
    choices = std::move(next);
  }
  return choices;
}

void check_sizes(const scenario::Scenario& scenario, const std::vector<TierSizes>& sizes) {
  if (sizes.empty()) return;
  if (!scenario.serving.placement) {
    throw InputError(fmt::format(
        "{}: sizes are those of tiers in which prompts are stored and found again, and {} stores none: give it "
        "prefill: prefix_cache and placement: {{policy: lru}}, with cluster.host.memory or cluster.storage",
        option_of(sizes.front()), scenario.file));
  }
  std::vector<std::string> names;
  for (const serving::StorageTierConfig& t : scenario.serving.cluster.storage) names.push_back(t.name);
  for (auto tier = sizes.begin(); tier != sizes.end(); ++tier) {
    const auto same = [&](const TierSizes& other) { return other.tier == tier->tier; };
    if (std::any_of(sizes.begin(), tier, same)) {
      throw InputError(
          fmt::format("{} is there twice: give its capacities in one list, separated by commas", option_of(*tier)));
    }
    if (tier->tier == kHostTier || std::find(names.begin(), names.end(), tier->tier) != names.end()) continue;
    throw InputError(fmt::format(
        "{}: {} has no storage tier \"{}\"{}", option_of(*tier), scenario.file, tier->tier,
        names.empty() ? "; cluster.storage is where tiers are described" : schema::suggest(tier->tier, names)));
  }
}

scenario::Scenario with_sizes(const scenario::Scenario& scenario, const SizeChoice& choice) {
  scenario::Scenario sized = scenario;
  serving::ClusterConfig& cluster = sized.serving.cluster;
  for (const TierSize& size : choice) {
    if (size.tier == kHostTier) cluster.host_memory_bytes = size.bytes;
    for (serving::StorageTierConfig& t : cluster.storage) {
      if (t.name == size.tier) t.capacity_bytes = size.bytes;
    }
  }
  return sized;
}

Purchase purchase_for(const scenario::Scenario& scenario, std::int64_t replicas, std::int64_t host_peak_bytes) {
  const auto n = static_cast<double>(replicas);
  if (!scenario.serving.placement) return {n * host_memory_gb(host_peak_bytes), 0};
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  Purchase purchase;
  purchase.dram_gb = n * static_cast<double>(cluster.host_memory_bytes) / kGB;
  for (const serving::StorageTierConfig& t : cluster.storage) {
    const double each = static_cast<double>(t.capacity_bytes.value_or(0)) / kGB;
    purchase.storage_gb += t.shared ? each : n * each;
  }
  return purchase;
}

namespace {

constexpr double kGb = 1e9;
constexpr double kShares[] = {0.9, 0.99};  // of the achievable hits
constexpr double kInDram = 0.9;            // of an option's hits, where there is an SSD too

}  // namespace

std::vector<CacheOption> cache_options(const models::HitRateCurve& curve, double block_bytes,
                                       const models::PriceTable& prices) {
  std::vector<CacheOption> options;
  if (curve.achievable() == 0) return options;
  const auto gb = [block_bytes](std::uint64_t blocks) { return static_cast<double>(blocks) * block_bytes / kGb; };
  const auto add = [&](double share, std::uint64_t blocks, std::uint64_t in_dram) {
    CacheOption o{share, curve.hit_rate(blocks), curve.hit_rate(in_dram), gb(in_dram), gb(blocks - in_dram), 0};
    o.usd_per_hour = (o.dram_gb * prices.dram.usd.value + o.ssd_gb * prices.ssd.usd.value) / models::kHoursPerMonth;
    options.push_back(o);
  };
  for (const double share : kShares) {
    const std::uint64_t blocks = curve.capacity_for(share);
    add(share, blocks, blocks);
    add(share, blocks, std::min(blocks, curve.capacity_for(share * kInDram)));
  }
  return options;
}

}  // namespace kvsim::planner::capacity
