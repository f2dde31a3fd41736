#include <set>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/capacity_parts.h"
#include "tools/results/prices.h"
#include "tools/results/result_document.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Probe;
using planner::capacity::TierFill;
using planner::capacity::TierSize;
using planner::capacity::TierUse;

constexpr std::string_view kNoRate = "no rate meets the objectives";

Json objectives(const serving::SloConfig& slo) {
  Json o = Json::object();
  if (slo.ttft_s) o["ttft_p99_s"] = *slo.ttft_s;
  if (slo.tpot_s) o["tpot_p99_s"] = *slo.tpot_s;
  if (slo.itl_s) o["itl_p99_s"] = *slo.itl_s;
  if (slo.e2e_s) o["e2e_p99_s"] = *slo.e2e_s;
  return o;
}

Section probe_section(Section s, const Probe& p, double replicas) {
  const bool search = p.stage == planner::capacity::Stage::search;
  s.set("stage", search ? "search" : "confirmation").set("rate", p.rate);
  s.set("attainment", p.attainment.share).set("lower", p.attainment.lower).set("passes", p.passes);
  s.count("requests", p.attainment.requests).count("misses", p.attainment.misses).set("given_up", p.given_up);
  s.number("tokens_per_s", p.tokens_per_s / replicas, "no time was measured");
  s.number("ttft_p99_s", p.ttft_p99_s, kProbeFinishedNothing).number("tpot_p99_s", p.tpot_p99_s, kProbeNoTpot);
  return s;
}

/// Sizes, tiers, mean TTFT, quality and the parts of the price.
void add_tiers(Section& s, const Configuration& c) {
  Json sizes = Json::object();
  for (const TierSize& t : c.sizes) sizes[t.tier] = t.bytes;
  s.set("sizes_bytes", std::move(sizes));
  const Probe* p = c.sustained();
  if (!p) {
    for (const char* key :
         {"ttft_mean_s", "mean_quality", "ssd_gb", "usd_per_hour_dram", "usd_per_hour_ssd", "tiers"}) {
      s.missing(key, c.problem.empty() ? kNoRate : std::string_view(c.problem));
    }
    return;
  }
  s.number("ttft_mean_s", p->ttft_mean_s, kProbeFinishedNothing);
  if (p->quality) {
    s.number("mean_quality", *p->quality, kNoRate);
  } else {
    s.missing("mean_quality", kProbeFinishedNothing);
  }
  s.number("ssd_gb", c.ssd_gb, "");
  s.number("usd_per_hour_dram", c.cost.host_memory, "").number("usd_per_hour_ssd", c.cost.storage, "");
  Json tiers = Json::array();
  for (const TierFill& f : c.fills) {
    const auto use = p->tiers.find(f.tier);
    const TierUse found = use == p->tiers.end() ? TierUse{} : use->second;
    Json tier{{"name", f.tier}, {"capacity_bytes", nullptr}, {"priced", f.capacity_bytes.has_value()}};
    if (f.capacity_bytes) tier["capacity_bytes"] = *f.capacity_bytes;
    tier["hits"] = found.hits;
    tier["lookups"] = found.lookups;
    tier["hit_rate"] = found.hit_rate();
    tier["bytes_after_warmup"] = f.after_warmup_bytes;
    tier["bytes_at_end"] = f.at_end_bytes;
    tier["still_filling"] = f.filling();
    tiers.push_back(std::move(tier));
  }
  s.set("tiers", std::move(tiers));
}

Section configuration_section(Section s, const Configuration& c) {
  s.set("machine", c.machine).count("tensor_parallel", c.tensor_parallel).set("policy", c.policy);
  const std::int64_t scorers = c.scenario.serving.cluster.scorer_gpus;
  if (scorers > 0) s.count("scorer_gpus", scorers);
  const std::string_view none = c.problem.empty() ? kNoRate : std::string_view(c.problem);
  s = filled(std::move(s), rate_fields(), c, c.sustained() ? std::string_view() : none);
  const auto limit = c.limited_by();
  if (limit) {
    s.set("limited_by", planner::capacity::word_of(*limit));
  } else {
    s.missing("limited_by", c.problem.empty() ? "no probed rate fails" : c.problem);
  }
  Json probes = Json::array();
  for (std::size_t i = 0; i < c.probes.size(); ++i) {
    const Section probe = s.child("probes." + std::to_string(i));
    probes.push_back(
        probe_section(probe, c.probes[i], static_cast<double>(c.scenario.serving.cluster.replicas)).take());
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
    s.number("usd_per_hour", c.cost.total().value_or(kNone), kNoPrice);
    s.number("usd_per_1m_output_tokens", c.usd_per_million.value_or(kNone), kNoPrice);
    s.set("run", Json{{"warmup_s", best->length.warmup_s}, {"judged_s", best->length.judged_s}});
  }
  s.set("tensor_parallel_chosen", planner::capacity::words_of(c.placement));
  if (!c.problem.empty()) s.set("cannot_run", c.problem);
  const bool placement = c.scenario.serving.placement.has_value();
  if (placement) add_tiers(s, c);
  if (c.fleet) s.set("fleet", filled(s.child("fleet"), fleet_fields(placement), *c.fleet));
  return s;
}

Json next_cheaper_json(const CapacityPlan& plan) {
  const auto next = plan.ranked_by_price ? planner::capacity::next_cheaper(plan) : std::nullopt;
  if (!next) return nullptr;
  return {{"configuration", next->configuration - plan.configurations.data()},
          {"replicas", next->replicas},
          {"usd_per_hour", next->usd_per_hour},
          {"rate", next->rate},
          {"why", next->why}};
}

Json prices_json(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  Json list = Json::array();
  std::set<std::string> machines;
  for (const Configuration& c : plan.configurations) {
    if (!machines.insert(c.machine).second) continue;
    if (const models::Price* p = plan.request.prices.gpu(c.machine)) {
      list.push_back(object(price_fields(), {c.machine, kPerGpuHour, *p}));
    }
  }
  list.push_back(object(price_fields(), {"dram", kPerGbMonth, plan.request.prices.dram}));
  if (outcome.hit_rates || with_placement(plan))
    list.push_back(object(price_fields(), {"ssd", kPerGbMonth, plan.request.prices.ssd}));
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
