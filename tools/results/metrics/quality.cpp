// Answers against those of full-KV decoding, floors of their quality, and how complex the configuration is.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "models/compression/functional.h"
#include "planner/complexity.h"
#include "planner/quality_floor.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

/// Figure of what the policy may lose: nothing where it is lossless.
Figure fidelity(const View& v, double lossless_value, double sum, std::string_view published) {
  if (lossless(v.outcome.scenario)) return {lossless_value};
  if (v.measured().completed_measured == 0) return missing(kNothingFinished);
  if (v.config().reuse) {
    return ratio(sum, static_cast<double>(v.measured().completed_measured),
                 fmt::format("the reuse of chunks has no published {} figures", published));
  }
  const std::string what =
      v.config().placement ? "a representation of stored prompts" : "compressor " + v.config().decode.compressor.name;
  return ratio(sum, static_cast<double>(v.measured().completed_measured),
               fmt::format("{} has no published {} figures, or none for this share of the KV", what, published));
}

std::vector<std::string> functional_keys() {
  std::vector<std::string> keys;
  for (const models::FunctionalTask& task : models::kFunctionalTasks) keys.emplace_back(task.key);
  return keys;
}

/// The highest floor of a kind; none where none is set.
std::optional<double> floor_of(const scenario::Scenario& s, std::optional<double> serving::SloConfig::*floor) {
  std::optional<double> highest;
  const auto look = [&highest, floor](const serving::SloConfig& slo) {
    if (slo.*floor) highest = std::max(highest.value_or(0), *(slo.*floor));
  };
  if (s.serving.classes.empty()) look(s.serving.slo);
  for (const serving::ClassConfig& one : s.serving.classes) look(one.slo.value_or(s.serving.slo));
  return highest;
}

constexpr auto kScoreFloor = &serving::SloConfig::quality_floor;
constexpr auto kRightFloor = &serving::SloConfig::functional_floor;

const Condition kFloor{"where slo.quality_floor is set",
                       [](const scenario::Scenario& s) { return floor_of(s, kScoreFloor).has_value(); }};
const Condition kFunctionalFloor{"where slo.functional_floor is set",
                                 [](const scenario::Scenario& s) { return floor_of(s, kRightFloor).has_value(); }};

Figure below_floor(const View& v) {
  const Figure score = fidelity(v, 1.0, v.measured().quality, "quality");
  if (!score.value.is_number()) return score;
  return {planner::below_quality_floor(score.value.get<double>(), *floor_of(v.outcome.scenario, kScoreFloor))};
}

/// The metric of a task of models::kFunctionalTasks.
Figure functional(const View& v, std::size_t task) {
  return fidelity(v, 1.0, v.measured().functional.at(task),
                  fmt::format("functional {}", models::kFunctionalTasks.at(task).name));
}

const Names kFunctional{"task of functional correctness", [](const Outcome&) { return functional_keys(); },
                        [](const scenario::Scenario&) { return functional_keys(); }};

Figure functional_by_name(const View& v) {
  std::size_t task = 0;
  while (task + 1 < models::kFunctionalTasks.size() && models::kFunctionalTasks[task].key != v.name) ++task;
  return functional(v, task);
}

/// The least over the tasks of which it is known.
Figure least_functional(const View& v) {
  Figure least;
  for (std::size_t task = 0; task < models::kFunctionalTasks.size(); ++task) {
    Figure one = functional(v, task);
    const bool lower =
        one.value.is_number() && (!least.value.is_number() || one.value.get<double>() < least.value.get<double>());
    if (lower || task == 0) least = std::move(one);
  }
  return least;
}

Figure below_functional_floor(const View& v) {
  const Figure least = least_functional(v);
  if (!least.value.is_number()) return least;
  return {planner::below_quality_floor(least.value.get<double>(), *floor_of(v.outcome.scenario, kRightFloor))};
}

}  // namespace

bool has_floor(const scenario::Scenario& scenario) {
  return floor_of(scenario, kScoreFloor) || floor_of(scenario, kRightFloor);
}

Metrics floor_metrics() {
  Metrics rows;
  append(rows, when(kFloor, {{"slo.below_quality_floor", kPlain, kLower,
                              "by how much quality.mean_score is below slo.quality_floor, or the highest that a class "
                              "of requests has; 0 where it reaches it",
                              below_floor}}));
  append(rows, when(kFunctionalFloor,
                    {{"slo.below_functional_floor", kPlain, kLower,
                      "by how much quality.least_functional is below slo.functional_floor, or the highest that a class "
                      "of requests has; 0 where it reaches it",
                      below_functional_floor}}));
  return rows;
}

Metrics quality_metrics() {
  Metrics rows{{"quality.mean_score", kPlain, kHigher,
                "task score relative to full KV, mean over finished requests; 1 where the output is that of full KV; a "
                "soft score, to which partly right answers count in part",
                [](const View& v) { return fidelity(v, 1.0, v.measured().quality, "quality"); }},
               {"quality.least_functional", kPlain, kHigher,
                "functional correctness: answers that are right as a whole over those of full KV, the least of the "
                "tasks below that are known; null: not known of any (docs/findings.md)",
                least_functional}};
  append(rows, for_each(kFunctional, {{"quality.functional.*", kPlain, kHigher,
                                       "the same of one task: calls that match exactly, code changes that are a valid "
                                       "diff, constraints of long generation that are satisfied",
                                       functional_by_name}}));
  append(
      rows,
      {{"quality.expected_kl_nats", kNats, kLower,
        "KL divergence from full-KV decoding summed over a request's steps, mean over finished requests",
        [](const View& v) { return fidelity(v, 0.0, v.measured().kl_nats, "step_kl"); }},
       {"quality.lossless", kTruth, kNeither, "whether every output is that of full-KV decoding",
        [](const View& v) { return Figure{lossless(v.outcome.scenario)}; }},
       {"complexity.mechanisms", kCount, kNeither,
        "what there is beside decoding with full KV: compressed KV, verification, a drafter, draft lengths that adapt, "
        "fetched KV, prompts stored or put together, their compression, GPUs that score, pools",
        [](const View& v) { return count(planner::complexity_of(v.outcome.scenario).mechanisms); }},
       {"complexity.tiers", kCount, kNeither, "tiers in which prompts are stored",
        [](const View& v) { return count(planner::complexity_of(v.outcome.scenario).tiers); }},
       {"complexity.memory_bytes", kBytes, kNeither,
        "memory of all GPUs, hosts and storage tiers with a capacity, as configured",
        [](const View& v) { return Figure{planner::complexity_of(v.outcome.scenario).memory_bytes}; }}});
  return rows;
}

}  // namespace kvsim::results
