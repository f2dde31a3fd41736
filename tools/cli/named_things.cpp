#include "tools/cli/named_things.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/workload/trace_reader.h"
#include "sim/cache/placement/placements.h"
#include "sim/pools/dispatcher.h"
#include "sim/routing/router.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"
#include "tools/results/backtest.h"
#include "tools/results/calibration.h"
#include "tools/results/capacity.h"
#include "tools/results/comparison.h"
#include "tools/results/metrics.h"
#include "tools/results/paths.h"
#include "tools/results/plan.h"
#include "tools/results/replay.h"
#include "tools/results/result_document.h"
#include "tools/results/step_page.h"
#include "tools/results/sweep.h"
#include "tools/results/trace.h"
#include "tools/results/traffic.h"
#include "tools/validation/experiments_page.h"
#include "tools/validation/figures_page.h"

namespace kvsim::cli {
namespace {

using models::EntryKind;

template <class Registry>
std::vector<NamedThing> named(const Registry& registry) {
  std::vector<NamedThing> things;
  for (const auto& entry : registry) things.push_back({std::string(entry.name), std::string(entry.description)});
  return things;
}

/// Every number of every document; figures of a run go by their key, as `--metric` takes them.
std::vector<NamedThing> metrics() {
  std::vector<NamedThing> things;
  for (const results::DocumentKind& kind : document_kinds()) {
    for (const results::Key& key : kind.keys()) {
      const auto& [unit, direction, sentence] = key.meaning;
      if (unit.print == nullptr) continue;
      const std::string better(results::word_of(direction));
      const bool ranks = direction != results::Better::neither;
      things.push_back({kind.name == "run" ? key.path : fmt::format("{}: {}", kind.name, key.path),
                        fmt::format("{}, {}: {}{}{}", unit.name, ranks ? better + " is better" : "neither better",
                                    sentence, key.there.empty() ? "" : "; ", key.there),
                        {{"document", std::string(kind.name)},
                         {"unit", std::string(unit.name)},
                         {"better", better},
                         {"there", key.there}}});
    }
  }
  return things;
}

const std::array<ThingKind, 17> kKinds{{
    {"models", "model", "language models", EntryKind::model, nullptr},
    {"gpus", "gpu", "GPUs", EntryKind::gpu, nullptr},
    {"links", "link", "links and storage devices", EntryKind::link, nullptr},
    {"compressors", "compressor", "KV compressors", EntryKind::compressor, nullptr},
    {"drafters", "drafter", "drafters: heads, modules and small models that propose tokens", EntryKind::drafter,
     nullptr},
    {"profiles", "profile", "kernel profiles: what real kernels reach of a GPU's peaks", EntryKind::profile, nullptr},
    {"attention_profiles", "attention_profile",
     "how concentrated attention is, and what covering a part of it is worth", EntryKind::attention_profile, nullptr},
    {"datasets", "dataset", "data sets of contexts that requests share (workload.prefixes.datasets)",
     EntryKind::dataset, nullptr},
    {"rag_tasks", "rag_task", "tasks over retrieved chunks: what answers score, by how much is computed again",
     EntryKind::rag_task, nullptr},
    {"engines", "engine", "serving engines: what their schedulers do by default (schedule.engine)", EntryKind::engine,
     nullptr},
    {"policies", "policy", "decode policies (decode.policy)", {}, [] { return named(serving::decode_policies()); }},
    {"schedules",
     "schedule",
     "schedule policies (schedule.policy)",
     {},
     [] { return named(serving::schedule_policies()); }},
    {"routers", "router", "routers (cluster.router)", {}, [] { return named(routing::routers()); }},
    {"dispatchers",
     "dispatcher",
     "dispatch policies of two pools (dispatch.policy)",
     {},
     [] { return named(pools::dispatchers()); }},
    {"placements",
     "placement",
     "placement policies of stored prompts (placement.policy)",
     {},
     [] { return named(cache::placements()); }},
    {"traces",
     "trace",
     "formats of recorded workloads (workload.trace.format)",
     {},
     [] { return named(models::trace_formats()); }},
    {"metrics", "metric", "figures of results (sweep --metric takes those with a direction)", {}, metrics},
}};

}  // namespace

std::span<const ThingKind> thing_kinds() {
  return kKinds;
}

const ThingKind& find_thing_kind(std::string_view word) {
  const auto found = std::find_if(kKinds.begin(), kKinds.end(),
                                  [word](const ThingKind& k) { return word == k.plural || word == k.singular; });
  if (found != kKinds.end()) return *found;
  std::vector<std::string> words;
  words.reserve(kKinds.size());
  for (const ThingKind& kind : kKinds) words.emplace_back(kind.plural);
  throw schema::InputError(fmt::format("unknown kind \"{}\"{}", word, schema::suggest(word, words)));
}

std::vector<NamedThing> things_of(const ThingKind& kind, const models::Catalogue& catalogue) {
  if (!kind.catalogue) return kind.registered();
  std::vector<NamedThing> things;
  for (const auto& line : catalogue.list(*kind.catalogue)) things.push_back({line.name, line.description});
  return things;
}

std::vector<std::string> names_of_gpus(const scenario::Scenario& scenario) {
  std::vector<std::string> names;
  for (const auto& line : scenario.catalogue->list(EntryKind::gpu)) names.push_back(line.name);
  for (const serving::GroupConfig& group : scenario.serving.cluster.groups) names.push_back(group.gpu.name);
  return names;
}

models::Catalogue catalogue_with(const std::vector<std::string>& files) {
  models::Catalogue catalogue = models::Catalogue::built_in();
  if (!files.empty()) catalogue.add_files(files);
  return catalogue;
}

const std::vector<results::DocumentKind>& document_kinds() {
  static const std::vector<results::DocumentKind> kinds{
      {"run", "kvsim run", results::run_keys},
      {"runs", "kvsim run of several scenarios", results::results_keys},
      {"comparison", "kvsim compare", results::comparison_keys},
      {"sweep", "kvsim sweep", results::sweep_keys},
      {"plan", "kvsim plan SCENARIO", results::plan_keys},
      {"plan_symbols", "kvsim plan --symbols", results::symbols_plan_keys},
      {"plan_draft_table", "kvsim plan --draft-table", results::draft_table_keys},
      {"plan_prefetch", "kvsim plan of a scenario that fetches KV", results::prefetch_keys},
      {"plan_reuse", "kvsim plan of a scenario with chunks", results::reuse_plan_keys},
      {"plan_pools", "kvsim plan of a scenario with two pools", results::pools_plan_keys},
      {"plan_paths", "kvsim plan --paths", results::paths_keys},
      {"capacity", "kvsim capacity", results::capacity_keys},
      {"trace", "kvsim workload info", results::trace_keys},
      {"trace_fit", "kvsim workload fit", results::fit_keys},
      {"trace_comparison", "kvsim workload compare", results::trace_comparison_keys},
      {"calibration", "kvsim calibrate fit", results::calibration_keys},
      {"replay", "kvsim calibrate replay", results::replay_keys},
      {"show_step", "kvsim show step", results::step_keys},
      {"validation", "kvsim validate", validation::figures_keys},
      {"reproduction", "kvsim reproduce", validation::experiments_keys},
      {"backtest", "kvsim backtest", results::backtest_keys},
  };
  return kinds;
}

}  // namespace kvsim::cli
