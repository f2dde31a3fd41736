#include <cmath>
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

constexpr std::string_view kNoRate = "no rate meets the objectives";

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

const Fields<planner::capacity::JudgedDemand>& demand_fields() {
  using planner::capacity::JudgedDemand;
  static const Fields<JudgedDemand> fields{
      {"percentile?",
       {kText, "the percentile whose limits count, such as p95; not there: all limits at once"},
       [](const JudgedDemand& d) {
         return d.demand.percentile ? std::optional(serving::percentile_name(*d.demand.percentile)) : std::nullopt;
       }},
      {"share", {kShare, "share of requests that is asked for"}, [](const JudgedDemand& d) { return d.demand.share; }},
      {"attainment",
       {kShare, kHigher, "share of judged requests that met them"},
       [](const JudgedDemand& d) { return d.attainment.share; }},
      {"attainment_lower", {kShare, kHigher, "one-sided lower confidence bound of it"}, [](const JudgedDemand& d) {
         return d.attainment.lower;
       }}};
  return fields;
}

/// The percentile of each objective in a run, by its key.
Json limited_times(const Configuration& c, const Probe& probe) {
  Json times = Json::object();
  const std::vector<serving::SloObjective> objectives = c.scenario.serving.slo.objectives();
  for (std::size_t i = 0; i < objectives.size(); ++i) {
    const double seconds = i < probe.limited_s.size() ? probe.limited_s[i] : kNone;
    const std::string key = serving::slo_key(objectives[i].metric, objectives[i].percentile);
    times[key] = std::isfinite(seconds) ? Json(seconds) : Json(nullptr);
  }
  return times;
}

struct ProbeRow {
  const Probe* probe = nullptr;
  const Configuration* of = nullptr;

  [[nodiscard]] double replicas() const { return static_cast<double>(of->scenario.serving.cluster.replicas()); }
};

template <class Get>
auto of_probe(Get get) {
  return [get](const ProbeRow& row) { return std::invoke(get, *row.probe); };
}

std::vector<ProbeRow> probes_of(const Configuration& c) {
  std::vector<ProbeRow> rows;
  for (const Probe& p : c.probes) rows.push_back({&p, &c});
  return rows;
}

const Fields<ProbeRow>& probe_fields() {
  static const Fields<ProbeRow> fields{
      {"stage",
       {kText, "search: a short run that looks for the rate; confirmation: a long one with fresh seeds"},
       of_probe(
           [](const Probe& p) { return p.stage == planner::capacity::Stage::search ? "search" : "confirmation"; })},
      {"rate", {kRequestsPerS, "arrivals at all replicas together"}, of_probe(&Probe::rate)},
      {"attainment",
       {kShare, kHigher, "share of judged requests that met every objective"},
       of_probe([](const Probe& p) { return p.attainment.share; })},
      {"lower", {kShare, kHigher, "one-sided lower confidence bound of the attainment"}, of_probe([](const Probe& p) {
         return p.attainment.lower;
       })},
      {"passes",
       {kTruth, "whether that bound is at the target or above, and the system keeps up with the rate"},
       of_probe(&Probe::passes)},
      {"unsteady_state?",
       {kText, "why the system does not keep up with the rate; there where something speaks against it"},
       of_probe([](const Probe& p) { return p.unsteady.empty() ? std::nullopt : std::optional(p.unsteady); })},
      {"requests", {kRequests, "judged requests"}, of_probe([](const Probe& p) { return p.attainment.requests; })},
      {"misses", {kRequests, kLower, "judged requests that missed an objective"}, of_probe([](const Probe& p) {
         return p.attainment.misses;
       })},
      {"given_up",
       {kTruth, "whether it ended as the target was out of reach, or too many requests were in the system"},
       of_probe(&Probe::given_up)},
      {"tokens_per_s",
       {kTokensPerS, kHigher, "output tokens of one replica"},
       [](const ProbeRow& row) { return row.probe->tokens_per_s / row.replicas(); },
       "no time was measured"},
      {"ttft_p99_s",
       {kSeconds, kLower, "99th percentile of the time to the first token"},
       of_probe(&Probe::ttft_p99_s),
       kProbeFinishedNothing},
      {"tpot_p99_s",
       {kSeconds, kLower, "99th percentile of the time per output token"},
       of_probe(&Probe::tpot_p99_s),
       kProbeNoTpot},
      Field<ProbeRow>::values("measured_s.*",
                              {kSeconds, kLower,
                               "of finished requests the percentile that an objective limits; itl: of each one's "
                               "largest gap"},
                              [](const ProbeRow& row) { return limited_times(*row.of, *row.probe); })};
  return fields;
}

