#include "sim/cache/simulation.h"

#include <optional>
#include <utility>

#include "sim/cache/placements.h"
#include "sim/cache/prompt_cache.h"
#include "sim/serving/replica_fleet.h"
#include "sim/serving/system.h"

namespace kvsim::cache {

std::optional<FutureUses> future_uses(const serving::ServingConfig& config,
                                      const std::function<std::unique_ptr<serving::RequestFeed>()>& again) {
  if (!find_placement(config.placement->policy)->needs_future) return std::nullopt;
  const auto granularity = config.placement->granularity.value_or(models::Granularity::contexts);
  const auto feed = again();
  FutureUses future;
  while (const auto spec = feed->next()) {
    std::vector<std::uint64_t> keys;
    for (const PromptPart& part : prompt_parts(*spec, granularity, feed->prefix_block_tokens()))
      keys.push_back(part.key);
    future.add(spec->id, keys);
  }
  return future;
}

serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options,
                                    const std::function<std::unique_ptr<serving::RequestFeed>()>& again) {
  cache::check_configuration(config);
  const std::optional<FutureUses> future = future_uses(config, again);
  return serving::run_system(config, feed, options, [&](const serving::RunEnvironment& environment) {
    return serving::make_replica_fleet(
        environment, std::make_unique<PromptCache>(environment.simulator, environment.trace, config,
                                                   environment.prefix_block_tokens, future ? &*future : nullptr));
  });
}

}  // namespace kvsim::cache
