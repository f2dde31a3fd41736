#include "sim/reuse/simulation.h"

#include "sim/cache/simulation.h"
#include "sim/reuse/chunk_reuse.h"
#include "sim/serving/replica_fleet.h"
#include "sim/serving/system.h"

namespace kvsim::reuse {

serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options,
                                    const std::function<std::unique_ptr<serving::RequestFeed>()>& again) {
  reuse::check_configuration(config);
  const auto future = cache::future_uses(config, again);
  return serving::run_system(config, feed, options, [&](const serving::RunEnvironment& environment) {
    return serving::make_replica_fleet(environment,
                                       std::make_unique<ChunkReuse>(environment, future ? &*future : nullptr));
  });
}

}  // namespace kvsim::reuse
