#include "tools/results/result_details.h"

#include <cmath>

#include "sim/serving/decode_policy.h"
#include "tools/results/definitions.h"
#include "tools/results/draft_length_results.h"
#include "tools/results/drafting_results.h"
#include "tools/results/fetch_results.h"
#include "tools/results/latency_distribution.h"
#include "tools/results/machines.h"
#include "tools/results/memory_results.h"
#include "tools/results/placement_results.h"
#include "tools/results/pools_results.h"
#include "tools/results/provenance.h"
#include "tools/results/reuse_results.h"

namespace kvsim::results {
namespace {

using planner::ExperimentResult;
using serving::Measurements;

Json policies(const Outcome& outcome) {
  const serving::ServingConfig& c = outcome.scenario.serving;
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  Json out = Json::object();
  if (!outcome.policy.empty()) out["asked"] = outcome.policy;
  out["decode"] = c.decode.policy;
  out["schedule"] = c.schedule.policy;
  out[c.cluster.pools ? "dispatch" : "router"] = c.cluster.pools ? c.cluster.pools->dispatch.policy : c.cluster.router;
  out["prefill"] = prefill_word(c.prefill);
  if (c.placement) out["placement"] = c.placement->policy;
  const serving::DecodeConfig own = serving::own_drafts(c.decode);
  if (reads_own_choice(c)) {
    out["compressor"] = own.compressor.name;
    out["keep_ratio"] = own.keep_ratio;
  }
  if (decode.drafter) out["drafter"] = c.decode.drafter->spec.name;
  if (decode.verifies && own.draft_lengths.policy == "fixed") out["draft_length"] = own.draft_length;
  if (decode.drafts() && own.draft_lengths.policy != "fixed") out["draft_lengths"] = draft_length_text(own);
  return out;
}

Json capacity(const serving::KvCapacity& k, std::string_view per) {
  return {{"per", per},
          {"bytes", k.bytes},
          {"tokens", k.tokens},
          {"blocks", k.blocks},
          {"block_tokens", k.block_tokens},
          {"weights_bytes", k.weights_bytes}};
}

/// What requests did in the iterations that they were part of.
Json request_iterations(const Measurements& m) {
  return {{"drafting", m.drafting_request_iterations},
          {"verifying", m.verifying_request_iterations},
          {"stalled_late_reload", m.late_request_iterations},
          {"stalled_otherwise", m.stalled_request_iterations - m.late_request_iterations}};
}

/// An upper bound: what is not known is how much less a GPU draws than its board may.
Section energy(Section s, const Outcome& outcome) {
  const serving::ClusterConfig& c = outcome.scenario.serving.cluster;
  const Measurements& m = outcome.result.measured;
  const char* key = "joules_per_output_token_at_most";
  if (c.gpu.board_power_w.value <= 0) return s.missing(key, "GPU " + c.gpu.name + " has no board_power");
  const auto gpus = static_cast<double>(serving::gpus_per_group(c));  // capacity_s counts every replica or node
  s.ratio(key, c.gpu.board_power_w.value * gpus * m.capacity_s, static_cast<double>(m.output_tokens),
          "no output token in the measured time");
  return s;
}

Json sources(const scenario::Scenario& scenario) {
  Json list = Json::array();
  for (const Provenance& p : provenance_of(scenario)) {
    list.push_back({{"figure", p.figure}, {"value", p.value}, {"source", p.source}, {"reference", p.reference}});
  }
  return list;
}

}  // namespace

Section sample_section(Section s, const engine::Sample& sample, std::string_view reason) {
  s.number("mean", sample.mean(), reason);
  s.number("p50", sample.quantile(0.50), reason);
  s.number("p90", sample.quantile(0.90), reason);
  s.number("p95", sample.quantile(0.95), reason);
  s.number("p99", sample.quantile(0.99), reason);
  s.number("max", sample.max(), reason);
  return s;
}

void add_speed(Section& s, const ExperimentResult& result, bool timing) {
  const Measurements& m = result.measured;
  const auto rate = [&](const char* key, double amount) {
    if (timing) {
      s.ratio(key, amount, result.wall_s, kTooShort);
    } else {
      s.missing(key, kNotTimed);
    }
  };
  if (timing) s.number("wall_s", result.wall_s, kNotTimed);
  if (timing) rate("events_per_wall_s", static_cast<double>(m.events));
  rate("simulated_iterations_per_wall_s", static_cast<double>(m.iteration_s.count()));
  rate("requests_per_wall_s", static_cast<double>(m.completed));
}

Section details_section(Section s, const Outcome& outcome, bool timing) {
  const ExperimentResult& result = outcome.result;
  const Measurements& m = result.measured;
  s.set("policies", policies(outcome));
  s.number("measured_s", m.measured_s, "no time was measured").count("replications", result.replications);
  s.set("confidence_method", result.replications > 1
                                 ? "Student t over the replications"
                                 : "batch means of one replication: 20 batches in order of time (throughput) or of "
                                   "occurrence (latencies)");
  s.set("conservation", "checked");
  const serving::ClusterConfig& cluster = outcome.scenario.serving.cluster;
  if (cluster.pools) s.set("pools", pools_configuration(*cluster.pools));
  s.set("kv_capacity", capacity(result.capacity, group_word(cluster)));
  if (!cluster.pools) s.set("memory", memory_section(s.child("memory"), outcome));
  s.count("hbm_reserved_peak_bytes", m.hbm_reserved_peak_bytes).count("preemptions", m.preemptions);
  s.count("completed_measured", m.completed_measured).count("within_slo", m.within_slo);
  s.count("output_tokens", m.output_tokens).count("prompt_tokens", m.prompt_tokens);
  s.ratio("full_kv_output_probability", m.same_output, static_cast<double>(m.completed_measured),
          std::isnan(m.same_output) ? "the compressor, or the reuse of chunks, has no KL figures"
                                    : "no request finished in the measured time");
  s.count("rejected_tokens", m.rejected_tokens).count("corrections", m.corrections);
  s.count("direct_tokens", m.direct_tokens);
  s.count("stalled_request_iterations", m.stalled_request_iterations);
  s.set("request_iterations", request_iterations(m));
  s.ratio("short_of_gpu_memory", m.memory_short_s, m.capacity_s, "no time was measured");
  s.set("energy", energy(s.child("energy"), outcome));
  s.set("round_gap_s",
        sample_section(s.child("round_gap_s"), m.round_gap_s, "no request got tokens twice in the measured time"));
  s.set("latency_distribution_s", latency_distribution(s.child("latency_distribution_s"), m));
  add_speed(s, result, timing);
  s.set("assumptions", outcome.scenario.assumptions);
  std::vector<std::string> fallbacks = result.fallbacks;
  fallbacks.insert(fallbacks.end(), result.own_fallbacks.begin(), result.own_fallbacks.end());
  s.set("fallbacks", fallbacks);
  s.set("refusals", result.refusals);
  s.set("sources", sources(outcome.scenario));
  s.set("resolved_scenario", scenario::resolved_yaml(outcome.scenario));
  Json definitions = Json::object();
  for (const auto& [metric, definition] : metric_definitions()) definitions[std::string(metric)] = definition;
  if (cluster.pools) {
    for (const auto& [metric, definition] : pools_definitions()) definitions[std::string(metric)] = definition;
  }
  if (outcome.result.measured.rounds > 0 && !cluster.pools) {
    for (const auto& [metric, definition] : draft_length_definitions()) definitions[std::string(metric)] = definition;
  }
  if (has_drafter(outcome.scenario)) {
    for (const auto& [metric, definition] : drafter_definitions()) definitions[std::string(metric)] = definition;
  }
  if (holds_low_bit_copy_or_fetches(outcome.scenario)) {
    for (const auto& [metric, definition] : fetch_definitions()) definitions[std::string(metric)] = definition;
  }
  if (outcome.scenario.serving.placement) {
    for (const auto& [metric, definition] : placement_definitions()) definitions[std::string(metric)] = definition;
  }
  if (!outcome.scenario.serving.tasks.empty()) {
    for (const auto& [metric, definition] : reuse_definitions()) definitions[std::string(metric)] = definition;
  }
  s.set("definitions", std::move(definitions));
  return s;
}

}  // namespace kvsim::results
