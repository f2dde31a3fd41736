// Figures of results beyond the fixed keys: memory, requests' iterations, energy, gaps, the speed of the
// simulation.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

const Condition kReplicas{"without pools", [](const scenario::Scenario& s) { return !kPools.holds(s); }};

const Condition kRemarks{"where a key of the scenario's file has no effect",
                         [](const scenario::Scenario& s) { return !s.remarks.empty(); }};

template <class T>
auto detail(T Measurements::*member) {
  return [member](const View& v) { return count(v.measured().*member); };
}

/// A figure of the KV that an instance holds, where all hold the same.
template <class Of>
Figure of_all(const View& v, const Of& of) {
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(v.config().cluster);
  if (kinds.size() > 1) return missing("pools differ: pools.*.kv_capacity_bytes has each");
  return of(capacity_of(v.outcome, *kinds.front()));
}

template <class T>
auto kv_room(T serving::KvCapacity::*member) {
  return [member](const View& v) { return of_all(v, [&](const auto& capacity) { return count(capacity.*member); }); };
}

serving::MemorySplit memory(const View& v) {
  return serving::memory_split(v.config(), v.config().cluster.uniform(),
                               serving::configured_geometry(v.config(), v.config().cluster.uniform()));
}

auto memory_part(std::int64_t serving::MemorySplit::*part) {
  return [part](const View& v) { return count(memory(v).*part); };
}

/// A mean over time, in bytes.
template <class Value>
auto over_time(Value value) {
  return [value](const View& v) { return v.measured().capacity_s > 0 ? number(value(v), kNoTime) : missing(kNoTime); };
}

/// An upper bound: what is not known is how much less a GPU draws than its board may.
Figure energy(const View& v) {
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(v.config().cluster);
  double joules = 0;
  for (const serving::GroupConfig* group : kinds) {
    if (group->gpu.board_power_w.value <= 0) return missing("GPU " + group->gpu.name + " has no board_power");
    const double instances_s =
        kinds.size() > 1 ? v.measured().pools.at(group->name).capacity_s : v.measured().capacity_s;  // of all of them
    joules += group->gpu.board_power_w.value * static_cast<double>(group->gpus()) * instances_s;
  }
  return ratio(joules, static_cast<double>(v.measured().output_tokens), "no output token in the measured time");
}

/// Percents, and the tail.
std::vector<double> fractions() {
  std::vector<double> all;
  for (int percent = 0; percent < 100; ++percent) all.push_back(percent / 100.0);
  all.insert(all.end(), {0.995, 0.999, 1.0});
  return all;
}

auto quantiles(engine::Sample Measurements::*sample, std::string_view reason) {
  return [sample, reason](const View& v) {
    const engine::Sample& s = v.measured().*sample;
    if (s.empty()) return missing(reason);
    std::vector<double> values;
    for (const double fraction : fractions()) values.push_back(s.quantile(fraction));
    return Figure{std::move(values)};
  };
}

Figure confidence_method(const View& v) {
  return {
      v.outcome.result.replications > 1
          ? "Student t over the replications"
          : "batch means of one replication: 20 batches in order of time (throughput) or of occurrence (latencies)"};
}

Figure sources(const View& v) {
  Json list = Json::array();
  for (const Provenance& p : provenance_of(v.outcome.scenario)) {
    list.push_back({{"figure", p.figure}, {"value", p.value}, {"source", p.source}, {"reference", p.reference}});
  }
  return {std::move(list)};
}

Figure fallbacks(const View& v) {
  std::vector<std::string> all = v.outcome.result.fallbacks;
  all.insert(all.end(), v.outcome.result.own_fallbacks.begin(), v.outcome.result.own_fallbacks.end());
  return {std::move(all)};
}

