// What every run has: requests, throughput, latencies, objectives, quality; machines, links and tiers; the simulation.
#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "models/compression/functional.h"
#include "planner/complexity.h"
#include "planner/policy_words.h"
#include "planner/quality_floor.h"
#include "sim/cache/prompt_cache.h"
#include "sim/serving/bottleneck.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using serving::Measurements;
using serving::TierMeasurement;

/// A count among the measurements.
template <class T>
auto of(T Measurements::*member) {
  return [member](const View& v) { return count(v.measured().*member); };
}

/// An amount per second of measured time.
template <class Amount>
auto per_second(Amount amount) {
  return [amount](const View& v) { return ratio(static_cast<double>(amount(v)), v.measured().measured_s, kNoTime); };
}

bool waits(const serving::TimePartName& part) {
  return part.part == &serving::Bottleneck::link || part.part == &serving::Bottleneck::front_end ||
         part.part == &serving::Bottleneck::idle;
}

constexpr std::string_view kLoadsBeside =
    "a link loads for some requests while others are computed: only a run with twice the resource shows what that "
    "brings";

/// A figure of the account of the replicas' time.
template <class Get>
auto of_bottleneck(Get get) {
  return [get](const View& v) {
    return v.measured().capacity_s > 0 ? Figure{get(serving::bottleneck(v.measured()))} : missing(kNoTime);
  };
}

/// A share of the replicas' time.
auto time_share(double Measurements::*time_s) {
  return [time_s](const View& v) {
    const double whole_s = v.measured().capacity_s;
    return ratio(at_most_whole(v.measured().*time_s, whole_s), whole_s, kNoTime);
  };
}

double all_tokens(const View& v) {
  return static_cast<double>(v.measured().output_tokens) + static_cast<double>(v.measured().prompt_tokens);
}

double finished(const View& v) {
  return static_cast<double>(v.measured().completed_measured);
}

/// A cost by the price table of a comparison, else by the built-in one.
template <class Cost>
auto priced(Cost cost) {
  return [cost](const View& v) {
    static const models::PriceTable built_in = models::PriceTable::built_in();
    const std::optional<double> usd = cost(v.outcome, v.prices ? *v.prices : built_in);
    return usd ? Figure{*usd} : missing("no price of this GPU is known, or no token came out");
  };
}

/// Of what the policy may lose: nothing where it is lossless.
Figure fidelity(const View& v, double lossless_value, double sum, std::string_view published) {
  if (lossless(v.outcome.scenario)) return {lossless_value};
  if (v.measured().completed_measured == 0) return missing(kNothingFinished);
  if (v.config().reuse) {
    return ratio(sum, finished(v), fmt::format("the reuse of chunks has no published {} figures", published));
  }
  const std::string what =
      v.config().placement ? "a representation of stored prompts" : "compressor " + v.config().decode.compressor.name;
  return ratio(sum, finished(v),
               fmt::format("{} has no published {} figures, or none for this share of the KV", what, published));
}

std::vector<std::string> functional_keys() {
  std::vector<std::string> keys;
  for (const models::FunctionalTask& task : models::kFunctionalTasks) keys.emplace_back(task.key);
  return keys;
}

