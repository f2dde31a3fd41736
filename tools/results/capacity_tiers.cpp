#include "tools/results/capacity_tiers.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/si.h"
#include "planner/capacity/next_cheaper.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::kHostTier;
using planner::capacity::NextCheaper;
using planner::capacity::Probe;
using planner::capacity::TierFill;
using planner::capacity::TierSize;

constexpr std::string_view kNotFound = "no rate meets the objectives";

std::string size(std::int64_t value) {
  return bytes(static_cast<double>(value));
}

Table sized_table(std::string title, std::vector<std::string> header) {
  Table t{std::move(title), std::move(header), {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  return t;
}

/// Tiers of all configurations, each once, in order.
std::vector<std::string> all_tiers(const CapacityPlan& plan) {
  std::vector<std::string> names;
  for (const Configuration& c : plan.configurations) {
    for (const std::string& tier : planner::capacity::tier_names(c.scenario)) {
      if (std::find(names.begin(), names.end(), tier) == names.end()) names.push_back(tier);
    }
  }
  return names;
}

/// Storage without a capacity.
std::vector<std::string> unpriced(const Configuration& c) {
  std::vector<std::string> names;
  for (const serving::StorageTierConfig& t : c.scenario.serving.cluster.storage) {
    if (!t.capacity_bytes) names.push_back(t.name);
  }
  return names;
}

std::string filling_sentence(const TierFill& f) {
  return fmt::format("{} held {}{} when judging began and {} at the end", f.tier, size(f.after_warmup_bytes),
                     f.capacity_bytes ? " of " + size(*f.capacity_bytes) : "", size(f.at_end_bytes));
}

std::size_t index_of(const CapacityPlan& plan, const Configuration* c) {
  return static_cast<std::size_t>(c - plan.configurations.data());
}

}  // namespace

bool with_placement(const CapacityPlan& plan) {
  return plan.configurations.front().scenario.serving.placement.has_value();
}

std::string sized_name(const Configuration& c, const std::string& machine) {
  std::string name = machine;
  for (const TierSize& s : c.sizes) {
    name +=
        s.tier == kHostTier ? fmt::format(", {} DRAM", size(s.bytes)) : fmt::format(", {} {}", s.tier, size(s.bytes));
  }
  return name;
}

Table sized_rates_table(const CapacityPlan& plan, const std::vector<std::string>& names,
                        const std::vector<std::string>& limits) {
  Table t =
      sized_table("One replica", {"replica", "req/s", "TTFT mean", "TTFT p99", "TPOT p99", "limit", "$/h", "$/1M"});
  const bool marks = plan.ranked_by_price && !plan.request.rate && plan.configurations.size() > 1;
  if (marks) {
    t.header.emplace_back("");
    t.align.push_back(Align::left);
  }
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& c = plan.configurations[i];
    const Probe* p = c.sustained();
    if (p) {
      t.rows.push_back({names[i], figure(c.rate_per_replica()), seconds(p->ttft_mean_s), seconds(p->ttft_p99_s),
                        seconds(p->tpot_p99_s), limits[i], dollars(c.cost.total()), dollars(c.usd_per_million)});
    } else {
      t.rows.push_back({names[i], "-", "-", "-", "-", c.problem.empty() ? limits[i] : "left out", "-", "-"});
    }
    if (marks) t.rows.back().emplace_back(i == 0 ? "cheapest" : "");
  }
  return t;
}

Table found_table(const CapacityPlan& plan, const std::vector<std::string>& names) {
  const std::vector<std::string> tiers = all_tiers(plan);
  std::vector<std::string> header{"replica"};
  header.insert(header.end(), tiers.begin(), tiers.end());
  header.insert(header.end(), {"nowhere", "quality", "still filling"});
  Table t = sized_table("Where prompts were found at that rate", header);
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& c = plan.configurations[i];
    const Probe* p = c.sustained();
    if (!p) continue;
    std::vector<std::string> row{names[i]};
    double nowhere = 1;
    for (const std::string& tier : tiers) {
      const auto use = p->tiers.find(tier);
      row.push_back(use == p->tiers.end() ? "-" : percent(use->second.hit_rate()));
      if (use != p->tiers.end()) nowhere -= use->second.hit_rate();
    }
    row.push_back(percent(std::max(nowhere, 0.0)));
    row.push_back(p->quality ? fmt::format("{:.3f}", *p->quality) : "-");
    std::vector<std::string> filling;
    for (const TierFill& f : c.fills) {
      if (f.filling()) filling.push_back(f.tier);
    }
    row.push_back(filling.empty() ? "no" : fmt::format("{}", fmt::join(filling, ", ")));
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table price_table(const CapacityPlan& plan, const std::vector<std::string>& names) {
  Table t = sized_table("What an hour of one replica costs",
                        {"replica", "GPUs", "$/h", "DRAM", "$/h", "SSD", "$/h", "all $/h"});
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& c = plan.configurations[i];
    if (!c.sustained()) continue;
    t.rows.push_back({names[i], whole(c.gpus_per_replica()), dollars(c.cost.gpus), bytes(c.dram_gb * kGB),
                      dollars(c.cost.host_memory), bytes(c.ssd_gb * kGB), dollars(c.cost.storage),
                      dollars(c.cost.total())});
  }
  return t;
}

