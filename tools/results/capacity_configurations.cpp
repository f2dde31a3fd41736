// Configurations of a capacity plan in its document: a row of fields each.
#include <cmath>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/capacity.h"
#include "tools/results/documents.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::Configuration;
using planner::capacity::Probe;
using planner::capacity::TierFill;
using planner::capacity::TierSize;
using planner::capacity::TierUse;

constexpr std::string_view kNoRate = "no rate meets the objectives";

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

}  // namespace

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

}  // namespace kvsim::results
