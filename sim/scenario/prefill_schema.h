// The field table of prefill, and what follows from it. Internal to the scenario.
#pragma once

#include <span>

#include "models/catalogue/catalogue.h"
#include "models/schema/object_schema.h"
#include "sim/scenario/scenario.h"

namespace kvsim::scenario {

schema::ObjectSchema<Scenario> prefill_schema();

/// The reuse of chunks, from what the scenario says of it and its policy. Refuses what says something of chunks where
/// prompts are not made of them; `report` is the whole document's.
void complete_reuse(Scenario& s, const models::Catalogue& catalogue, const schema::Reporter& report);

/// Keys that say something of prompts made of chunks; refused where these are not, and left out of what is written out.
std::span<const char* const> chunk_keys();

/// Refuses scored prompts that are not as long as the chunks of the workload's; `report` as above.
void check_scored_prompts(const Scenario& s, const schema::Reporter& report);

}  // namespace kvsim::scenario
