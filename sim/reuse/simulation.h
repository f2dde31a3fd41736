// One simulation of replicas whose prompts are put together from chunks: the entry point of sim/reuse.
#pragma once

#include <functional>
#include <memory>

#include "sim/serving/config.h"
#include "sim/serving/request.h"
#include "sim/serving/simulation.h"

namespace kvsim::reuse {

/// cache::check_configuration, and what prompts made of chunks need. Throws serving::ConfigurationError.
void check_configuration(const serving::ServingConfig& config);

/// Runs a configuration whose prefill policy reuses chunks; see cache::simulate. Every request of the feed has chunks.
serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options,
                                    const std::function<std::unique_ptr<serving::RequestFeed>()>& again);

}  // namespace kvsim::reuse
