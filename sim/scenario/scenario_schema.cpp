// The field table of a scenario: every key with its unit, range, default and sentence. Parsing, validation, the JSON
// Schema, the reference page and the resolved scenario all come from here.
#include <string>

#include <fmt/format.h>

#include "models/llm/llm_spec.h"
#include "models/placement/placement_spec.h"
#include "models/schemas.h"
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/placement/placements.h"
#include "sim/scenario/schemas.h"

namespace kvsim::scenario {

ObjectSchema<serving::SloConfig> slo_schema() {
  using serving::SloConfig;
  ObjectSchema<SloConfig> s(
      "slo",
      "Latency objectives. The share of requests that a percentile names must stay within all of its "
      "limits at once: 99 % within ttft_p99 and tpot_p99, 95 % within ttft_p95.");
  for (const serving::SloMetricEntry& entry : serving::kSloMetrics) {
    for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
      const auto limit = [ m = static_cast<std::size_t>(entry.metric), p ](auto& slo) -> auto& {
        return slo.limits_s[m][p];
      };
      s.optional(serving::slo_key(entry.metric, p).c_str(), limit, time().positive(), entry.description);
    }
  }
  s.unknown_keys(fmt::format("expected {}, quality_floor, or functional_floor", serving::expected_slo_keys()));
  s.optional("quality_floor", &SloConfig::quality_floor, number().above(0).at_most(1),
             "score of an answer / mean score of answers to prompts computed whole: an answer below it is no goodput");
  s.optional("functional_floor", &SloConfig::functional_floor, number().above(0).at_most(1),
             "functional correctness (calls, code format, completion: the least that is known) relative to full KV: an "
             "answer below it, or of which it is not known, is no goodput");
  return s;
}

namespace {

constexpr double kLongestRun_s = 24000.0 * 3600.0;  // a thousand days; the clock ends after 292 years

ObjectSchema<Written> run_schema() {
  ObjectSchema<Written> s("run", "How long, how often, with which random numbers.");
  s.optional("duration", KVSIM_MEMBER(serving.run.duration_s), time().positive().at_most(kLongestRun_s),
             "simulated time; without it the run ends with its last request");
  s.optional("warmup", KVSIM_MEMBER(serving.run.warmup_s), time().non_negative().at_most(kLongestRun_s),
             "simulated time that is not measured");
  s.optional("seed", KVSIM_MEMBER(serving.run.seed), integer().non_negative().of_any_size(), "of every random stream");
  s.optional(
      "sample_every", KVSIM_MEMBER(serving.run.sample_every_s), time().at_least(1e-6).at_most(kLongestRun_s),
      "requests running and waiting, KV memory in use, and what GPUs and links did are sampled at this period, "
      "warm-up included, for the result's timeline; without it that chooses one that leaves at most 120 samples");
  s.optional("most_in_flight", KVSIM_MEMBER(serving.run.most_in_flight), integer().at_least(1).at_most(1e9),
             "requests that may have arrived and not finished at once, over all replicas: one more ends the run with a "
             "message, for each takes some 500 bytes of memory");
  s.optional("replications", &Written::replications, integer().at_least(1).at_most(10000),
             "independent runs, with seeds seed, seed + 1, ...");
  s.optional("stretches", KVSIM_MEMBER(serving.run.stretches), boolean(),
             "iterations in which nothing else happens are one event; false makes each an event of its own: the same "
             "figures to the last bit, slower");
  return s;
}

ObjectSchema<Written> make_scenario_schema() {
  ObjectSchema<Written> s("scenario", "One simulation: model, machines, traffic and policies.");
  s.optional("name", &Written::name, text().non_empty(),
             "what the scenario is, for reports; by default the file's name without its ending");
  s.optional("description", &Written::description, text(), "what it shows and what to expect");
  s.list("assumptions", &Written::assumptions, text().non_empty(), Presence::optional,
         "what was taken for granted; repeated in every result");
  s.list("include", &Written::include, text().non_empty(), Presence::optional,
         "files with further catalogue entries, relative to the scenario's folder");
  s.reference("model", KVSIM_MEMBER(serving.model), "model", models::llm_schema(), Presence::required, "which LLM");
  s.object("cluster", kItself, cluster_schema(), Presence::required, "the machines");
  s.object("workload", &Written::workload, workload_schema(), Presence::required, "the traffic");
  s.object("prefill", kItself, prefill_schema(), Presence::optional, "prefill policy");
  s.object("decode", kItself, decode_schema(), Presence::required, "decode policy");
  s.object("dispatch", &Written::dispatch, dispatch_schema(), Presence::optional,
           "paths through pools; by default policy online over all paths");
  auto placement = models::placement_schema(words_of(cache::placements()));
  placement.own_keys(cache::eviction_policies(), &models::PlacementSpec::own, &models::PlacementSpec::policy,
                     "placement policy");
  s.object("placement", KVSIM_MEMBER(serving.placement), placement, Presence::optional,
           "what is kept of prompts, where and as what (prefill: prefix_cache, and those that reuse chunks)");
  s.object("schedule", KVSIM_MEMBER(serving.schedule), schedule_schema(), Presence::optional, "schedule policy");
  s.object("slo", KVSIM_MEMBER(serving.slo), slo_schema(), Presence::optional, "latency objectives");
  s.object("run", kItself, run_schema(), Presence::optional, "length, seed, replications");
  add_pool_rules(s);
  s.unread(
      {"cluster.storage", "cluster.host.shared", "cluster.host.outages"},
      [](const Written& x) {
        return x.serving.placement ? "" : "belongs to placement, and there is none: remove this key";
      },
      schema::IfWritten::refused);
  s.unread({"placement"}, [](const Written& x) {
    const bool stores = !x.workload.chunks || x.serving.prefill != serving::PrefillKind::recompute;
    return stores ? "" : "prefill.policy recompute stores nothing: use another, such as full_reuse";
  });
  add_chunk_rules(s);
  add_schedule_rules(s);
  return s;
}

}  // namespace

const ObjectSchema<Written>& scenario_schema() {
  static const ObjectSchema<Written> schema = make_scenario_schema();
  return schema;
}

}  // namespace kvsim::scenario
