#include "sim/pools/simulation.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/pools/pool_system.h"

namespace kvsim::pools {

serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options) {
  pools::check_configuration(config);
  const serving::DispatchConfig& dispatch = config.cluster.pools->dispatch;
  const bool weighted = find_dispatcher(dispatch.policy)->needs_weights;
  if (weighted && std::all_of(dispatch.weights.begin(), dispatch.weights.end(), [](double w) { return w <= 0; })) {
    throw serving::ConfigurationError("dispatch.policy", fmt::format("{} has no weights to follow", dispatch.policy));
  }
  return serving::run_system(config, feed, options, [](const serving::RunEnvironment& environment) {
    return std::make_unique<PoolSystem>(environment);
  });
}

}  // namespace kvsim::pools
