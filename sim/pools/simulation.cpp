#include "sim/pools/simulation.h"

#include "sim/pools/pool_system.h"

namespace kvsim::pools {

serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options) {
  pools::check_configuration(config);
  return serving::run_system(config, feed, options, [](const serving::RunEnvironment& environment) {
    return std::make_unique<PoolSystem>(environment);
  });
}

}  // namespace kvsim::pools
