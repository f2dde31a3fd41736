#include <algorithm>

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

std::string three_decimals(double value) {
  return fmt::format("{:.3f}", value);
}

/// Fields that name a configuration in tables: its machine and policy, or with tiers all that is varied.
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

/// Table of the configurations that sustain a rate.
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

/// Parts of an hourly price of one replica.
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
