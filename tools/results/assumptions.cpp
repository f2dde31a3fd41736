// Sentences on what a scenario takes for granted.
#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "sim/routing/router.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

/// Assumptions of sessions and of recordings that are cut.
std::vector<std::string> traffic_assumptions(const scenario::Scenario& scenario) {
  const scenario::WorkloadConfig& w = scenario.workload;
  std::vector<std::string> said;
  if (w.sessions && scenario.serving.prefill == serving::PrefillKind::prefix_cache) {
    said.emplace_back(
        "Of a session the next turn finds whole blocks of the prompt before it: the KV of answers is not stored, and "
        "is computed again as part of that turn's prompt.");
  }
  if (scenario.serving.schedule.prefix_caching && !w.recorded_prompts() && !w.chunks) {
    said.push_back(fmt::format(
        "Prompts share whole blocks of {} tokens: what one has in common with others beyond its last whole block is "
        "computed again.",
        models::SharedPrefixes::block_tokens));
  }
  const bool turns_wait = w.sessions || (w.trace && w.trace->sessions);
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  if (turns_wait && cluster.replicas() > 1 && !cluster.host_shared && cluster.router != routing::session_router) {
    said.push_back(fmt::format(
        "A turn goes to any of the {} replicas, by load or in turn, and finds its session's KV only where it was "
        "served before: cluster.router: session keeps sessions on their replica.",
        cluster.replicas()));
  }
  if (w.sessions && w.closed) {
    said.emplace_back("All users begin their first session at 0 s, and each next one when the one before is over.");
  }
  if (w.sessions && w.sessions->spec.sub_agents) {
    said.emplace_back(
        "Sub-agents begin when the turn that begins them is over, share nothing with other prompts, and are all waited "
        "for; a last turn begins none.");
  }
  if (w.trace && !w.trace->overlay.empty()) {
    said.emplace_back(
        "Overlaid traces are merged by time; what prompts share is kept within a file, and prompts of different files "
        "share nothing.");
  }
  if (w.trace && w.trace->sessions) {
    const auto& all = *scenario.trace;
    const auto recorded =
        std::count_if(all.begin(), all.end(), [](const models::RequestSpec& r) { return r.think_ns >= 0; });
    said.push_back(
        fmt::format("Turns of the trace's sessions wait for the one before, then for the recorded time from "
                    "its end to the turn, which {} requests have; for others the whole time between the two "
                    "arrivals is taken, the answer's own included.",
                    recorded));
    if (std::any_of(all.begin(), all.end(), [](const models::RequestSpec& r) { return r.parent >= 0; })) {
      said.emplace_back(
          "Sub-agents of the trace begin after the latest turn of their parent before them, whose next turn waits for "
          "them all, whether it did or not.");
    }
  }
  if (w.trace && w.trace->cut.repeat > 1) {
    said.push_back(
        fmt::format("The trace comes {} times, with the same prompts: what is cached of one round is found "
                    "in the next.",
                    w.trace->cut.repeat));
  }
  if (w.trace && w.trace->cut.keep < 1) {
    said.push_back(
        fmt::format("{:.4g} of the trace's requests are kept, by chance: what they share with those left "
                    "out is lost.",
                    w.trace->cut.keep));
  }
  return said;
}

/// Assumptions of representations and their quality; none where prompts are stored whole.
std::vector<std::string> placement_assumptions(const scenario::Scenario& scenario) {
  const auto& placement = scenario.serving.placement;
  if (!placement || stores_whole(scenario)) return {};
  std::vector<std::string> said = models::option_assumptions(*placement);
  const auto add = [&said](std::vector<std::string> more) {
    said.insert(said.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  const bool blocks = placement->granularity != models::Granularity::contexts;
  const auto& prefixes = scenario.workload.prefixes;
  // Blocks do not know the data set that they come from.
  add(models::quality_assumptions(placement->quality,
                                  prefixes && !blocks ? prefixes->datasets : std::vector<models::DatasetSpec>{}));
  if (blocks) {
    const bool file = placement->quality.source == models::QualitySource::file;
    said.push_back(fmt::format("Blocks and chunks share {} {} quality curves, by their hashes.", models::block_curves,
                               file ? "of the file's" : "generated"));
  }
  add(models::drift_assumptions(placement->drift));
  add(models::profile_assumptions(placement->profiling));
  return said;
}

}  // namespace

std::string stored_prompts_sentence(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  if (c.prefill != serving::PrefillKind::stored) return {};
  return "prefill: stored: the KV of every prompt is stored before its request comes, and none is computed; of a "
         "service that computes prompts, use prefill: recompute, or prefix_cache with placement";
}

std::vector<std::string> assumptions_of(const scenario::Scenario& scenario) {
  std::vector<std::string> list = scenario.assumptions;
  const bool by_itself = scenario.workload.arrivals || scenario.workload.has_sessions() || scenario.workload.trace;
  if (by_itself ||
      scenario.serving.slo.limits(serving::SloMetric::ttft)) {  // a service, not a batch whose decoding is measured
    if (std::string said = stored_prompts_sentence(scenario); !said.empty()) list.push_back(std::move(said));
  }
  for (std::string& said : traffic_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : placement_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : reuse_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : drafting_assumptions(scenario)) list.push_back(std::move(said));
  for (std::string& said : parallelism_assumptions(scenario.serving.cluster)) list.push_back(std::move(said));
  for (const Provenance& p : provenance_of(scenario)) {
    if (p.source != source_word(schema::SourceKind::assumption)) continue;
    if (p.figure.starts_with("dataset.") && p.figure.ends_with(".loss_cv")) continue;  // quality_assumptions says it
    list.push_back(fmt::format("{} = {}{}{}", p.figure, p.value, p.reference.empty() ? "" : ": ", p.reference));
  }
  return list;
}

}  // namespace kvsim::results