Metrics memory_metrics() {
  using S = serving::MemorySplit;
  return when(
      kReplicas,
      {{"details.memory.per", kText, kNeither, "whose memory the figures beside it are of",
        [](const View&) { return Figure{"replica"}; }},
       {"details.memory.gpu_bytes", kBytes, kNeither, "memory of all GPUs of a replica", memory_part(&S::gpu)},
       {"details.memory.kept_free_bytes", kBytes, kNeither, "beyond cluster.gpu.memory_fraction",
        memory_part(&S::kept_free)},
       {"details.memory.weights_bytes", kBytes, kNeither, "GPU memory for the model's weights",
        memory_part(&S::weights)},
       {"details.memory.activations_bytes", kBytes, kNeither, "GPU memory kept for activations",
        memory_part(&S::activations)},
       {"details.memory.other_bytes", kBytes, kNeither,
        "a drafter's weights, a framework's workspace, stored prompts, less than a block", memory_part(&S::other)},
       {"details.memory.kv_capacity_bytes", kBytes, kNeither, "GPU memory that is left for KV", memory_part(&S::kv)},
       {"details.memory.kv.resident_mean_bytes", kBytes, kNeither,
        "reserved and not streaming, mean over time and replicas", over_time([](const View& v) {
          return v.measured().kv_reserved_mean_bytes - v.measured().kv_streaming_mean_bytes;
        })},
       {"details.memory.kv.streaming_mean_bytes", kBytes, kNeither,
        "reserved for full KV on its way or there for a verification, mean over time and replicas",
        over_time([](const View& v) { return v.measured().kv_streaming_mean_bytes; })},
       {"details.memory.kv.unused_mean_bytes", kBytes, kNeither, "not reserved, mean over time and replicas",
        over_time([](const View& v) {  // not below 0 but for rounding
          return std::max(0.0, static_cast<double>(memory(v).kv) - v.measured().kv_reserved_mean_bytes);
        })},
       {"details.memory.kv.reserved_peak_bytes", kBytes, kLower, "most reserved in one replica",
        detail(&Measurements::kv_reserved_peak_bytes)},
       {"details.memory.kv.streaming_peak_bytes", kBytes, kLower, "most of it streaming, in one replica",
        detail(&Measurements::kv_streaming_peak_bytes)}});
}

}  // namespace

Metrics speed_metrics() {
  Metrics timed{{"details.wall_s", kSeconds, kLower, "wall-clock time of the simulation",
                 [](const View& v) { return number(v.outcome.result.wall_s, kNotTimed); }},
                {"details.events_per_wall_s", kPerS, kHigher, "events a second of the wall clock",
                 [](const View& v) { return wall_rate(v, static_cast<double>(v.measured().events)); }}};
  for (Metric& row : timed) row.only_timed = true;
  append(timed,
         {{"details.simulated_iterations_per_wall_s", kPerS, kHigher, "iterations a second of the wall clock; --timing",
           [](const View& v) { return wall_rate(v, static_cast<double>(v.measured().iteration_s.count())); }},
          {"details.requests_per_wall_s", kRequestsPerS, kHigher, "requests a second of the wall clock; --timing",
           [](const View& v) { return wall_rate(v, static_cast<double>(v.measured().completed)); }}});
  return timed;
}

