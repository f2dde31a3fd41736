// Every run has these: requests, throughput, latencies and objectives; the simulation.
#include <algorithm>
#include <optional>

#include "planner/policy_words.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

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

/// Within one replication, batch means are of what a run has many of, and of its rate of tokens.
std::vector<std::string> possible_intervals(const scenario::Scenario& s) {
  std::vector<std::string> names{"latency_s.e2e.mean", "latency_s.itl.mean", "latency_s.tpot.mean",
                                 "latency_s.ttft.mean", "throughput.output_tokens_per_s"};
  if (s.replications > 1) names.emplace_back("throughput.requests_per_s");
  return names;
}

/// Sample of which a result has more values than it keeps.
const QuantileSample& quantile_sample(std::string_view key) {
  const auto samples = quantile_samples();
  return *std::find_if(samples.begin(), samples.end(), [key](const QuantileSample& s) { return s.key == key; });
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
                   const bool asked = has_objectives(v.outcome.scenario) || has_floor(v.outcome.scenario);
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
  append(rows, floor_metrics());
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
