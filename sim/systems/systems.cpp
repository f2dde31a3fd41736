#include "sim/systems/systems.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "sim/cache/placement/placements.h"
#include "sim/cache/prompt_cache.h"
#include "sim/pools/two_pools.h"
#include "sim/reuse/chunk_reuse.h"
#include "sim/systems/checks.h"
#include "sim/systems/fleet.h"

namespace kvsim::systems {
namespace {

using serving::RunEnvironment;
using serving::ServingConfig;
using serving::ServingSystem;

struct Machines {
  bool (*described)(const ServingConfig& config);
  void (*check)(const ServingConfig& config);
  /// `future`: what a placement policy that needs it knows of it; else null.
  std::unique_ptr<ServingSystem> (*make)(const RunEnvironment& environment, const cache::FutureUses* future);
};

std::unique_ptr<serving::PromptStore> prompt_cache(const RunEnvironment& environment, const cache::FutureUses* future) {
  return std::make_unique<cache::PromptCache>(environment.simulator, environment.fabric, environment.config,
                                              environment.prefix_block_tokens, future);
}

/// The first that a configuration describes.
constexpr std::array kMachines{
    // Two pools of nodes around a storage node.
    Machines{[](const ServingConfig& config) { return config.cluster.pools.has_value(); },
             [](const ServingConfig& config) {
               if (config.placement) check_tiered_pools(config);  // what does not go together, before what is missing
               check_pools(config);
             },
             [](const RunEnvironment& environment, const cache::FutureUses* future) -> std::unique_ptr<ServingSystem> {
               return std::make_unique<pools::TwoPools>(
                   environment, environment.config.placement ? prompt_cache(environment, future) : nullptr);
             }},
    // Replicas whose prompts are put together from chunks.
    Machines{[](const ServingConfig& config) { return config.reuse.has_value(); }, check_reuse,
             [](const RunEnvironment& environment, const cache::FutureUses* future) {
               return make_fleet(environment, std::make_unique<reuse::ChunkReuse>(environment, future));
             }},
    // Replicas whose prompts are stored in tiers and found again.
    Machines{[](const ServingConfig& config) { return config.placement.has_value(); }, check_tiered_replicas,
             [](const RunEnvironment& environment, const cache::FutureUses* future) {
               return make_fleet(environment, prompt_cache(environment, future));
             }},
    // Replicas with host memory.
    Machines{[](const ServingConfig&) { return true; }, check_serving,
             [](const RunEnvironment& environment, const cache::FutureUses*) { return make_fleet(environment); }},
};

const Machines& machines_of(const ServingConfig& config) {
  return *std::find_if(kMachines.begin(), kMachines.end(), [&](const Machines& m) { return m.described(config); });
}

/// Future uses that a policy needs to know; none for policies that need none.
std::optional<cache::FutureUses> future_uses(const ServingConfig& config, const SameFeed& again) {
  if (!config.placement || !cache::find_placement(config.placement->policy)->needs_future) return std::nullopt;
  const auto granularity = config.placement->granularity.value_or(models::Granularity::contexts);
  const auto feed = again();
  cache::FutureUses future;
  while (const auto spec = feed->next()) {
    std::vector<std::uint64_t> keys;
    for (const cache::PromptPart& part : cache::prompt_parts(*spec, granularity, feed->prefix_block_tokens())) {
      keys.push_back(part.key);
    }
    future.add(spec->id, keys);
  }
  return future;
}

}  // namespace

void check(const ServingConfig& config) {
  machines_of(config).check(config);
}

serving::SimulationOutcome simulate(const ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options, const SameFeed& again) {
  const Machines& machines = machines_of(config);
  machines.check(config);
  const std::optional<cache::FutureUses> future = future_uses(config, again);
  return serving::run_system(config, feed, options, [&](const RunEnvironment& environment) {
    return machines.make(environment, future ? &*future : nullptr);
  });
}

}  // namespace kvsim::systems