std::string next_cheaper_sentence(const CapacityPlan& plan, const std::vector<std::string>& names) {
  const auto next = plan.ranked_by_price ? planner::capacity::next_cheaper(plan) : std::nullopt;
  if (!next) return {};
  const std::string& name = names[index_of(plan, next->configuration)];
  const std::string why = next->why.empty() ? "estimated, not simulated" : next->why;
  if (plan.request.rate) {
    return fmt::format("Next cheaper and not enough: {} x {} for ${:.2f}/h: {}", next->replicas, name,
                       next->usd_per_hour, why);
  }
  if (next->rate <= 0) {
    return fmt::format("Next cheaper and not enough: {} for ${:.2f}/h meets the objectives at no rate: {}", name,
                       next->usd_per_hour, why);
  }
  return fmt::format(
      "Next cheaper by the hour: {} for ${:.2f}/h sustains {} requests/s, {} per 1M output tokens; just "
      "above it {}",
      name, next->usd_per_hour, figure(next->rate), dollars(next->configuration->usd_per_million), why);
}

std::vector<std::string> tier_remarks(const CapacityPlan& plan, const std::vector<std::string>& names) {
  std::vector<std::string> remarks;
  const Configuration& first = plan.configurations.front();
  if (plan.request.sizes.empty()) {
    remarks.emplace_back(
        "DRAM and storage are bought as the scenario has them: --memory 40GB,80GB,160GB and --storage NAME=400GB,800GB "
        "compare sizes");
  }
  for (const std::string& tier : unpriced(first)) {
    remarks.push_back(fmt::format("{} has no capacity in the scenario: what it costs is not in the price", tier));
  }
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    std::vector<std::string> filling;
    for (const TierFill& f : plan.configurations[i].fills) {
      if (f.filling()) filling.push_back(filling_sentence(f));
    }
    if (filling.empty()) continue;
    remarks.push_back(fmt::format("{}: {}: still filling, so that what was judged is not yet a settled cache{}",
                                  names[i], fmt::join(filling, "; "),
                                  plan.configurations[i].scenario.trace ? "; a longer trace or run.warmup is warmer"
                                                                        : "; a longer run.warmup is warmer"));
  }
  return remarks;
}

void add_tiers(Section& s, const Configuration& c) {
  Json sizes = Json::object();
  for (const TierSize& t : c.sizes) sizes[t.tier] = t.bytes;
  s.set("sizes_bytes", std::move(sizes));
  const Probe* p = c.sustained();
  if (!p) {
    for (const char* key :
         {"ttft_mean_s", "mean_quality", "ssd_gb", "usd_per_hour_dram", "usd_per_hour_ssd", "tiers"}) {
      s.missing(key, c.problem.empty() ? kNotFound : std::string_view(c.problem));
    }
    return;
  }
  s.number("ttft_mean_s", p->ttft_mean_s, "no request finished");
  if (p->quality) {
    s.number("mean_quality", *p->quality, kNotFound);
  } else {
    s.missing("mean_quality", "no request finished");
  }
  s.number("ssd_gb", c.ssd_gb, "");
  s.number("usd_per_hour_dram", c.cost.host_memory, "").number("usd_per_hour_ssd", c.cost.storage, "");
  Json tiers = Json::array();
  for (const TierFill& f : c.fills) {
    const auto use = p->tiers.find(f.tier);
    const planner::capacity::TierUse found = use == p->tiers.end() ? planner::capacity::TierUse{} : use->second;
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

Json next_cheaper_json(const CapacityPlan& plan) {
  const auto next = plan.ranked_by_price ? planner::capacity::next_cheaper(plan) : std::nullopt;
  if (!next) return nullptr;
  return {{"configuration", index_of(plan, next->configuration)},
          {"replicas", next->replicas},
          {"usd_per_hour", next->usd_per_hour},
          {"rate", next->rate},
          {"why", next->why}};
}

}  // namespace kvsim::results
