// The words of a registry for a field of a table. Internal to the scenario's field tables.
#pragma once

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/catalogue/catalogue.h"
#include "models/schema/object_schema.h"
#include "models/schema/scalar_spec.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"

namespace kvsim::scenario {

using schema::boolean;
using schema::bytes;
using schema::choice;
using schema::integer;
using schema::number;
using schema::ObjectSchema;
using schema::one_of;
using schema::Presence;
using schema::Reporter;
using schema::text;
using schema::time;
using schema::tokens;

/// A member of what a field table describes, or of a part of it.
#define KVSIM_MEMBER(path)   \
  [](auto& whole) -> auto& { \
    return whole.path;       \
  }

/// The fields of a nested map are members of the object itself.
inline constexpr auto kItself = [](auto& whole) -> auto& {
  return whole;
};

/// Reports what problem_with(T) finds at this key; empty: at the object.
template <class T>
void refuse_problems(schema::ObjectSchema<T>& s, const char* key = "") {
  s.check([key](const T& value, const schema::Reporter& report) {
    if (const std::string problem = problem_with(value); !problem.empty()) report.fail(key, problem);
  });
}

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

/// Keys of GPUs below the object with them, and text on why nothing reads them; empty where something does.
struct GpuRule {
  std::vector<std::string> keys;
  const char* (*why)(const GroupInput& group);
};
/// Those of stated KV memory, of peers, and of shared experts.
const std::array<GpuRule, 3>& gpu_rules();

/// The GPUs of instances: those of cluster.gpu, and of a pool.
const schema::ObjectSchema<GroupInput>& gpu_schema();
const schema::ObjectSchema<PoolsInput>& pools_schema();
const schema::ObjectSchema<DispatchInput>& dispatch_schema();

/// Adds what has no effect in a scenario with pools to the scenario's field table.
void add_pool_rules(schema::ObjectSchema<Written>& scenario);

/// The dispatch of the pools, from what the scenario says of it. Refuses what a scenario with pools must not say;
/// `report` is the whole document's.
void complete_pools(Scenario& s, Written& written, const schema::Reporter& report);

// The field table of schedule, and what follows from it.

schema::ObjectSchema<serving::ScheduleConfig> schedule_schema();

/// Adds which keys of schedule have no effect under which policies to the scenario's field table.
void add_schedule_rules(schema::ObjectSchema<Written>& scenario);

/// Adds the keys of the schedule's engine, if it has one, that the scenario leaves out; `report` is the whole
/// document's.
void complete_schedule(Scenario& s, const schema::Reporter& report);

// The field table of prefill, and what follows from it. Internal to the scenario.

schema::ObjectSchema<Written> prefill_schema();

/// The reuse of chunks, from what the scenario says of it and its policy. Refuses what says something of chunks where
/// prompts are not made of them; `report` is the whole document's.
void complete_reuse(Scenario& s, Written& written, const models::Catalogue& catalogue, const schema::Reporter& report);

/// Adds what has no effect where prompts are not made of chunks, or not put together, to the scenario's field table.
void add_chunk_rules(schema::ObjectSchema<Written>& scenario);

/// Refuses scored prompts that are not as long as the chunks of the workload's; `report` as above.
void check_scored_prompts(const Scenario& s, const schema::Reporter& report);

/// Refuses a scenario that is written well and cannot be simulated: UnworkableScenario, at that key of the document.
[[noreturn]] void refuse_unworkable(const schema::Reporter& report, const std::string& key, const std::string& why,
                                    bool does_not_fit = false);

/// A prefix cache needs requests that say what they share. Asked once the trace has been read.
void check_prefixes(const Scenario& s, const schema::Reporter& report);

/// A path in a scenario: beside the scenario where that exists, else as it stands.
std::string beside(const std::filesystem::path& folder, const std::string& path);

using ReadPrompts = std::function<std::shared_ptr<const std::vector<models::ScoredPrompt>>(const std::string& path)>;

/// Makes a scenario of what is written, without its trace, and adds catalogue entries that it takes for granted to
/// what is written. Refuses values that contradict each other; `report` is the whole document's.
void resolve(Scenario& scenario, Written& written, const models::Catalogue& catalogue,
             const std::filesystem::path& folder, const schema::Reporter& report, const ReadPrompts& read_prompts);

// Groups of instances, from GPUs as they are written.

/// Completes a document before it is parsed. A pool's GPUs have the keys of cluster.gpu that they leave out, and parts
/// of profiles and links change the GPU's own.
void complete_gpus(schema::ConfigNode& document, const models::Catalogue& catalogue);

/// Makes the groups of replicas; or those of cluster.gpu, and of the pools behind them. Each has the profile and links
/// of its GPU where none are written; `report` is the whole document's.
void lay_out_groups(serving::ClusterConfig& cluster, Written& written, const models::Catalogue& catalogue,
                    const schema::Reporter& report);

/// Copies a group of replicas, or that of cluster.gpu, into what is written.
void write_out(const serving::GroupConfig& group, Written& written);

/// Copies what resolving has completed of groups into what is written, and leaves the groups that serve requests.
void settle_groups(serving::ClusterConfig& cluster, Written& written);

// The field tables of cluster, workload, its trace, and decode.

schema::ObjectSchema<Written> cluster_schema();
schema::ObjectSchema<WorkloadConfig> workload_schema();
schema::ObjectSchema<TraceInput> trace_schema();
schema::ObjectSchema<serving::SloConfig> slo_schema();
schema::ObjectSchema<Written> decode_schema();

// How tiers of storage below host memory are written (cluster.storage).

schema::ObjectSchema<serving::StorageTierConfig> storage_schema();

}  // namespace kvsim::scenario