template <class T>
std::vector<std::string> keys_of(const std::map<std::string, T>& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

/// Those that simulations of the scenario measure.
std::vector<std::string> possible_links(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::Topology topology = c.cluster.topology();
  std::vector<std::string> names;
  for (const serving::InstancePool& pool : topology.instances) {
    if (pool.group.count == 0) continue;
    names.push_back(fmt::format("{}_to_{}", topology.memory.name, pool.group.name));
    names.push_back(fmt::format("{}_to_{}", pool.group.name, topology.memory.name));
  }
  if (!c.placement) return names;
  for (const cache::StoreTier& tier : cache::store_config(c).tiers) {
    if (tier.kind == cache::TierKind::gpu) names.emplace_back("within_gpu");
    if (tier.kind == cache::TierKind::device) names.insert(names.end(), {tier.name + "_read", tier.name + "_write"});
  }
  return names;
}

std::vector<std::string> possible_tiers(const scenario::Scenario& scenario) {
  if (!scenario.serving.placement) return {std::string(scenario.serving.cluster.topology().memory.name)};
  std::vector<std::string> names;
  for (const cache::StoreTier& tier : cache::store_config(scenario.serving).tiers) names.push_back(tier.name);
  return names;
}

transport::LinkTotals link(const View& v) {
  const auto found = v.measured().links.find(v.name);
  return found == v.measured().links.end() ? transport::LinkTotals{} : found->second;
}

TierMeasurement tier(const View& v) {
  const auto found = v.measured().tiers.find(v.name);
  return found == v.measured().tiers.end() ? TierMeasurement{} : found->second;
}

/// Within one replication, batch means are of what a run has many of, and of its rate of tokens.
std::vector<std::string> possible_intervals(const scenario::Scenario& s) {
  std::vector<std::string> names{"latency_s.e2e.mean", "latency_s.itl.mean", "latency_s.tpot.mean",
                                 "latency_s.ttft.mean", "throughput.output_tokens_per_s"};
  if (s.replications > 1) names.emplace_back("throughput.requests_per_s");
  return names;
}

/// Of whose values a result has more than it keeps.
const QuantileSample& quantile_sample(std::string_view key) {
  const auto samples = quantile_samples();
  return *std::find_if(samples.begin(), samples.end(), [key](const QuantileSample& s) { return s.key == key; });
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

/// Those that the scenario, or a class of requests, has a limit of.
std::vector<std::string> limited_percentiles(const scenario::Scenario& s) {
  std::vector<std::string> names;
  for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
    bool asks = s.serving.classes.empty() && s.serving.slo.asks(p);
    for (const serving::ClassConfig& one : s.serving.classes) asks = asks || one.slo.value_or(s.serving.slo).asks(p);
    if (asks) names.push_back(serving::percentile_name(p));
  }
  return names;
}

const Condition kLimited{"where latency objectives are set",
                         [](const scenario::Scenario& s) { return has_objectives(s); }};
const Names kPercentiles{"percentile of objectives", [](const Outcome& o) { return limited_percentiles(o.scenario); },
                         limited_percentiles};

Figure within_percentile(const View& v) {
  std::size_t p = 0;
  while (p + 1 < serving::kSloPercentiles.size() && serving::percentile_name(p) != v.name) ++p;
  return ratio(static_cast<double>(v.measured().within_percentile.at(p)), finished(v), kNothingFinished);
}

/// The keys of the scenario's objectives; none with classes, whose limits are of a part of the requests each.
std::vector<std::string> objective_keys(const scenario::Scenario& s) {
  std::vector<std::string> keys;
  if (!s.serving.classes.empty()) return keys;
  for (const serving::SloObjective& o : s.serving.slo.objectives()) {
    keys.push_back(serving::slo_key(o.metric, o.percentile));
  }
  return keys;
}

const Condition kLimitedAll{"where latency objectives are set, of all requests",
                            [](const scenario::Scenario& s) { return !objective_keys(s).empty(); }};
const Names kObjectives{"objective", [](const Outcome& o) { return objective_keys(o.scenario); }, objective_keys};

/// The percentile that the objective limits.
Figure limited_time(const View& v) {
  for (const serving::SloObjective& o : v.outcome.scenario.serving.slo.objectives()) {
    if (serving::slo_key(o.metric, o.percentile) != v.name) continue;
    return number(times_of(v.measured(), o.metric).quantile(serving::slo_share(o.percentile)), kNothingFinished);
  }
  return missing(kNoObjective);
}

const Names kSketchedSamples{"sample",
                             [](const Outcome& o) {
                               std::vector<std::string> keys;
                               for (const QuantileSample& s : quantile_samples()) {
                                 if (s.of(o.result.measured).sketched()) keys.emplace_back(s.key);
                               }
                               return keys;
                             },
                             [](const scenario::Scenario&) {
                               std::vector<std::string> keys;
                               for (const QuantileSample& s : quantile_samples()) keys.emplace_back(s.key);
                               return keys;
                             }};

const Names kIntervals{"metric with an interval", [](const Outcome& o) { return keys_of(o.result.confidence); },
                       possible_intervals};

}  // namespace

