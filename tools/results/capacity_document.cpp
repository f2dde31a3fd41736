#include <set>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/capacity.h"
#include "tools/results/documents.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Probe;
using planner::capacity::TierFill;
using planner::capacity::TierSize;
using planner::capacity::TierUse;

const Fields<serving::SloConfig>& objective_fields() {
  static const Fields<serving::SloConfig> fields = [] {
    Fields<serving::SloConfig> all;
    for (const serving::SloMetricEntry& entry : serving::kSloMetrics) {
      for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
        all.push_back({serving::slo_key(entry.metric, p) + "_s?",
                       {kSeconds, entry.description},
                       [m = static_cast<std::size_t>(entry.metric), p](const serving::SloConfig& slo) {
                         return slo.limits_s[m][p];
                       }});
      }
    }
    return all;
  }();
  return fields;
}

struct NextRow {
  planner::capacity::NextCheaper next;
  std::int64_t configuration = 0;
};

const Fields<NextRow>& next_fields() {
  static const Fields<NextRow> fields{
      {"configuration", {kCount, "place in configurations of what costs less, from 0"}, &NextRow::configuration},
      {"replicas", {kCount, "replicas of what costs less"}, [](const NextRow& r) { return r.next.replicas; }},
      {"usd_per_hour",
       {kDollarsPerHour, kLower, "what an hour of them costs"},
       [](const NextRow& r) { return r.next.usd_per_hour; }},
      {"rate",
       {kRequestsPerS, kHigher, "the rate that they sustain; 0 where none is known"},
       [](const NextRow& r) { return r.next.rate; }},
      {"why", {kText, "what they miss"}, [](const NextRow& r) { return r.next.why; }}};
  return fields;
}

/// Null where nothing that was simulated costs less.
std::optional<NextRow> next_row(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  const auto next = plan.ranked_by_price ? planner::capacity::next_cheaper(plan) : std::nullopt;
  if (!next) return std::nullopt;
  return NextRow{*next, next->configuration - plan.configurations.data()};
}

}  // namespace

std::vector<PriceRow> capacity_prices(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  std::vector<PriceRow> rows;
  std::set<std::string> machines;
  for (const Configuration& c : plan.configurations) {
    if (!machines.insert(c.machine).second) continue;
    for (PriceRow& row : machine_prices(c.scenario.serving.cluster, plan.request.prices))
      rows.push_back(std::move(row));
  }
  if (prices_memory(outcome)) rows.push_back({"dram", kPerGbMonth, plan.request.prices.dram});
  if (outcome.hit_rates || with_placement(plan)) rows.push_back({"ssd", kPerGbMonth, plan.request.prices.ssd});
  return rows;
}

