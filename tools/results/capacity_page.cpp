#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/serving/simulation.h"
#include "tools/results/capacity_parts.h"
#include "tools/results/prices.h"

namespace kvsim::results {
namespace {

using planner::capacity::BoundBy;
using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::Probe;
using planner::capacity::TierFill;

constexpr std::string_view kEstimated = "estimated from one replica: too many to simulate";

double replicas_of(const Configuration& c) {
  return static_cast<double>(c.scenario.serving.cluster.replicas);
}

/// "compute 78 %": what most of the busy time was bound by.
std::string binding(const BoundBy& b) {
  const std::pair<const char*, double> parts[] = {{"HBM", b.hbm_bandwidth}, {"compute", b.compute}, {"link", b.link}};
  const auto& most = *std::max_element(std::begin(parts), std::end(parts),
                                       [](const auto& a, const auto& c) { return a.second < c.second; });
  return fmt::format("{} {:.0f} %", most.first, most.second * 100);
}

std::string limit_of(const Configuration& c) {
  if (!c.sustained() && !c.problem.empty()) return "left out";
  const auto miss = c.limited_by();
  if (!miss) return "-";
  switch (*miss) {
    case serving::Miss::refused:
      return "memory";
    case serving::Miss::unfinished:
      return "unfinished";
    case serving::Miss::ttft:
      return "TTFT";
    case serving::Miss::tpot:
      return "TPOT";
    case serving::Miss::itl:
      return "ITL";
    case serving::Miss::e2e:
      return "E2E";
  }
  return "-";
}

std::string three_decimals(double value) {
  return fmt::format("{:.3f}", value);
}

/// A figure of the probe at the sustained rate; none where no rate passes.
template <class Get>
auto at_rate(Get get) {
  return [get](const Configuration& c) { return c.sustained() ? get(c, *c.sustained()) : kNone; };
}

/// "≥ 99.98 %", rounded down: a bound must not grow by being printed.
std::string at_least(double share) {
  constexpr double kHundredths = 1e4;
  return fmt::format("≥ {:.2f} %", std::floor(share * kHundredths) / kHundredths * 100);
}

std::string headroom_text(const Fleet& f) {
  constexpr double most_percent = 10;  // above it, it is printed as a factor of the required rate
  return f.headroom > most_percent ? factor(f.headroom + 1) : fmt::format("{:.0f} %", f.headroom * 100);
}

/// What names a configuration in tables: its machine and policy, or with tiers all that is varied.
Fields<Configuration> name_fields(const CapacityPlan& plan) {
  if (!with_placement(plan)) {
    return {{"", "machine", marked_machine, Align::left}, {"", "policy", &Configuration::policy, Align::left}};
  }
  const auto name = [&plan, names = names_of(plan)](const Configuration& c) {
    return names[static_cast<std::size_t>(&c - plan.configurations.data())];
  };
  return {{"", "replica", name, Align::left}};
}

/// Behind the cheapest one.
Field<Configuration> cheapest_field(const CapacityPlan& plan) {
  const Configuration* first = plan.ranked_by_price ? &plan.configurations.front() : nullptr;
  return {"", "", [first](const Configuration& c) { return &c == first ? "cheapest" : ""; }, Align::left};
}

/// Of those that sustain a rate.
Table sustained_table(std::string title, const Fields<Configuration>& fields, const CapacityPlan& plan) {
  Table t = empty_table(std::move(title), fields);
  for (const Configuration& c : plan.configurations) {
    if (c.sustained()) t.rows.push_back(cells(fields, c));
  }
  return t;
}

Table rate_table(const CapacityPlan& plan) {
  const bool placement = with_placement(plan);
  Fields<Configuration> fields = name_fields(plan);
  append(fields, placement ? without(rate_fields(), {"per GPU", "tokens/s", "bound by"})
                           : without(rate_fields(), {"TTFT mean"}));
  if (placement && plan.ranked_by_price && !plan.request.rate && plan.configurations.size() > 1) {
    fields.push_back(cheapest_field(plan));
  }
  return table_of("One replica", fields, plan.configurations);
}

Table memory_table(const CapacityPlan& plan) {
  const auto capacity = [](const Configuration& c) { return serving::kv_capacity(c.scenario.serving); };
  const auto size = [](auto value) { return bytes(static_cast<double>(value)); };
  Fields<Configuration> fields = name_fields(plan);
  append(fields, {{"", "GPU KV capacity", [=](const Configuration& c) { return size(capacity(c).bytes); }},
                  {"", "tokens", [=](const Configuration& c) { return capacity(c).tokens; }},
                  {"", "host KV peak", [=](const Configuration& c) { return size(c.sustained()->host_peak_bytes); }},
                  {"", "host memory to buy", &Configuration::dram_gb, bytes_of_gb}});
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
    fields.push_back({"", tier, hit_rate, percent});
  }
  const auto nowhere = [tiers](const Configuration& c) {
    double share = 1;
    for (const std::string& tier : tiers) {
      const auto use = c.sustained()->tiers.find(tier);
      if (use != c.sustained()->tiers.end()) share -= use->second.hit_rate();
    }
    return std::max(share, 0.0);
  };
  append(fields, {{"", "nowhere", nowhere, percent},
                  {"", "quality", [](const Configuration& c) { return c.sustained()->quality; }, three_decimals},
                  {"", "still filling", filling_tiers}});
  return sustained_table("Where prompts were found at that rate", fields, plan);
}

/// What an hour of one replica is made of.
Table price_table(const CapacityPlan& plan) {
  Fields<Configuration> fields = name_fields(plan);
  append(fields, {{"", "GPUs", &Configuration::gpus_per_replica},
                  {"", "$/h", [](const Configuration& c) { return c.cost.gpus; }, dollars},
                  {"", "DRAM", &Configuration::dram_gb, bytes_of_gb},
                  {"", "$/h", [](const Configuration& c) { return c.cost.host_memory; }, dollars},
                  {"", "SSD", &Configuration::ssd_gb, bytes_of_gb},
                  {"", "$/h", [](const Configuration& c) { return c.cost.storage; }, dollars},
                  {"", "all $/h", [](const Configuration& c) { return c.cost.total(); }, dollars}});
  return sustained_table("What an hour of one replica costs", fields, plan);
}

Table fleet_table(const CapacityPlan& plan) {
  const bool placement = with_placement(plan);
  const Fields<Configuration> names = name_fields(plan);
  const Fields<Fleet> fields = fleet_fields(placement);
  const Field<Configuration> cheapest = cheapest_field(plan);
  Table t = empty_table(fmt::format("Fleets for {} requests/s", figure(*plan.request.rate)), names);
  const auto add = [](auto& all, const auto& more) { all.insert(all.end(), more.begin(), more.end()); };
  const Table figures = empty_table("", fields);
  add(t.header, figures.header);
  add(t.align, figures.align);
  if (placement) {
    t.header.emplace_back();
    t.align.push_back(Align::left);
  }
  for (const Configuration& c : plan.configurations) {
    if (!c.fleet) continue;
    std::vector<Cell>& row = t.rows.emplace_back(cells(names, c));
    add(row, cells(fields, *c.fleet));
    if (placement) row.push_back(cheapest.text(c));
  }
  return t;
}

}  // namespace