/// A tier of a configuration and its use at the sustained rate.
struct TierAtRate {
  TierFill fill;
  TierUse use;
};

std::optional<std::vector<TierAtRate>> tiers_of(const Configuration& c) {
  const Probe* p = c.sustained();
  if (p == nullptr) return std::nullopt;
  std::vector<TierAtRate> rows;
  for (const TierFill& f : c.fills) {
    const auto use = p->tiers.find(f.tier);
    rows.push_back({f, use == p->tiers.end() ? TierUse{} : use->second});
  }
  return rows;
}

const Fields<TierAtRate>& tier_fields() {
  static const Fields<TierAtRate> fields{
      {"name", {kText, "name of the tier"}, [](const TierAtRate& t) { return t.fill.tier; }},
      {"capacity_bytes",
       {kBytes, "capacity of the tier; null where everything has room"},
       [](const TierAtRate& t) { return t.fill.capacity_bytes; }},
      {"priced",
       {kTruth, "whether it is in the price: it has a capacity"},
       [](const TierAtRate& t) { return t.fill.capacity_bytes.has_value(); }},
      {"hits",
       {kCount, kHigher, "objects of prompts (contexts, blocks or chunks) that it held and that were loaded"},
       [](const TierAtRate& t) { return t.use.hits; }},
      {"lookups",
       {kCount, "objects of prompts that were looked for"},
       [](const TierAtRate& t) { return t.use.lookups; }},
      {"hit_rate",
       {kShare, kHigher, "share of the objects looked for that it held"},
       [](const TierAtRate& t) { return t.use.hit_rate(); }},
      {"bytes_after_warmup",
       {kBytes, "what it held when judging began"},
       [](const TierAtRate& t) { return t.fill.after_warmup_bytes; }},
      {"bytes_at_end",
       {kBytes, "what it held when the first run ended"},
       [](const TierAtRate& t) { return t.fill.at_end_bytes; }},
      {"still_filling",
       {kTruth, "whether it had never been full and went on growing while it was judged"},
       [](const TierAtRate& t) { return t.fill.filling(); }}};
  return fields;
}

Json varied_sizes(const Configuration& c) {
  Json sizes = Json::object();
  for (const TierSize& t : c.sizes) sizes[t.tier] = t.bytes;
  return sizes;
}

/// Fields of a configuration that are there together.
struct ConfigurationPart {
  Fields<Configuration> fields;
  bool (*there)(const Configuration&) = nullptr;  ///< none: always
  bool at_rate = false;                           ///< null where no rate passes
};

bool sustains(const Configuration& c) {
  return c.sustained() != nullptr;
}

