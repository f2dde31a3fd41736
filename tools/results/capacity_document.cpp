#include "tools/results/capacity_document.h"

#include <set>

#include "tools/results/capacity_tiers.h"
#include "tools/results/lossless.h"
#include "tools/results/prefix_cache_page.h"
#include "tools/results/prices.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::Probe;

constexpr std::string_view kNoRate = "no rate meets the objectives";
constexpr std::string_view kNoPrice = "the price table has no price for this GPU: give one with --prices";

Section& maybe(Section& s, std::string_view key, const std::optional<double>& value, std::string_view reason) {
  return value ? s.number(key, *value, reason) : s.missing(key, reason);
}

Json objectives(const serving::SloConfig& slo) {
  Json o = Json::object();
  if (slo.ttft_s) o["ttft_p99_s"] = *slo.ttft_s;
  if (slo.tpot_s) o["tpot_p99_s"] = *slo.tpot_s;
  if (slo.itl_s) o["itl_p99_s"] = *slo.itl_s;
  if (slo.e2e_s) o["e2e_p99_s"] = *slo.e2e_s;
  return o;
}

constexpr std::string_view kProbeFinishedNothing = "no request finished";
constexpr std::string_view kProbeNoTpot = "no request of two or more tokens finished";

/// Latencies, and tokens of one replica.
void add_figures(Section& s, const Probe& p, double replicas) {
  s.number("tokens_per_s", p.tokens_per_s / replicas, "no time was measured");
  s.number("ttft_p99_s", p.ttft_p99_s, kProbeFinishedNothing);
  s.number("tpot_p99_s", p.tpot_p99_s, kProbeNoTpot);
}

Section probe_section(Section s, const Probe& p, double replicas) {
  const bool search = p.stage == planner::capacity::Stage::search;
  s.set("stage", search ? "search" : "confirmation").set("rate", p.rate);
  s.set("attainment", p.attainment.share).set("lower", p.attainment.lower).set("passes", p.passes);
  s.count("requests", p.attainment.requests).count("misses", p.attainment.misses).set("given_up", p.given_up);
  add_figures(s, p, replicas);
  return s;
}

Section fleet_section(Section s, const Fleet& f, bool placement) {
  s.count("replicas", f.replicas).count("gpus", f.gpus).number("dram_gb", f.dram_gb, "");
  if (placement) {
    s.number("ssd_gb", f.ssd_gb, "");
  } else {
    s.missing("ssd_gb", "no storage tier is simulated: KV lives in GPU and host memory");
  }
  maybe(s, "usd_per_hour", f.cost.total(), kNoPrice);
  maybe(s, "usd_per_1m_output_tokens", f.usd_per_million, kNoPrice);
  s.set("n_minus_1", f.n_minus_1);
  s.count("replicas_needed", f.needed).number("headroom", f.headroom, "").number("tokens_per_s", f.tokens_per_s, "");
  maybe(s, "usd_per_hour_gpus", f.cost.gpus, kNoPrice);
  s.number("usd_per_hour_dram", f.cost.host_memory, "");
  if (placement) s.number("usd_per_hour_ssd", f.cost.storage, "");
  s.set("simulated", f.probe.has_value());
  constexpr std::string_view estimated = "estimated from one replica: too many to simulate";
  if (f.probe) {
    s.number("attainment", f.probe->attainment.share, estimated)
        .number("attainment_lower", f.probe->attainment.lower, estimated);
  } else {
    s.missing("attainment", estimated).missing("attainment_lower", estimated);
  }
  return s;
}

void add_sustained(Section& s, const Configuration& c) {
  const Probe* best = c.sustained();
  const std::string_view reason = c.problem.empty() ? kNoRate : std::string_view(c.problem);
  if (!best) {
    for (const char* key : {"rate_per_replica", "rate_per_gpu", "attainment", "attainment_lower", "tokens_per_s",
                            "ttft_p99_s", "tpot_p99_s"}) {
      s.missing(key, reason);
    }
    return;
  }
  const auto replicas = static_cast<double>(c.scenario.serving.cluster.replicas);
  s.number("rate_per_replica", c.rate_per_replica(), reason);
  s.number("rate_per_gpu", c.rate_per_replica() / static_cast<double>(c.gpus_per_replica()), reason);
  s.number("attainment", best->attainment.share, reason).number("attainment_lower", best->attainment.lower, reason);
  add_figures(s, *best, replicas);
}