namespace {

Json capacity_details(const CapacityOutcome& outcome) {
  Json details = Json::object();
  for (const auto& [word, sentence] : capacity_definitions(outcome)) details[word] = sentence;
  const scenario::Scenario& scenario = outcome.plan.configurations.front().scenario;
  details["assumptions"] = scenario.assumptions;
  if (!scenario.remarks.empty()) details["remarks"] = scenario.remarks;
  return details;
}

const scenario::Scenario& sized_scenario(const CapacityOutcome& outcome) {
  return outcome.plan.configurations.front().scenario;
}

/// Fields before next_cheaper, which is there where sizes are compared.
const Fields<CapacityOutcome>& decision_fields() {
  using Of = Field<CapacityOutcome>;
  static const Fields<CapacityPlan> cheapest_fields{
      {"machine",
       {kText, "machine of the first configuration"},
       [](const CapacityPlan& p) { return p.configurations.front().machine; }},
      {"tensor_parallel",
       {kCount, "GPUs of a replica that compute together"},
       [](const CapacityPlan& p) { return p.configurations.front().tensor_parallel; }},
      {"policy",
       {kText, "decode policy of the first configuration"},
       [](const CapacityPlan& p) { return p.configurations.front().policy; }},
      {"by_price", {kTruth, "whether the order is by price; else a price is missing"}, &CapacityPlan::ranked_by_price}};
  static const Fields<CapacityOutcome> fields{
      {"scenario", {kText, "name of the scenario"}, [](const CapacityOutcome& o) { return sized_scenario(o).name; }},
      {"seed",
       {kCount, "seed of the random numbers"},
       [](const CapacityOutcome& o) { return sized_scenario(o).serving.run.seed; }},
      Of::part(
          "slo", "the objectives; attainment_target says for which share of requests, else their percentiles",
          [](const CapacityOutcome& o) { return sized_scenario(o).serving.slo; }, objective_fields()),
      {"attainment_target",
       {kShare, "share of requests that must meet every objective"},
       [](const CapacityOutcome& o) {
         const auto demands = planner::capacity::demands_of(sized_scenario(o).serving.slo, o.plan.request.probe);
         return demands.size() == 1 ? std::optional(demands.front().share) : std::nullopt;
       },
       "objectives of several percentiles: each asks for the share that it names"},
      {"confidence",
       {kShare, "confidence with which the attainment is at the target or above"},
       [](const CapacityOutcome& o) { return o.plan.request.probe.confidence; }},
      {"load",
       {kText, "what rates are of: requests/s, sessions/s, or users of a closed loop"},
       [](const CapacityOutcome& o) { return std::string(planner::capacity::words_of(capacity_load(o.plan))); }},
      {"rate_required?",
       {kRequestsPerS, "the rate that a fleet has to serve, of what `load` says"},
       [](const CapacityOutcome& o) { return o.plan.request.rate; }},
      {"requests_per_s_required?",
       {kRequestsPerS, "requests/s that the required rate of sessions brings: times the requests of a mean session"},
       [](const CapacityOutcome& o) {
         return o.plan.request.rate ? requests_of_sessions(sized_scenario(o), *o.plan.request.rate) : std::nullopt;
       }},
      {"router",
       {kText, "how requests are spread over the replicas of a fleet"},
       [](const CapacityOutcome& o) { return sized_scenario(o).serving.cluster.router; }},
      {"interrupted?",
       {kCount, "configurations that were not done when the search was interrupted; any of them may be better"},
       [](const CapacityOutcome& o) { return o.plan.stopped > 0 ? std::optional(o.plan.stopped) : std::nullopt; }},
      configurations_field(),
      Of::part("cheapest", "the first of the configurations", &CapacityOutcome::plan, cheapest_fields),
      Of::values("fallbacks[]", {kText, "figures that had to be replaced, with the configurations that they are of"},
                 [](const CapacityOutcome& o) { return Json(named_fallbacks(o.plan)); }),
      {"cheaper_with_model_error?",
       {kText,
        "which fleet is the cheapest one that suffices in spite of the model's error, where it is not the first"},
       [](const CapacityOutcome& o) {
         const std::string words = cheaper_with_model_error(o.plan);
         return words.empty() ? std::nullopt : std::optional(words);
       }}};
  return fields;
}

/// Where sizes are compared.
Field<CapacityOutcome> next_field() {
  return Field<CapacityOutcome>::part("next_cheaper", "what costs less and meets the objectives less far", next_row,
                                      next_fields());
}

/// Fields behind it.
const Fields<CapacityOutcome>& basis_fields() {
  using Of = Field<CapacityOutcome>;
  static const Fields<CapacityOutcome> all = [] {
    Of details = Of::values("details.*", {kText, "what the word means here"}, capacity_details);
    details.inner.push_back({"details.assumptions[]", {kText, "what the scenario takes for granted"}});
    details.inner.push_back({"details.remarks[]", {kText, "keys of the scenario that nothing reads"}, true});
    const auto options = [](const CapacityOutcome& o) {
      return o.hit_rates ? std::optional(cache_options_of(*o.hit_rates, o.plan.request.prices)) : std::nullopt;
    };
    return Fields<CapacityOutcome>{
        Of::part("hit_rate_curve?", "hits of a prefix cache for the trace against its capacity, under LRU",
                 &CapacityOutcome::hit_rates, hit_rate_fields()),
        Of::list("prefix_cache?", "prefix caches for all of the traffic and what they cost", options,
                 cache_option_fields()),
        Of::list("prices", "prices behind the costs", capacity_prices, price_fields()),
        {"resolved_scenario",
         {kText, "the scenario with every default written out, as YAML"},
         &CapacityOutcome::resolved},
        std::move(details)};
  }();
  return all;
}

}  // namespace

Json capacity_document(const CapacityOutcome& outcome) {
  Json reasons = Json::object();
  Section s = filled(document_head(reasons), decision_fields(), outcome);
  if (!outcome.plan.request.sizes.empty()) s = filled(std::move(s), Fields<CapacityOutcome>{next_field()}, outcome);
  Json document = filled(std::move(s), basis_fields(), outcome).take();
  document["details"]["reasons"] = std::move(reasons);
  return document;
}

KeyList capacity_keys() {
  Fields<CapacityOutcome> fields = decision_fields();
  fields.push_back(next_field());
  fields.back().optional = true;
  append(fields, basis_fields());
  return document_keys(keys_of(fields));
}

}  // namespace kvsim::results
