#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "tools/results/capacity.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::Probe;
using planner::capacity::TierFill;
using serving::Miss;

/// Heading of the requests/s that sessions bring.
constexpr std::string_view kRequests_s = "requests/s";

double replicas_of(const Configuration& c) {
  return static_cast<double>(c.scenario.serving.cluster.replicas());
}

Binding binding(const Configuration& c) {
  const Probe* p = c.sustained();
  return p != nullptr ? binding_of(p->bound_by, p->tokeniser_busy, false) : Binding{"-", "-"};
}

std::string limit_of(const Configuration& c) {
  if (!c.sustained() && !c.problem.empty()) return "left out";
  std::string limit(c.limited_by());
  for (const Miss objective : {Miss::ttft, Miss::tpot, Miss::itl, Miss::e2e}) {
    if (limit != planner::capacity::word_of(objective)) continue;
    for (char& letter : limit) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  }
  return limit.empty() ? "-" : limit;
}

std::string three_decimals(double value) {
  return fmt::format("{:.3f}", value);
}

/// A figure of the fleet.
template <class Get>
auto of_fleet(Get get) {
  return [get](const Configuration& c) { return std::invoke(get, *c.fleet); };
}

/// "≥ 99.98 %", rounded down: a bound must not grow by being printed.
std::string at_least(double share) {
  constexpr double kHundredths = 1e4;
  return fmt::format("≥ {:.2f} %", std::floor(share * kHundredths) / kHundredths * 100);
}

std::string headroom_text(double headroom) {
  constexpr double most_percent = 10;  // above it, it is printed as a factor of the required rate
  return headroom > most_percent ? factor(headroom + 1) : fmt::format("{:.0f} %", headroom * 100);
}

/// What names a configuration in tables: its machine and policy, or with tiers all that is varied.
Fields<Configuration> name_fields(const CapacityPlan& plan) {
  if (!with_placement(plan)) {
    return {{kOnPages, "machine", marked_machine, Align::left},
            {kOnPages, "policy", &Configuration::policy, Align::left}};
  }
  const auto name = [&plan, names = names_of(plan)](const Configuration& c) {
    return names[static_cast<std::size_t>(&c - plan.configurations.data())];
  };
  return {{kOnPages, "replica", name, Align::left}};
}

/// Behind the cheapest one; where a search was interrupted, of those that were done.
Field<Configuration> cheapest_field(const CapacityPlan& plan) {
  const Configuration* first = plan.ranked_by_price ? &plan.configurations.front() : nullptr;
  const char* word = plan.stopped > 0 ? "best so far" : "cheapest";
  return {kOnPages, "", [first, word](const Configuration& c) { return &c == first ? word : ""; }, Align::left};
}

/// Of those that sustain a rate.
Table sustained_table(std::string title, const Fields<Configuration>& fields, const CapacityPlan& plan) {
  Table t = empty_table(std::move(title), fields);
  for (const Configuration& c : plan.configurations) {
    if (c.sustained()) t.rows.push_back(cells(fields, c));
  }
  return t;
}

/// Returns the fields with the percentiles that objectives limit, each named after its objective, in place of the 99th.
Fields<Configuration> with_objectives(const Fields<Configuration>& fields, const serving::SloConfig& slo) {
  Fields<Configuration> all;
  for (const Field<Configuration>& field : fields) {
    const bool ttft = field.key == "ttft_p99_s", tpot = field.key == "tpot_p99_s";
    if (!ttft && !tpot) all.push_back(field);
    if (!ttft && !tpot) continue;
    for (const LatencyColumn& column : latency_columns(slo.objectives())) {
      if ((column.of.metric == serving::SloMetric::ttft) != ttft) continue;  // the others stand behind TPOT
      if (!column.limited && column.key + "_s" == field.key) all.push_back(field);
      if (!column.limited) continue;
      const auto limited = [i = column.objective](const auto&, const Probe& p) {
        return i < p.limited_s.size() ? p.limited_s[i] : kNone;
      };
      all.push_back({kOnPages, column.title, at_rate(limited), seconds});
    }
  }
  return all;
}