std::vector<ConfigurationPart> configuration_parts() {
  using Of = Field<Configuration>;
  using planner::capacity::RunLength;
  const Fields<RunLength> run_fields{
      {"warmup_s", {kSeconds, "simulated time that is not judged"}, &RunLength::warmup_s},
      {"judged_s", {kSeconds, "simulated time whose arrivals are judged"}, &RunLength::judged_s}};
  const auto limit = [](const Configuration& c) -> std::optional<std::string_view> {
    const std::string_view word = c.limited_by();
    return word.empty() ? std::nullopt : std::optional(word);
  };
  const auto scorers = [](const Configuration& c) {
    const std::int64_t gpus = c.scenario.serving.cluster.uniform().scorer_gpus;
    return gpus > 0 ? std::optional(gpus) : std::nullopt;
  };
  return {
      {{{"machine", {kText, "GPU of the replica, a name in the catalogue"}, &Configuration::machine},
        {"tensor_parallel", {kCount, "GPUs of a replica that compute together"}, &Configuration::tensor_parallel},
        {"policy", {kText, "decode policy"}, &Configuration::policy},
        {"scorer_gpus?", {kCount, "GPUs of a replica that only score chunks"}, scorers}}},
      {rate_fields(), nullptr, true},
      {{{"limited_by",
         {kText,
          "what most of the requests that miss do miss at the lowest rate that fails; queue: they meet the "
          "objectives there, and more come than are served"},
         limit,
         "no probed rate fails"},
        Of::list("probes", "rates that were simulated, in order", probes_of, probe_fields()),
        {"monotone",
         {kTruth, "whether no probed rate above one that fails passes"},
         [](const Configuration& c) { return c.search.monotone; }},
        {"lossless",
         {kTruth, "whether its output is that of full-KV decoding"},
         [](const Configuration& c) { return lossless(c.scenario); }},
        {"output_differs?",
         {kText, "how its output differs from that of full-KV decoding, in words; there where it does"},
         [](const Configuration& c) {
           const std::string words = output_differs(c);
           return words.empty() ? std::nullopt : std::optional(words);
         }},
        {"least_functional?",
         {kPlain, kHigher,
          "functional correctness of its answers over that of full KV, the least that is known; left out: not known"},
         [](const Configuration& c) {
           const Probe* p = c.sustained();
           const double least = p != nullptr ? models::least_functional(p->functional) : kNone;
           return std::isfinite(least) ? std::optional(least) : std::nullopt;
         }},
        Of::values("fallbacks[]", {kText, "a figure that had to be replaced"}, &Configuration::fallbacks)}},
      {{Of::part(
            "bound_by", "what the time of the replicas went to; the shares add up to 1",
            [](const Configuration& c) { return &c.sustained()->bound_by; }, time_share_fields()),
        Of::part(
            "twice", "how much faster the same iterations would be with twice of each; null where that is not known",
            [](const Configuration& c) { return &c.sustained()->bound_by; }, time_gain_fields()),
        {"tokeniser_busy?",
         {kShare, "share of the time in which the thread that turns a replica's prompts into tokens was at work"},
         [](const Configuration& c) {
           return kTokenises.holds(c.scenario) ? std::optional(c.sustained()->tokeniser_busy) : std::nullopt;
         }},
        {"link_in_use",
         {kShare, "share of the time in which the busiest link carried transfers that no iteration waited for"},
         [](const Configuration& c) { return c.sustained()->bound_by.link_in_use; }},
        {"launched",
         {kShare, "share of the iterations that were launched kernel by kernel: more tokens than captured ones have"},
         [](const Configuration& c) { return c.sustained()->launched; }},
        Of::list(
            "demands", "shares of requests that are asked for, and what there is of them at that rate",
            [](const Configuration& c) { return c.sustained()->demands; }, demand_fields()),
        Of::values("measured_s.*",
                   {kSeconds, kLower,
                    "of finished requests the percentile that an objective limits; itl: of each one's largest gap"},
                   [](const Configuration& c) { return limited_times(c, *c.sustained()); }),
        {"rate_with_model_error",
         {kRequestsPerS, kHigher,
          "the rate (of what `load` says) that one replica sustains in spite of what "
          "backtests missed by"},
         [](const Configuration& c) { return c.rate_with_model_error(); }},
        {"model_error",
         {kText, "what the error of the model asks for, and of what no error is known, in words"},
         margin_sentence},
        {"host_memory_peak_bytes",
         {kBytes, "most host memory that one replica's KV had reserved"},
         [](const Configuration& c) { return c.sustained()->host_peak_bytes; }},
        {"dram_gb", {kGigabytes, "host memory that one replica is bought with"}, &Configuration::dram_gb},
        {"usd_per_hour",
         {kDollarsPerHour, kLower, "what an hour of one replica costs"},
         [](const Configuration& c) { return c.cost.total(); },
         kNoPrice},
        {"usd_per_1m_output_tokens",
         {kDollars, kLower, "what one million output tokens cost at that rate"},
         &Configuration::usd_per_million,
         kNoPrice},
        Of::part(
            "run", "how long each simulation at that rate was",
            [](const Configuration& c) { return &c.sustained()->length; }, run_fields)},
       sustains},
      {{{"tensor_parallel_chosen", {kText, "how the GPUs per replica were chosen"}, placement_words},
        {"cannot_run?",
         {kText, "why the scenario does not run there, or was not searched to the end"},
         [](const Configuration& c) { return c.problem.empty() ? std::nullopt : std::optional(c.problem); }},
        {"cannot_serve?",
         {kText, "that one replica sustains a rate, and no number of them the required one"},
         [](const Configuration& c) {
           return c.too_much ? std::optional(planner::capacity::too_much_words(c)) : std::nullopt;
         }}}},
      {{Of::values("sizes_bytes.*", {kBytes, "size of a tier that is varied"}, varied_sizes),
        {"ttft_mean_s",
         {kSeconds, kLower, "mean time to the first token at that rate"},
         at_rate([](const auto&, const Probe& p) { return p.ttft_mean_s; }),
         kProbeFinishedNothing},
        {"mean_quality",
         {kPlain, kHigher, "mean score of finished requests; 1 is that of full KV"},
         at_rate([](const auto&, const Probe& p) { return p.quality.value_or(kNone); }),
         kProbeFinishedNothing},
        {"ssd_gb",
         {kGigabytes, "storage to buy for one replica; its share of what replicas share"},
         at_rate([](const auto& c, const Probe&) { return c.ssd_gb; })},
        {"usd_per_hour_dram",
         {kDollarsPerHour, kLower, "what the host memory of one replica costs"},
         at_rate([](const auto& c, const Probe&) { return c.cost.host_memory; })},
        {"usd_per_hour_ssd",
         {kDollarsPerHour, kLower, "what the storage of one replica costs"},
         at_rate([](const auto& c, const Probe&) { return c.cost.storage; })},
        Of::list("tiers", "tiers in which prompts are stored, the nearest first", tiers_of, tier_fields())},
       [](const Configuration& c) { return c.scenario.serving.placement.has_value(); },
       true},
      {{Of::part(
            "fleet?", "the fewest replicas that serve the required rate",
            [](const Configuration& c) { return c.fleet ? &c : nullptr; }, fleet_fields(false)),
        {"no_fleet?", {kText, "why there is no fleet though a replica sustains a rate"}, [](const Configuration& c) {
           return c.no_fleet.empty() ? std::nullopt : std::optional(c.no_fleet);
         }}}}};
}

