#include "tools/results/result_document.h"

#include "tools/results/draft_length_results.h"
#include "tools/results/drafting_results.h"
#include "tools/results/fetch_results.h"
#include "tools/results/latency_distribution.h"
#include "tools/results/lossless.h"
#include "tools/results/placement_results.h"
#include "tools/results/pools_results.h"
#include "tools/results/result_details.h"
#include "tools/results/reuse_results.h"
#include "tools/results/timeline_document.h"

namespace kvsim::results {
namespace {

using engine::Sample;
using planner::ExperimentResult;
using scenario::Scenario;
using serving::Measurements;

constexpr std::string_view kNothingDrafted = "nothing was drafted";

Section requests(Section s, const Measurements& m) {
  s.count("arrived", m.arrived).count("completed", m.completed).count("refused", m.refused).count("running", m.running);
  return s;
}

Section throughput(Section s, const Scenario& scenario, const Measurements& m) {
  const auto gpus = static_cast<double>(serving::gpus(scenario.serving.cluster));
  const auto output = static_cast<double>(m.output_tokens);
  s.ratio("output_tokens_per_s", output, m.measured_s, kNoTime);
  s.ratio("total_tokens_per_s", output + static_cast<double>(m.prompt_tokens), m.measured_s, kNoTime);
  s.ratio("requests_per_s", static_cast<double>(m.completed_measured), m.measured_s, kNoTime);
  s.ratio("output_tokens_per_s_per_gpu", output, m.measured_s * gpus, kNoTime);
  return s;
}

Section latency(Section s, const Measurements& m) {
  s.set("ttft", sample_section(s.child("ttft"), m.ttft_s, kNoFirstToken));
  s.set("tpot", sample_section(s.child("tpot"), m.tpot_s, kNoTpot));
  s.set("itl", sample_section(s.child("itl"), m.itl_s, kNoGap));
  s.set("e2e", sample_section(s.child("e2e"), m.e2e_s, kNothingFinished));
  return s;
}

Section objectives(Section s, const Measurements& m) {
  const auto within = static_cast<double>(m.within_slo);
  s.ratio("attainment", within, static_cast<double>(m.completed_measured), kNothingFinished);
  s.ratio("goodput_requests_per_s", static_cast<double>(m.good), m.measured_s, kNoTime);
  return s;
}

Section speculation(Section s, const Scenario& scenario, const Measurements& m) {
  const auto accepted = static_cast<double>(m.accepted_tokens);
  s.count("rounds", m.rounds).count("drafted_tokens", m.drafted_tokens).count("accepted_tokens", m.accepted_tokens);
  s.ratio("acceptance_rate", accepted, static_cast<double>(m.drafted_tokens), kNothingDrafted);
  s.ratio("mean_accepted_length", accepted, static_cast<double>(m.rounds), "nothing was verified");
  s.count("late_reloads", m.late_reloads);
  add_draft_lengths(s, scenario, m);
  return s;
}

Section quality(Section s, const Scenario& scenario, const Measurements& m) {
  const bool full = lossless(scenario);
  if (full) {
    s.set("mean_score", 1.0).set("expected_kl_nats", 0.0);
  } else {
    const auto finished = static_cast<double>(m.completed_measured);
    const bool any = m.completed_measured > 0;
    const auto reason = [&](const char* what) {
      if (!any) return std::string(kNothingFinished);
      if (scenario.serving.reuse) return std::string("the reuse of chunks has no published ") + what + " figures";
      const std::string& compressor = scenario.serving.decode.compressor.name;
      return (scenario.serving.placement ? "a representation of stored prompts" : "compressor " + compressor) +
             " has no published " + what + " figures";
    };
    s.ratio("mean_score", m.quality, finished, reason("quality"));
    s.ratio("expected_kl_nats", m.kl_nats, finished, reason("step_kl"));
  }
  s.set("lossless", full);
  return s;
}

Section gpu(Section s, const Measurements& m) {
  s.ratio("busy_fraction", m.busy_s, m.capacity_s, kNoTime);
  s.count("hbm_peak_bytes", m.hbm_peak_bytes).number("hbm_mean_bytes", m.hbm_mean_bytes, kNoTime);
  Section bound = s.child("bound_by");
  bound.ratio("hbm_bandwidth", m.hbm_bound_s, m.capacity_s, kNoTime);
  bound.ratio("compute", m.compute_bound_s, m.capacity_s, kNoTime);
  bound.ratio("link", m.link_bound_s, m.capacity_s, kNoTime);
  bound.ratio("idle", m.idle_s, m.capacity_s, kNoTime);
  s.set("bound_by", bound);
  return s;
}

Section links(Section s, const Measurements& m) {
  for (const auto& [name, link] : m.links) {
    Section one = s.child(name);
    one.ratio("utilisation", link.busy_s, link.capacity_s, kNoTime).count("bytes", link.bytes);
    one.ratio("mean_wait_s", link.wait_s, static_cast<double>(link.transfers),
              "no transfer began in the measured time");
    s.set(name, one);
  }
  return s;
}

Section tiers(Section s, const Measurements& m) {
  for (const auto& [name, tier] : m.tiers) {
    Section one = s.child(name);
    one.count("hits", tier.hits).count("misses", tier.misses);
    one.ratio("hit_rate", static_cast<double>(tier.hits), static_cast<double>(tier.hits + tier.misses),
              "no prompt was looked up in the measured time");
    one.count("bytes_peak", tier.bytes_peak).count("evictions", tier.evictions);
    s.set(name, one);
  }
  return s;
}

Section iterations(Section s, const Measurements& m) {
  constexpr std::string_view none = "no iteration ended in the measured time";
  s.count("count", m.iteration_s.count()).number("mean_s", m.iteration_s.mean(), none);
  s.number("p99_s", m.iteration_s.quantile(0.99), none);
  return s;
}

Section engine_speed(Section s, const ExperimentResult& result, bool timing) {
  s.count("events", result.measured.events);
  if (timing) {
    s.number("wall_s", result.wall_s, kNotTimed);
    s.ratio("events_per_s", static_cast<double>(result.measured.events), result.wall_s, kTooShort);
  } else {
    s.missing("wall_s", kNotTimed).missing("events_per_s", kNotTimed);
  }
  return s;
}

Section confidence(Section s, const ExperimentResult& result) {
  for (const auto& [name, interval] : result.confidence) {
    Section one = s.child(name);
    one.number("half_width_95", interval.half_width_95,
               result.replications > 1 ? "a replication has no such figure"
                                       : "one replication, too short for batch means: set run.replications");
    one.count("replications", result.replications);
    s.set(name, one);
  }
  return s;
}

Json header() {
  return {{"schema_version", kSchemaVersion}, {"kvsim_version", kvsim_version()}};
}

Json documents(const std::vector<Outcome>& outcomes, bool timing) {
  Json list = Json::array();
  for (const Outcome& outcome : outcomes) list.push_back(result_document(outcome, timing));
  return list;
}

}  // namespace

std::string_view kvsim_version() {
  return KVSIM_VERSION;
}

double output_tokens_per_s(const ExperimentResult& result) {
  const Measurements& m = result.measured;
  return m.measured_s > 0 ? static_cast<double>(m.output_tokens) / m.measured_s : 0;
}

std::optional<double> speedup(const ExperimentResult& result, const ExperimentResult& baseline) {
  const double base = output_tokens_per_s(baseline);
  if (base <= 0) return std::nullopt;
  return output_tokens_per_s(result) / base;
}

namespace {

/// The fixed keys; why some of them are null goes to `reasons`.
Section fixed_keys(const Outcome& outcome, bool timing, Json& reasons) {
  const Scenario& scenario = outcome.scenario;
  const ExperimentResult& result = outcome.result;
  const Measurements& m = result.measured;
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("scenario", scenario.name).count("seed", scenario.serving.run.seed);
  doc.set("requests", requests(doc.child("requests"), m));
  doc.set("throughput", throughput(doc.child("throughput"), scenario, m));
  doc.set("latency_s", latency(doc.child("latency_s"), m));
  doc.set("slo", objectives(doc.child("slo"), m));
  doc.set("speculation", speculation(doc.child("speculation"), scenario, m));
  add_drafter(doc, outcome);
  doc.set("quality", quality(doc.child("quality"), scenario, m));
  doc.set("gpu", gpu(doc.child("gpu"), m));
  doc.set("links", links(doc.child("links"), m));
  doc.set("tiers", tiers(doc.child("tiers"), m));
  add_pools(doc, outcome);
  add_fetch(doc, outcome);
  add_placement(doc, outcome);
  add_reuse(doc, outcome);
  doc.set("iterations", iterations(doc.child("iterations"), m));
  doc.set("engine", engine_speed(doc.child("engine"), result, timing));
  doc.set("confidence", confidence(doc.child("confidence"), result));
  return doc;
}

}  // namespace

Json figures_document(const Outcome& outcome) {
  Json reasons = Json::object();
  return fixed_keys(outcome, false, reasons).take();
}

Json result_document(const Outcome& outcome, bool timing) {
  Json reasons = Json::object();
  Section doc = fixed_keys(outcome, timing, reasons);
  const planner::ExperimentResult& result = outcome.result;
  if (result.timeline.period_s > 0) doc.set("timeline", timeline_json(result.timeline, outcome.scenario));
  Json details = details_section(doc.child("details"), outcome, timing).take();
  details["reasons"] = reasons;  // last: by now it holds them all
  doc.set("details", std::move(details));
  return doc.take();
}

Json results_document(const std::vector<Outcome>& outcomes, bool timing) {
  Json doc = header();
  doc["results"] = documents(outcomes, timing);
  return doc;
}

Json timing_document(const std::vector<Outcome>& outcomes) {
  Json doc = header();
  Json list = Json::array();
  for (const Outcome& o : outcomes) {
    Json reasons = Json::object();
    Section one("", reasons);
    one.set("scenario", o.scenario.name);
    if (!o.policy.empty()) one.set("policy", o.policy);
    add_speed(one, o.result, true);
    list.push_back(one.take());
  }
  doc["timing"] = std::move(list);
  return doc;
}

}  // namespace kvsim::results