Table rate_table(const CapacityPlan& plan) {
  const bool placement = with_placement(plan);
  Fields<Configuration> fields = name_fields(plan);
  append(fields, placement ? without(rate_fields(), {"per GPU", "tokens/s", "bound by", "twice\nit"})
                           : without(rate_fields(), {"TTFT mean"}));
  if (placement && plan.ranked_by_price && !plan.request.rate && plan.configurations.size() > 1) {
    fields.push_back(cheapest_field(plan));
  }
  fields = with_objectives(fields, plan.configurations.front().scenario.serving.slo);
  const auto rate = std::find_if(fields.begin(), fields.end(),
                                 [](const Field<Configuration>& f) { return f.key == "rate_per_replica"; });
  if (const planner::capacity::Load load = capacity_load(plan); load != planner::capacity::Load::requests) {
    rate->header = std::string(planner::capacity::words_of(load));
  }
  if (capacity_load(plan) != planner::capacity::Load::sessions) fields = without(std::move(fields), {kRequests_s});
  return table_of("One replica", fields, plan.configurations);
}

Table memory_table(const CapacityPlan& plan) {
  const auto capacity = [](const Configuration& c) {
    return serving::kv_capacity(c.scenario.serving, c.scenario.serving.cluster.uniform());
  };
  const auto size = [](auto value) { return bytes(static_cast<double>(value)); };
  Fields<Configuration> fields = name_fields(plan);
  append(fields,
         {{kOnPages, "GPU KV capacity", [=](const Configuration& c) { return size(capacity(c).bytes); }},
          {kOnPages, "tokens", [=](const Configuration& c) { return capacity(c).tokens; }},
          {kOnPages, "host KV peak", [=](const Configuration& c) { return size(c.sustained()->host_peak_bytes); }},
          {kOnPages, "host memory bought", &Configuration::dram_gb, bytes_of_gb}});
  return sustained_table("Memory of one replica at its rate", fields, plan);
}

std::string filling_tiers(const Configuration& c) {
  std::vector<std::string> filling;
  for (const TierFill& f : c.fills) {
    if (f.filling()) filling.push_back(f.tier);
  }
  return filling.empty() ? "no" : fmt::format("{}", fmt::join(filling, ", "));
}

/// Where the prompts of each configuration were found at its rate.
Table found_table(const CapacityPlan& plan) {
  std::vector<std::string> tiers;  // of all configurations, each once, in order
  for (const Configuration& c : plan.configurations) {
    for (const std::string& tier : planner::capacity::tier_names(c.scenario)) {
      if (std::find(tiers.begin(), tiers.end(), tier) == tiers.end()) tiers.push_back(tier);
    }
  }
  Fields<Configuration> fields = name_fields(plan);
  for (const std::string& tier : tiers) {
    const auto hit_rate = [tier](const Configuration& c) {
      const auto use = c.sustained()->tiers.find(tier);
      return use == c.sustained()->tiers.end() ? kNone : use->second.hit_rate();
    };
    fields.push_back({kOnPages, tier, hit_rate, percent});
  }
  const auto nowhere = [tiers](const Configuration& c) {
    double share = 1;
    for (const std::string& tier : tiers) {
      const auto use = c.sustained()->tiers.find(tier);
      if (use != c.sustained()->tiers.end()) share -= use->second.hit_rate();
    }
    return std::max(share, 0.0);
  };
  append(fields, {{kOnPages, "nowhere", nowhere, percent},
                  {kOnPages, "quality", [](const Configuration& c) { return c.sustained()->quality; }, three_decimals},
                  {kOnPages, "still filling", filling_tiers}});
  return sustained_table("Where prompts were found at that rate", fields, plan);
}

