// How a request's verifications are drawn, the same on every serving system: equal requests meet equal luck.
#pragma once

#include <cstdint>

#include "models/acceptance/acceptance.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// The configured acceptance law for drafts of up to `longest` tokens; always agreeing where the decode policy does not
/// verify.
models::AcceptanceModel acceptance_of(const ServingConfig& config, std::int64_t longest);

/// Gives a request its random stream, and its own agreement where the law has one for each. `id` is the workload's.
void draw_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed, std::uint64_t id);

/// The same for what an auxiliary drafter proposes.
void draw_drafter_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                             std::uint64_t id);

}  // namespace kvsim::serving
