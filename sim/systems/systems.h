// The front door of sim: whatever machines a configuration describes, checked and simulated. Which ones they are is
// decided here and nowhere else.
//
// To add machines: a ServingSystem, and one line in the table of systems.cpp.
#pragma once

#include <functional>
#include <memory>

#include "sim/serving/simulation.h"

namespace kvsim::systems {

/// Makes the feed of a run a second time: a placement policy that needs the future reads all of it beforehand.
using SameFeed = std::function<std::unique_ptr<serving::RequestFeed>()>;

/// The part of check() that is the same for all machines. Throws serving::ConfigurationError.
void check_serving(const serving::ServingConfig& config);

/// Checks what no single key shows: the model fits, the policies go together, and with the machines. Planned weights of
/// dispatch come later: simulate() misses them. Throws serving::ConfigurationError.
void check(const serving::ServingConfig& config);

/// Runs to the configured duration, or until every request has finished. Same configuration, feed and seed: same
/// outcome, bit for bit. `again` may be left out where no policy needs the future. Throws serving::ConfigurationError,
/// or engine::InvariantViolation where a conservation law broke.
serving::SimulationOutcome simulate(const serving::ServingConfig& config, serving::RequestFeed& feed,
                                    const serving::SimulationOptions& options = {}, const SameFeed& again = {});

}  // namespace kvsim::systems