/// What an hour of one replica is made of.
Table price_table(const CapacityPlan& plan) {
  Fields<Configuration> fields = name_fields(plan);
  append(fields, {{kOnPages, "GPUs", &Configuration::gpus_per_replica},
                  {kOnPages, "$/h", [](const Configuration& c) { return c.cost.gpus; }, dollars},
                  {kOnPages, "DRAM", &Configuration::dram_gb, bytes_of_gb},
                  {kOnPages, "$/h", [](const Configuration& c) { return c.cost.host_memory; }, dollars},
                  {kOnPages, "SSD", &Configuration::ssd_gb, bytes_of_gb},
                  {kOnPages, "$/h", [](const Configuration& c) { return c.cost.storage; }, dollars},
                  {kOnPages, "all $/h", [](const Configuration& c) { return c.cost.total(); }, dollars}});
  return sustained_table("What an hour of one replica costs", fields, plan);
}

Table fleet_table(const CapacityPlan& plan) {
  const bool placement = with_placement(plan);
  Fields<Configuration> fields = name_fields(plan);
  Fields<Configuration> fleets = fleet_fields(placement);
  append(fields, plan.configurations.front().scenario.serving.cluster.node ? std::move(fleets)
                                                                           : without(std::move(fleets), {"nodes"}));
  if (with_node_memory(plan)) {
    for (Field<Configuration>& f : fields) {
      if (f.key == "dram_gb") f.header = "DRAM";
    }
  }
  // Replicas are named by the sizes that are compared: a column of storage would repeat them.
  const auto storage = [](const planner::capacity::TierSizes& sizes) {
    return sizes.tier != planner::capacity::kHostTier;
  };
  if (std::any_of(plan.request.sizes.begin(), plan.request.sizes.end(), storage)) {
    fields = without(std::move(fields), {"SSD"});
  }
  if (placement) fields.push_back(cheapest_field(plan));
  Table t = empty_table(fmt::format("Fleets for {}", load_figure(capacity_load(plan), *plan.request.rate)), fields);
  for (const Configuration& c : plan.configurations) {
    if (c.fleet) t.rows.push_back(cells(fields, c));
  }
  return t;
}

}  // namespace

const Fields<Configuration>& rate_fields() {
  static const Fields<Configuration> fields{
      {"rate_per_replica",
       {kRequestsPerS, kHigher, "the rate (of what `load` says) that one replica sustains within the objectives"},
       "req/s",
       at_rate([](const auto& c, const Probe&) { return c.rate_per_replica(); }),
       [](const Configuration& c) {
         return c.sustained() ? load_number(planner::capacity::load_of(c.scenario), c.rate_per_replica()) : "-";
       }},
      {"requests_per_s?",
       {kRequestsPerS, kHigher, "requests/s that this rate of sessions brings: times the requests of a mean session"},
       std::string(kRequests_s),
       [](const Configuration& c) {
         return c.sustained() ? requests_of_sessions(c.scenario, c.rate_per_replica()) : std::nullopt;
       }},
      {"rate_per_gpu",
       {kRequestsPerS, kHigher, "highest rate within the objectives, by GPU of a replica"},
       "per GPU",
       at_rate([](const auto& c, const Probe&) {
         return c.rate_per_replica() / static_cast<double>(c.gpus_per_replica());
       })},
      {"attainment",
       {kShare, kHigher, "share of judged requests that met every objective at that rate"},
       at_rate([](const auto&, const Probe& p) { return p.attainment.share; })},
      {"attainment_lower",
       {kShare, kHigher, "one-sided lower confidence bound of the attainment"},
       at_rate([](const auto&, const Probe& p) { return p.attainment.lower; })},
      {"tokens_per_s",
       {kTokensPerS, kHigher, "output tokens of one replica at that rate"},
       "tokens/s",
       at_rate([](const auto& c, const Probe& p) { return p.tokens_per_s / replicas_of(c); }),
       {},
       "",
       {},
       "no time was measured"},
      {kOnPages, "TTFT mean", at_rate([](const auto&, const Probe& p) { return p.ttft_mean_s; }), seconds},
      {"ttft_p99_s",
       {kSeconds, kLower, "99th percentile of the time to the first token at that rate"},
       "TTFT p99",
       at_rate([](const auto&, const Probe& p) { return p.ttft_p99_s; }),
       {},
       "",
       {},
       kProbeFinishedNothing},
      {"tpot_p99_s",
       {kSeconds, kLower, "99th percentile of the time per output token at that rate"},
       "TPOT p99",
       at_rate([](const auto&, const Probe& p) { return p.tpot_p99_s; }),
       {},
       "",
       {},
       kProbeNoTpot},
      {kOnPages, "limit", limit_of},
      {kOnPages, "bound by", [](const Configuration& c) { return binding(c).text; }},
      {kOnPages, "twice\nit", [](const Configuration& c) { return binding(c).twice; }},
      {kOnPages, "$/h", at_rate([](const auto& c, const Probe&) { return c.cost.total().value_or(kNone); }), dollars},
      {kOnPages, "$/1M", at_rate([](const auto& c, const Probe&) { return c.usd_per_million.value_or(kNone); }),
       dollars}};
  return fields;
}