const Fields<Configuration>& rate_fields() {
  static const Fields<Configuration> fields{
      {"rate_per_replica", "req/s", at_rate([](const auto& c, const Probe&) { return c.rate_per_replica(); })},
      {"rate_per_gpu", "per GPU", at_rate([](const auto& c, const Probe&) {
         return c.rate_per_replica() / static_cast<double>(c.gpus_per_replica());
       })},
      {"attainment", at_rate([](const auto&, const Probe& p) { return p.attainment.share; })},
      {"attainment_lower", at_rate([](const auto&, const Probe& p) { return p.attainment.lower; })},
      {"tokens_per_s",
       "tokens/s",
       at_rate([](const auto& c, const Probe& p) { return p.tokens_per_s / replicas_of(c); }),
       figure,
       "",
       {},
       "no time was measured"},
      {"", "TTFT mean", at_rate([](const auto&, const Probe& p) { return p.ttft_mean_s; }), seconds},
      {"ttft_p99_s",
       "TTFT p99",
       at_rate([](const auto&, const Probe& p) { return p.ttft_p99_s; }),
       seconds,
       "",
       {},
       kProbeFinishedNothing},
      {"tpot_p99_s",
       "TPOT p99",
       at_rate([](const auto&, const Probe& p) { return p.tpot_p99_s; }),
       seconds,
       "",
       {},
       kProbeNoTpot},
      {"", "limit", limit_of},
      {"", "bound by", [](const Configuration& c) { return c.sustained() ? binding(c.sustained()->bound_by) : "-"; }},
      {"", "$/h", at_rate([](const auto& c, const Probe&) { return c.cost.total().value_or(kNone); }), dollars},
      {"", "$/1M", at_rate([](const auto& c, const Probe&) { return c.usd_per_million.value_or(kNone); }), dollars}};
  return fields;
}

Fields<Fleet> fleet_fields(bool placement) {
  const auto lower = [](const Fleet& f) { return f.probe ? f.probe->attainment.lower : kNone; };
  Fields<Fleet> fields{
      {"replicas", "replicas", &Fleet::replicas,
       [](const Fleet& f) { return f.n_minus_1 ? fmt::format("{} + 1", f.needed) : whole(f.replicas); }},
      {"gpus", "GPUs", &Fleet::gpus},
      {"dram_gb", placement ? "DRAM" : "DRAM for KV", &Fleet::dram_gb, bytes_of_gb},
      {"ssd_gb",
       "SSD",
       [=](const Fleet& f) { return placement ? f.ssd_gb : kNone; },
       bytes_of_gb,
       "",
       {},
       "no storage tier is simulated: KV lives in GPU and host memory"},
      {"usd_per_hour", "$/h", [](const Fleet& f) { return f.cost.total(); }, dollars, "", {}, kNoPrice},
      {"usd_per_1m_output_tokens", "$/1M", &Fleet::usd_per_million, dollars, "", {}, kNoPrice},
      {"n_minus_1", &Fleet::n_minus_1},
      {"replicas_needed", &Fleet::needed},
      {"headroom", "headroom", &Fleet::headroom, headroom_text},
      {"tokens_per_s", &Fleet::tokens_per_s},
      {"usd_per_hour_gpus", [](const Fleet& f) { return f.cost.gpus; }, kNoPrice},
      {"usd_per_hour_dram", [](const Fleet& f) { return f.cost.host_memory; }},
      {"usd_per_hour_ssd?", [=](const Fleet& f) { return placement ? f.cost.storage : kNone; }},
      {"simulated", [](const Fleet& f) { return f.probe.has_value(); }},
      {"attainment", [](const Fleet& f) { return f.probe ? f.probe->attainment.share : kNone; }, kEstimated},
      {"attainment_lower",
       "attainment",
       lower,
       [=](const Fleet& f) { return f.probe ? at_least(lower(f)) : "estimated"; },
       "",
       {},
       kEstimated}};
  if (placement) fields.back().header.reset();
  return fields;
}

Page capacity_page(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  Page page;
  page.title = plan.configurations.front().scenario.name;
  page.subtitle = capacity_decision(plan);
  if (plan.request.rate) page.tables.push_back(fleet_table(plan));
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
