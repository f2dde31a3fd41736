// One simulation of replicas whose prompts are stored in tiers and found again: the entry point of sim/cache.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "sim/cache/prompt_cache.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"
#include "sim/serving/simulation.h"

namespace kvsim::cache {

/// serving::check_configuration, and what goes together with placement. Throws serving::ConfigurationError.
void check_configuration(const serving::ServingConfig& config);

/// Runs a configuration with placement; see serving::simulate. `again` makes the feed a second time: a policy that
/// needs the future reads all of it beforehand.
serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options,
                                    const std::function<std::unique_ptr<serving::RequestFeed>()>& again);

/// What a policy that needs the future knows of it; none for the others. `again` as above.
std::optional<FutureUses> future_uses(const serving::ServingConfig& config,
                                      const std::function<std::unique_ptr<serving::RequestFeed>()>& again);

}  // namespace kvsim::cache