const Condition kPools{"with two pools", planner::takes_paths};
const Condition kPlaces{"where prompts are stored in tiers",
                        [](const scenario::Scenario& s) { return s.serving.placement.has_value(); }};
const Condition kTokenises{"where the engine takes time to tokenise", [](const scenario::Scenario& s) {
                             return s.serving.schedule.engine && s.serving.schedule.engine->tokenise_s.value > 0;
                           }};
const Names kLinks{"link", [](const Outcome& o) { return keys_of(o.result.measured.links); }, possible_links};
const Names kTiers{"tier", [](const Outcome& o) { return keys_of(o.result.measured.tiers); }, possible_tiers};

Metrics request_metrics() {
  Metrics rows{
      {"schema_version", kCount, kNeither, "grows when a key changes its meaning or goes",
       [](const View&) { return count(kSchemaVersion); }},
      {"kvsim_version", kText, kNeither, "version of kvsim that simulated it",
       [](const View&) { return Figure{kvsim_version()}; }},
      {"scenario", kText, kNeither, "name of the scenario",
       [](const View& v) { return Figure{v.outcome.scenario.name}; }},
      {"seed", kCount, kNeither, "seed of the first replication",
       [](const View& v) { return count(v.config().run.seed); }},
      {"requests.arrived", kRequests, kNeither, "requests that arrived in the whole run", of(&Measurements::arrived)},
      {"requests.completed", kRequests, kHigher, "requests that finished in the whole run",
       of(&Measurements::completed)},
      {"requests.refused", kRequests, kLower, "requests that could never fit and were refused",
       of(&Measurements::refused)},
      {"requests.running", kRequests, kLower, "requests that had not finished when the run ended",
       of(&Measurements::running)},
      {"requests.unsteady_state", kText, kNeither,
       "why what was measured is no steady state: a queue that grew or drained, or nothing that finished; empty where "
       "nothing speaks against one",
       [](const View& v) { return Figure{unsteady_state(v.outcome)}; }},
      {"throughput.output_tokens_per_s", kTokensPerS, kHigher, "output tokens, over all replicas or nodes",
       per_second([](const View& v) { return v.measured().output_tokens; })},
      {"throughput.total_tokens_per_s", kTokensPerS, kHigher,
       "output tokens, and prompt tokens whose KV became available (prefilled, loaded or found in GPU memory)",
       per_second(all_tokens)},
      {"throughput.requests_per_s", kRequestsPerS, kHigher, "requests that finished, a second", per_second(finished)},
      {"throughput.output_tokens_per_s_per_gpu", kTokensPerS, kHigher, "output tokens a second, by GPU",
       [](const View& v) {
         const auto gpus = static_cast<double>(serving::gpus(v.config().cluster));
         return ratio(static_cast<double>(v.measured().output_tokens), v.measured().measured_s * gpus, kNoTime);
       }}};
  append(rows,
         {{"cost.usd_per_hour", kDollarsPerHour, kLower,
           "of all GPUs, or nodes, with host memory as configured, used or not, and storage", priced(usd_per_hour)},
          {"cost.usd_per_1m_output_tokens", kDollars, kLower, "that hour over the output tokens of one",
           priced(usd_per_million)}});
  append(rows, sample_metrics("latency_s.ttft", "s from a request's arrival to its first output token",
                              &Measurements::ttft_s, kNoFirstToken));
  append(rows, sample_metrics("latency_s.tpot",
                              "s per output token after the first: (e2e - ttft) / (output tokens - 1); requests of one "
                              "token have none",
                              &Measurements::tpot_s, kNoTpot));
  append(rows,
         sample_metrics("latency_s.itl",
                        "s of every gap between consecutive output tokens; the tokens of one verified round arrive "
                        "together, so that gaps within a round are 0",
                        &Measurements::itl_s, kNoGap));
  append(rows, sample_metrics("latency_s.e2e", "s from a request's arrival to its last output token",
                              &Measurements::e2e_s, kNothingFinished));
  append(rows, {{"slo.attainment", kShare, kHigher, "of finished requests, those that met every latency objective",
                 [](const View& v) {
                   if (!has_objectives(v.outcome.scenario)) return missing(kNoObjective);
                   return ratio(static_cast<double>(v.measured().within_slo), finished(v), kNothingFinished);
                 }},
                {"slo.goodput_requests_per_s", kRequestsPerS, kHigher,
                 "requests that met every objective, with an answer at or above the floors of quality that are set",
                 [](const View& v) {
                   const bool asked = has_objectives(v.outcome.scenario) || floor_of(v.outcome.scenario, kScoreFloor) ||
                                      floor_of(v.outcome.scenario, kRightFloor);
                   return asked ? per_second([](const View& w) { return w.measured().good; })(v)
                                : missing("neither a latency objective nor a floor of quality is set");
                 }}});
  append(rows, when(kLimited, for_each(kPercentiles, {{"slo.percentiles.*", kShare, kHigher,
                                                       "of finished requests, those that met all limits of this "
                                                       "percentile (slo.ttft_p99 and the like): as many are asked for "
                                                       "as the percentile names",
                                                       within_percentile}})));
  append(rows, when(kLimitedAll, for_each(kObjectives, {{"slo.measured_s.*", kSeconds, kLower,
                                                         "s, of finished requests the percentile that an objective "
                                                         "limits; itl: of each request's largest gap",
                                                         limited_time}})));
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

Metrics machine_metrics() {
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
        [](const View& v) { return Figure{planner::complexity_of(v.outcome.scenario).memory_bytes}; }},
       {"gpu.busy_fraction", kShare, kHigher, "share of the replicas' time with an iteration under way",
        time_share(&Measurements::busy_s)},
       {"gpu.hbm_peak_bytes", kBytes, kLower,
        "weights, and KV that is there (not merely reserved) and that a request refers to, in the memory of one "
        "replica's "
        "GPUs, at most",
        of(&Measurements::hbm_peak_bytes)},
       {"gpu.hbm_mean_bytes", kBytes, kLower,
        "weights and KV in the memory of one replica, mean over replicas and time",
        [](const View& v) { return number(v.measured().hbm_mean_bytes, kNoTime); }}});
  for (const serving::TimePartName& part : serving::kTimeParts) {
    rows.push_back({fmt::format("gpu.bound_by.{}", part.key), kShare, waits(part) ? kLower : kNeither,
                    fmt::format("share of the replicas' time {}", part.time),
                    of_bottleneck([&part](const serving::Bottleneck& b) { return (b.*part.part).share; })});
  }
  for (const serving::TimePartName& part : serving::kTimeParts) {
    if (part.more.empty()) continue;
    rows.push_back({fmt::format("gpu.twice.{}", part.key), kShare, kNeither,
                    fmt::format("how much faster the same iterations would be with {}, from the account of each "
                                "iteration's time: to first order the gain in output tokens/s of a closed loop whose "
                                "users do not pause",
                                part.more),
                    [&part](const View& v) {
                      return v.measured().capacity_s > 0
                                 ? number((serving::bottleneck(v.measured()).*part.part).gain, kLoadsBeside)
                                 : missing(kNoTime);
                    }});
  }
  rows.push_back({"gpu.link_in_use", kShare, kNeither,
                  "share of the time in which the busiest link carried transfers that no iteration waited for: loads "
                  "and stores for some requests while others were computed",
                  of_bottleneck([](const serving::Bottleneck& b) { return b.link_in_use; })});
  append(rows,
         {{"tokeniser.busy_fraction", kShare, kNeither,
           "share of the time in which the thread that turns a replica's prompts into tokens was at work "
           "(schedule.engine.tokenise), mean over replicas; near 1 it is what binds, whatever the GPUs' time went to",
           [](const View& v) {
             const double whole_s = v.measured().tokenisers_s;
             return ratio(at_most_whole(v.measured().tokenising_s, whole_s), whole_s, kNoTime);
           },
           &kTokenises}});
  append(
      rows,
      for_each(kLinks,
               {{"links.*.utilisation", kShare, kNeither, "share of time with at least one transfer on the link",
                 [](const View& v) {
                   return ratio(at_most_whole(link(v).busy_s, link(v).capacity_s), link(v).capacity_s, kNoTime);
                 }},
                {"links.*.bytes", kBytes, kLower, "bytes that crossed the link",
                 [](const View& v) { return count(link(v).bytes); }},
                {"links.*.mean_wait_s", kSeconds, kLower, "from a transfer's request to its start", [](const View& v) {
                   return ratio(link(v).wait_s, static_cast<double>(link(v).transfers),
                                "no transfer began in the measured time");
                 }}}));
  append(rows, for_each(kTiers, {{"tiers.*.hits", kCount, kHigher,
                                  "objects of prompts (contexts, blocks or chunks) found in the tier and loaded",
                                  [](const View& v) { return count(tier(v).hits); }},
                                 {"tiers.*.misses", kCount, kLower,
                                  "all the others that were looked for, wherever they were found",
                                  [](const View& v) { return count(tier(v).misses); }},
                                 {"tiers.*.hit_rate", kShare, kHigher, "hits of the tier / (hits + misses)",
                                  [](const View& v) {
                                    return ratio(static_cast<double>(tier(v).hits),
                                                 static_cast<double>(tier(v).hits + tier(v).misses),
                                                 "no prompt was looked up in the measured time");
                                  }},
                                 {"tiers.*.bytes_peak", kBytes, kLower, "most reserved in one replica's tier",
                                  [](const View& v) { return count(tier(v).bytes_peak); }},
                                 {"tiers.*.evictions", kCount, kLower, "objects that made room for others",
                                  [](const View& v) { return count(tier(v).evictions); }}}));
  return rows;
}