Json configurations_json(const Section& at, const CapacityOutcome& outcome) {
  static const std::vector<ConfigurationPart> parts = configuration_parts();
  Json list = Json::array();
  for (const Configuration& c : outcome.plan.configurations) {
    Section s = at.child(std::to_string(list.size()));
    for (const ConfigurationPart& part : parts) {
      if (part.there != nullptr && !part.there(c)) continue;
      const std::string_view none = part.at_rate && !sustains(c) ? kNoRate : std::string_view();
      s = filled(std::move(s), part.fields, c, c.problem.empty() ? none : std::string_view(c.problem));
    }
    list.push_back(s.take());
  }
  return list;
}

Field<CapacityOutcome> configurations_field() {
  Field<CapacityOutcome> field("configurations", {kObject, "machines under policies, the best first"},
                               [](const CapacityOutcome&) { return nullptr; });
  for (ConfigurationPart& part : configuration_parts()) {
    for (Field<Configuration>& f : part.fields) f.optional = f.optional || part.there != nullptr;
    const KeyList keys = below("configurations[]", keys_of(part.fields));
    field.inner.insert(field.inner.end(), keys.begin(), keys.end());
  }
  field.own_reasons = true;
  field.write = configurations_json;
  return field;
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

/// What stands before next_cheaper, which is there where sizes are compared.
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

/// What stands behind it.
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