Fields<Configuration> fleet_fields(bool placement) {
  const auto lower = [](const Fleet& f) { return f.probe ? f.probe->attainment.lower : kNone; };
  const auto month = [](const std::optional<double>& hour) { return hour ? usd_per_month(*hour) : kNone; };
  const auto stored = [](double value, const Configuration& c) { return c.scenario.serving.placement ? value : kNone; };
  Fields<Configuration> fields{
      {"replicas",
       {kCount, kLower, "replicas to buy"},
       placement ? "count" : "replicas",
       of_fleet(&Fleet::replicas),
       of_fleet([](const Fleet& f) { return f.n_minus_1 ? fmt::format("{} + 1", f.needed) : whole(f.replicas); })},
      {"gpus", {kCount, kLower, "GPUs of all replicas"}, "GPUs", of_fleet(&Fleet::gpus)},
      {"nodes?",
       {kCount, kLower, "nodes to buy (cluster.node), all of whose GPUs are paid for"},
       "nodes",
       [](const Configuration& c) {
         return c.fleet && c.fleet->nodes > 0 ? std::optional(c.fleet->nodes) : std::nullopt;
       }},
      {"gpus_per_node?",
       {kCount, "GPUs of a node, where GPUs are bought in nodes"},
       [](const Configuration& c) { return c.fleet && c.fleet->nodes > 0 ? gpus_per_node(c) : std::nullopt; }},
      {"dram_gb",
       {kGigabytes, "host memory to buy for all replicas"},
       placement ? "DRAM" : "DRAM for KV",
       of_fleet(&Fleet::dram_gb)},
      {"ssd_gb",
       {kGigabytes, "storage tiers to buy for all replicas, those with a capacity"},
       "SSD",
       [=](const Configuration& c) { return stored(c.fleet->ssd_gb, c); },
       {},
       "",
       {},
       "no storage tier is simulated: KV lives in GPU and host memory"},
      {"usd_per_hour",
       {kDollarsPerHour, kLower, "what an hour of the fleet costs"},
       "$/h",
       of_fleet([](const Fleet& f) { return f.cost.total(); }),
       dollars,
       "",
       {},
       kNoPrice},
      {"usd_per_month",
       {kDollars, kLower, "what a month of 730 h of the fleet costs"},
       "$/month",
       of_fleet([month](const Fleet& f) { return month(f.cost.total()); }),
       whole_dollars,
       "",
       {},
       kNoPrice},
      {"usd_per_1m_output_tokens",
       {kDollars, kLower, "what one million output tokens cost at the required rate"},
       "$/1M",
       of_fleet(&Fleet::usd_per_million),
       dollars,
       "",
       {},
       kNoPrice},
      {"n_minus_1", {kTruth, "whether one replica may fail"}, of_fleet(&Fleet::n_minus_1)},
      {"replicas_needed",
       {kCount, kLower, "replicas that meet the objectives at the required rate"},
       of_fleet(&Fleet::needed)},
      {"replicas_with_model_error",
       {kCount, kLower, "replicas to buy so that they suffice in spite of what backtests missed by"},
       "sure",
       [](const Configuration& c) { return c.margin.replicas; }},
      {"usd_per_hour_with_model_error",
       {kDollarsPerHour, kLower, "what these cost, host memory and storage in proportion"},
       [](const Configuration& c) { return c.margin.usd_per_hour; },
       kNoPrice},
      {"headroom",
       {kShare, kHigher,
        "by how much the traffic may grow before the objectives break, at least; 0 where it is within the tolerance of "
        "the search"},
       "headroom",
       of_fleet(&Fleet::headroom),
       headroom_text},
      {"tokens_per_s", {kTokensPerS, "output tokens at the required rate"}, of_fleet(&Fleet::tokens_per_s)},
      {"usd_per_hour_gpus",
       {kDollarsPerHour, kLower, "what the GPUs of the fleet cost"},
       of_fleet([](const Fleet& f) { return f.cost.gpus; }),
       kNoPrice},
      {"usd_per_hour_dram",
       {kDollarsPerHour, kLower, "what the host memory of the fleet costs"},
       of_fleet([](const Fleet& f) { return f.cost.host_memory; })},
      {"dram_share",
       {kShare, kLower, "part of the price that host memory is; 0 where it is in the price of nodes"},
       of_fleet([](const Fleet& f) { return dram_share(f.cost); }),
       kNoPrice},
      {"usd_per_hour_ssd?",
       {kDollarsPerHour, kLower, "what the storage tiers of the fleet cost; with placement"},
       [=](const Configuration& c) { return stored(c.fleet->cost.storage, c); }},
      {"simulated", {kTruth, "whether all replicas were simulated; else a subset"}, of_fleet([](const Fleet& f) {
         return !f.subset();
       })},
      {"replicas_simulated",
       {kCount,
        "replicas that were simulated together: those needed, or a subset of them at the same load per replica"},
       of_fleet(&Fleet::simulated)},
      {"attainment",
       {kShare, kHigher, "share of judged requests of the simulated replicas that met every objective"},
       of_fleet([](const Fleet& f) { return f.probe ? f.probe->attainment.share : kNone; })},
      {"attainment_lower",
       {kShare, kHigher, "one-sided lower confidence bound of that attainment"},
       "attainment",
       of_fleet(lower),
       of_fleet([=](const Fleet& f) {
         return at_least(lower(f)) + (f.subset() ? fmt::format(" (of {})", f.simulated) : std::string());
       })}};
  if (placement) fields.back().header.reset();
  return fields;
}

