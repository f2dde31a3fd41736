#include "sim/pools/simulation.h"

namespace kvsim::pools {

serving::SimulationOutcome simulate(const serving::ServingConfig&, serving::RequestFeed&,
                                    const serving::SimulationOptions&) {
  throw serving::ConfigurationError("cluster.pools", "cannot be simulated yet");
}

}  // namespace kvsim::pools