Metrics run_metrics() {
  constexpr std::string_view none = "no iteration ended in the measured time";
  Metrics rows{
      {"iterations.count", kCount, kNeither, "iterations that ended in the measured time",
       [](const View& v) { return count(v.measured().iteration_s.count()); }},
      {"iterations.launched", kCount, kNeither,
       "of these, iterations with more tokens than captured ones have (profile.captured_tokens), which are launched "
       "kernel by kernel, where the profile has a time for that",
       of(&Measurements::launched_iterations)},
      {"iterations.mean_s", kSeconds, kLower, "length of an iteration, mean",
       [none](const View& v) { return number(v.measured().iteration_s.mean(), none); }},
      {"iterations.p99_s", kSeconds, kLower, "length of an iteration, 99th percentile",
       [none](const View& v) { return number(v.measured().iteration_s.quantile(0.99), none); }},
      {"engine.events", kCount, kNeither, "events of the simulation", of(&Measurements::events)},
      {"engine.wall_s", kSeconds, kLower, "wall-clock time of the simulation; --timing",
       [](const View& v) { return v.timing ? number(v.outcome.result.wall_s, kNotTimed) : missing(kNotTimed); }},
      {"engine.events_per_s", kPerS, kHigher, "events a second of the wall clock; --timing",
       [](const View& v) { return wall_rate(v, static_cast<double>(v.measured().events)); }}};
  append(
      rows,
      for_each(kSketchedSamples,
               {{"percentiles.sketched.*", kCount, kNeither,
                 "values of a sample whose percentiles are from a sketch (within 0.1 %), as it has more than 10,000; "
                 "of what is not named here they are exact",
                 [](const View& v) { return count(quantile_sample(v.name).of(v.measured()).count()); }}}));
  append(rows, for_each(kIntervals,
                        {{"confidence.*.half_width_95", kPlain, kLower,
                          "Student-t 95 % interval of the mean, half its width, in the metric's unit",
                          [](const View& v) {
                            const planner::ExperimentResult& r = v.outcome.result;
                            return number(r.confidence.at(v.name).half_width_95,
                                          r.replications > 1
                                              ? "a replication has no such figure"
                                              : "one replication, too short for batch means: set run.replications");
                          }},
                         {"confidence.*.replications", kCount, kNeither, "replications that the interval is over",
                          [](const View& v) { return count(v.outcome.result.replications); }}}));
  return rows;
}

}  // namespace kvsim::results
