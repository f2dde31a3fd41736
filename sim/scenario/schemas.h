// The words of a registry for a field of a table. Internal to the scenario's field tables.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/schema/object_schema.h"
#include "models/schema/scalar_spec.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"

namespace kvsim::scenario {

/// The words of a registry whose entries have a name and a description.
template <class Registry>
std::vector<schema::Word> words_of(const Registry& registry) {
  std::vector<schema::Word> words;
  for (const auto& entry : registry) words.push_back({std::string(entry.name), std::string(entry.description), 0});
  return words;
}

// How the choice of draft lengths is written.

schema::ObjectSchema<serving::DraftLengthConfig> draft_lengths_schema();

// How times in which links are slower, or stand still, are written.

schema::ObjectSchema<transport::Outage> outage_schema();

/// Reports an outage that begins before another one of the list is over; the list is the field "outages".
void check_outages(const std::vector<transport::Outage>& outages, const schema::Reporter& report);

// The field tables of cluster.pools and dispatch, and what else a scenario with pools may say. Internal to the
// scenario.

const schema::ObjectSchema<serving::PoolsConfig>& pools_schema();
const schema::ObjectSchema<DispatchInput>& dispatch_schema();

/// Adds what has no effect in a scenario with pools to the scenario's field table.
void add_pool_rules(schema::ObjectSchema<Scenario>& scenario);

/// The dispatch of the pools, from what the scenario says of it. Refuses what a scenario with pools must not say;
/// `report` is the whole document's.
void complete_pools(Scenario& s, const schema::Reporter& report);

// The field table of schedule, and what follows from it.

schema::ObjectSchema<serving::ScheduleConfig> schedule_schema();

/// Adds which keys of schedule have no effect under which policies to the scenario's field table.
void add_schedule_rules(schema::ObjectSchema<Scenario>& scenario);

/// What the schedule's engine says, if it has one, of keys that the scenario leaves out; `report` is the whole
/// document's.
void complete_schedule(Scenario& s, const schema::Reporter& report);

// The field table of prefill, and what follows from it. Internal to the scenario.

schema::ObjectSchema<Scenario> prefill_schema();

/// The reuse of chunks, from what the scenario says of it and its policy. Refuses what says something of chunks where
/// prompts are not made of them; `report` is the whole document's.
void complete_reuse(Scenario& s, const models::Catalogue& catalogue, const schema::Reporter& report);

/// Adds what has no effect where prompts are not made of chunks, or not put together, to the scenario's field table.
void add_chunk_rules(schema::ObjectSchema<Scenario>& scenario);

/// Refuses scored prompts that are not as long as the chunks of the workload's; `report` as above.
void check_scored_prompts(const Scenario& s, const schema::Reporter& report);

/// Refuses a scenario that is written well and cannot be simulated: UnworkableScenario, at that key of the document.
[[noreturn]] void refuse_unworkable(const schema::Reporter& report, const std::string& key, const std::string& why,
                                    bool does_not_fit = false);

/// A prefix cache needs requests that say what they share. Asked once the trace has been read.
void check_prefixes(const Scenario& s, const schema::Reporter& report);

// How tiers of storage below host memory are written (cluster.storage).

schema::ObjectSchema<serving::StorageTierConfig> storage_schema();

}  // namespace kvsim::scenario