Section configuration_section(Section s, const Configuration& c) {
  s.set("machine", c.machine).count("tensor_parallel", c.tensor_parallel).set("policy", c.policy);
  const std::int64_t scorers = c.scenario.serving.cluster.scorer_gpus;
  if (scorers > 0) s.count("scorer_gpus", scorers);
  add_sustained(s, c);
  const auto limit = c.limited_by();
  if (limit) {
    s.set("limited_by", planner::capacity::word_of(*limit));
  } else {
    s.missing("limited_by", c.problem.empty() ? "no probed rate fails" : c.problem);
  }
  Json probes = Json::array();
  const auto replicas = static_cast<double>(c.scenario.serving.cluster.replicas);
  for (std::size_t i = 0; i < c.probes.size(); ++i) {
    const Section probe = s.child("probes." + std::to_string(i));
    probes.push_back(probe_section(probe, c.probes[i], replicas).take());
  }
  s.set("probes", std::move(probes));
  s.set("monotone", c.search.monotone);
  s.set("lossless", lossless(c.scenario));
  s.set("fallbacks", c.fallbacks());
  if (const Probe* best = c.sustained()) {
    s.set("bound_by", Json{{"hbm_bandwidth", best->bound_by.hbm_bandwidth},
                           {"compute", best->bound_by.compute},
                           {"link", best->bound_by.link},
                           {"idle", best->bound_by.idle}});
    s.count("host_memory_peak_bytes", best->host_peak_bytes).number("dram_gb", c.dram_gb, "");
    maybe(s, "usd_per_hour", c.cost.total(), kNoPrice);
    maybe(s, "usd_per_1m_output_tokens", c.usd_per_million, kNoPrice);
    s.set("run", Json{{"warmup_s", best->length.warmup_s}, {"judged_s", best->length.judged_s}});
  }
  s.set("tensor_parallel_chosen", planner::capacity::words_of(c.placement));
  if (!c.problem.empty()) s.set("cannot_run", c.problem);
  const bool placement = c.scenario.serving.placement.has_value();
  if (placement) add_tiers(s, c);
  if (c.fleet) s.set("fleet", fleet_section(s.child("fleet"), *c.fleet, placement));
  return s;
}

Json prices_json(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  Json list = Json::array();
  std::set<std::string> machines;
  for (const Configuration& c : plan.configurations) {
    if (!machines.insert(c.machine).second) continue;
    if (const models::Price* p = plan.request.prices.gpu(c.machine)) {
      list.push_back(price_json(c.machine, kPerGpuHour, *p));
    }
  }
  list.push_back(price_json("dram", kPerGbMonth, plan.request.prices.dram));
  if (outcome.hit_rates || with_placement(plan))
    list.push_back(price_json("ssd", kPerGbMonth, plan.request.prices.ssd));
  return list;
}

}  // namespace

Json capacity_document(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  const Configuration& first = plan.configurations.front();
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("scenario", first.scenario.name).count("seed", first.scenario.serving.run.seed);
  doc.set("slo", objectives(first.scenario.serving.slo));
  doc.set("attainment_target", plan.request.probe.target).set("confidence", plan.request.probe.confidence);
  if (plan.request.rate) doc.set("rate_required", *plan.request.rate);
  Json list = Json::array();
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Section s("configurations." + std::to_string(i), reasons);
    list.push_back(configuration_section(s, plan.configurations[i]).take());
  }
  doc.set("configurations", std::move(list));
  doc.set("cheapest", Json{{"machine", first.machine},
                           {"tensor_parallel", first.tensor_parallel},
                           {"policy", first.policy},
                           {"by_price", plan.ranked_by_price}});
  if (!plan.request.sizes.empty()) doc.set("next_cheaper", next_cheaper_json(plan));
  if (outcome.hit_rates) {
    doc.set("hit_rate_curve", hit_rate_json(*outcome.hit_rates));
    doc.set("prefix_cache", cache_options_json(cache_options_of(*outcome.hit_rates, plan.request.prices)));
  }
  doc.set("prices", prices_json(outcome));
  doc.set("resolved_scenario", outcome.resolved);
  Json details = Json::object();
  for (const auto& [word, sentence] : capacity_definitions(outcome)) details[word] = sentence;
  details["assumptions"] = first.scenario.assumptions;
  details["reasons"] = reasons;
  doc.set("details", std::move(details));
  return doc.take();
}

}  // namespace kvsim::results