Page capacity_page(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  Page page;
  page.title = plan.configurations.front().scenario.name;
  page.subtitle = capacity_decision(plan);
  const auto& all = plan.configurations;
  if (std::any_of(all.begin(), all.end(), [](const Configuration& c) { return c.fleet.has_value(); })) {
    page.tables.push_back(fleet_table(plan));
  }
  page.tables.push_back(rate_table(plan));
  if (with_placement(plan)) {
    page.tables.push_back(found_table(plan));
    page.tables.push_back(price_table(plan));
  } else {
    page.tables.push_back(memory_table(plan));
  }
  if (outcome.hit_rates) {
    page.tables.push_back(hit_rate_table(*outcome.hit_rates));
    const auto options = cache_options_of(*outcome.hit_rates, plan.request.prices);
    if (!options.empty()) page.tables.push_back(cache_options_table(options));
  }
  List method{"How this was found", {}};
  for (const auto& [word, sentence] : capacity_definitions(outcome)) {
    method.items.push_back(fmt::format("{}: {}", word, sentence));
  }
  page.lists = {capacity_remarks(plan),
                capacity_fallbacks(plan),
                {"Prices", price_lines(outcome)},
                std::move(method),
                {"Assumptions of the scenario", plan.configurations.front().scenario.assumptions}};
  return page;
}

}  // namespace kvsim::results