Metrics detail_metrics() {
  Metrics rows{{"details.policies", kAny, kNeither, "under which the scenario ran", policies},
               {"details.measured_s", kSeconds, kNeither, "simulated time that is measured, over all replications",
                [](const View& v) { return number(v.measured().measured_s, kNoTime); }},
               {"details.replications", kCount, kNeither, "runs with seeds of their own",
                [](const View& v) { return count(v.outcome.result.replications); }},
               {"details.confidence_method", kText, kNeither, "what the intervals are made of", confidence_method},
               {"details.conservation", kText, kNeither, "whether laws of conservation were checked",
                [](const View&) { return Figure{"checked"}; }}};
  append(rows, when(kPools, {{"details.pools", kObject, kNeither, "pools, links and dispatch, as configured",
                              pools_configuration}}));
  append(
      rows,
      {{"details.kv_capacity.per", kText, kNeither, "whose memory the figures beside it are of",
        [](const View& v) { return Figure{group_word(v.config().cluster)}; }},
       {"details.kv_capacity.bytes", kBytes, kNeither, "KV memory of a replica or node",
        kv_room(&serving::KvCapacity::bytes)},
       {"details.kv_capacity.tokens", kTokens, kNeither,
        "tokens whose full KV fits into GPU memory, as engines state them: where layers have windows, concurrency x "
        "longest_tokens; where they have states, of one group of layers",
        kv_room(&serving::KvCapacity::tokens)},
       {"details.kv_capacity.context_tokens", kTokens, kNeither,
        "tokens of the longest single context whose full KV fits, at most the model's",
        kv_room(&serving::KvCapacity::context_tokens)},
       {"details.kv_capacity.longest_tokens", kTokens, kNeither, "the longest request that the model allows",
        kv_room(&serving::KvCapacity::longest)},
       {"details.kv_capacity.concurrency", kPlain, kNeither,
        "requests of longest_tokens whose full KV fits, as engines state it (maximum concurrency): windows hold "
        "what an "
        "iteration may write beside them",
        [](const View& v) { return of_all(v, [](const auto& c) { return number(c.concurrency, kNoTime); }); }},
       {"details.kv_capacity.stored_concurrency", kPlain, kNeither,
        "requests of longest_tokens that fit as the decode policy holds their KV (compressed)",
        [](const View& v) { return of_all(v, [](const auto& c) { return number(c.stored_concurrency, kNoTime); }); }},
       {"details.kv_capacity.decided_by", kText, kNeither,
        "what decides the bytes: cluster.gpu.kv_tokens, kv_blocks or kv_bytes, activations, a profile, an engine's "
        "memory",
        [](const View& v) { return of_all(v, [](const auto& c) { return Figure{c.decided_by}; }); }},
       {"details.kv_capacity.blocks", kCount, kNeither, "blocks of KV that fit into GPU memory",
        kv_room(&serving::KvCapacity::blocks)},
       {"details.kv_capacity.block_tokens", kTokens, kNeither, "tokens of a block of KV",
        kv_room(&serving::KvCapacity::block_tokens)},
       {"details.kv_capacity.weights_bytes", kBytes, kNeither, "weights of the model, of a replica or node",
        kv_room(&serving::KvCapacity::weights_bytes)}});
  append(rows, memory_metrics());
  append(
      rows,
      {{"details.hbm_reserved_peak_bytes", kBytes, kLower,
        "weights and reservations in the memory of one replica, at most",
        detail(&Measurements::hbm_reserved_peak_bytes)},
       {"details.preemptions", kCount, kLower,
        "times that a request was preempted for lack of memory, in the whole run", detail(&Measurements::preemptions)},
       {"details.completed_measured", kRequests, kHigher, "that finished in the measured time",
        detail(&Measurements::completed_measured)},
       {"details.within_slo", kRequests, kHigher,
        "requests finished in the measured time that met every latency objective",
        [](const View& v) {
          return has_objectives(v.outcome.scenario) ? count(v.measured().within_slo) : missing(kNoObjective);
        }},
       {"details.output_tokens", kTokens, kHigher, "emitted in the measured time",
        detail(&Measurements::output_tokens)},
       {"details.prompt_tokens", kTokens, kHigher,
        "of prompts whose KV became available in the measured time: prefilled, loaded or found in GPU memory",
        detail(&Measurements::prompt_tokens)},
       {"details.full_kv_output_probability", kShare, kHigher,
        "exp(-KL) of a request: the chance that it emits the full-KV output, mean over requests",
        [](const View& v) {
          return ratio(v.measured().same_output, static_cast<double>(v.measured().completed_measured),
                       std::isnan(v.measured().same_output)
                           ? "the compressor, or the reuse of chunks, has no KL figures"
                           : kNothingFinished);
        }},
       {"details.rejected_tokens", kTokens, kLower, "tokens that were drafted and not accepted",
        detail(&Measurements::rejected_tokens)},
       {"details.corrections", kTokens, kNeither,
        "tokens that the verifier gave in place of a rejected one, or behind the last",
        detail(&Measurements::corrections)},
       {"details.direct_tokens", kTokens, kNeither, "tokens of ordinary decoding or prefill",
        detail(&Measurements::direct_tokens)},
       {"details.stalled_request_iterations", kCount, kLower, "request-iterations without progress",
        detail(&Measurements::stalled_request_iterations)},
       {"details.request_iterations.drafting", kCount, kNeither, "request-iterations drafting, or plain decoding",
        detail(&Measurements::drafting_request_iterations)},
       {"details.request_iterations.verifying", kCount, kNeither, "request-iterations verifying",
        detail(&Measurements::verifying_request_iterations)},
       {"details.request_iterations.stalled_late_reload", kCount, kLower,
        "request-iterations stalled in a round whose reload was late", detail(&Measurements::late_request_iterations)},
       {"details.request_iterations.stalled_otherwise", kCount, kLower, "request-iterations stalled otherwise",
        [](const View& v) {
          return count(v.measured().stalled_request_iterations - v.measured().late_request_iterations);
        }},
       {"details.short_of_gpu_memory", kShare, kLower,
        "share of the replicas' time in which the next waiting request would not have fitted into GPU memory, "
        "whatever else kept it waiting, or a reload found no room; looked at as each iteration begins",
        [](const View& v) { return ratio(v.measured().memory_short_s, v.measured().capacity_s, kNoTime); }},
       {"details.energy.joules_per_output_token_at_most", kJoulesPerToken, kLower,
        "the boards' power over the measured time, by output token: an upper bound", energy}});
  append(rows,
         sample_metrics("details.round_gap_s", "s between consecutive deliveries of one or more tokens to a request",
                        &Measurements::round_gap_s, "no request got tokens twice in the measured time"));
  append(
      rows,
      several("[]", {{"details.latency_distribution_s.fractions", kShare, kNeither,
                      "at which the quantiles beside them are taken", [](const View&) { return Figure{fractions()}; }},
                     {"details.latency_distribution_s.ttft", kSeconds, kNeither,
                      "quantiles of the time to the first token", quantiles(&Measurements::ttft_s, kNoFirstToken)},
                     {"details.latency_distribution_s.tpot", kSeconds, kNeither,
                      "quantiles of the time per output token", quantiles(&Measurements::tpot_s, kNoTpot)},
                     {"details.latency_distribution_s.itl", kSeconds, kNeither, "quantiles of the gaps between tokens",
                      quantiles(&Measurements::itl_s, kNoGap)},
                     {"details.latency_distribution_s.e2e", kSeconds, kNeither,
                      "quantiles of the time from arrival to the last token",
                      quantiles(&Measurements::e2e_s, kNothingFinished)}}));
  append(rows, speed_metrics());
  append(rows, {{"details.assumptions", kObject, kNeither, "what the scenario's author took for granted",
                 [](const View& v) { return Figure{v.outcome.scenario.assumptions}; }},
                {"details.remarks", kObject, kNeither, "keys of the scenario's file that nothing reads",
                 [](const View& v) { return Figure{v.outcome.scenario.remarks}; }, &kRemarks},
                {"details.fallbacks", kObject, kNeither, "figures that had to be replaced", fallbacks},
                {"details.refusals", kObject, kNeither, "why requests were refused: the first few",
                 [](const View& v) { return Figure{v.outcome.result.refusals}; }},
                {"details.sources", kObject, kNeither, "where the figures that the run used come from", sources},
                {"details.resolved_scenario", kText, kNeither, "the scenario with all its defaults",
                 [](const View& v) { return Figure{scenario::resolved_yaml(v.outcome.scenario)}; }}});
  return rows;
}

}  // namespace kvsim::results
