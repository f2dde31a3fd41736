#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/units.h"
#include "sim/serving/simulation.h"
#include "tools/results/capacity_document.h"
#include "tools/results/capacity_tiers.h"
#include "tools/results/lossless.h"
#include "tools/results/numbers.h"
#include "tools/results/prefix_cache_page.h"
#include "tools/results/prices.h"
#include "tools/results/provenance.h"

namespace kvsim::results {
namespace {

using planner::capacity::BoundBy;
using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::Probe;

constexpr double kMostPercent = 10;  // headroom above it is printed as a factor of the required rate

/// Whether the kernel times of this machine are those of another, or of none, scaled.
bool scaled(const Configuration& c) {
  return c.scenario.serving.cluster.profile.measured_on != c.scenario.serving.cluster.gpu.name;
}

/// In tables: with a "~" where its kernel times are scaled.
std::string marked(const Configuration& c) {
  return fmt::format("{}{}", c.tensor_parallel == 1 ? c.machine : fmt::format("{}:{}", c.machine, c.tensor_parallel),
                     scaled(c) ? " ~" : "");
}

std::string machine(const Configuration& c) {
  return c.tensor_parallel == 1 ? c.machine : fmt::format("{}:{}", c.machine, c.tensor_parallel);
}

std::string objectives(const serving::SloConfig& slo, double target) {
  constexpr double p99 = 0.99;
  const char* sign = target == p99 ? "p99" : "<=";
  std::string text;
  const auto add = [&](const char* name, const std::optional<double>& limit) {
    if (limit) text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ", name, sign, schema::format_time(*limit));
  };
  add("TTFT", slo.ttft_s);
  add("TPOT", slo.tpot_s);
  add("ITL", slo.itl_s);
  add("E2E", slo.e2e_s);
  return text;
}

/// "compute 78 %": what most of the busy time was bound by.
std::string binding(const BoundBy& b) {
  const std::pair<const char*, double> parts[] = {{"HBM", b.hbm_bandwidth}, {"compute", b.compute}, {"link", b.link}};
  const auto& most = *std::max_element(std::begin(parts), std::end(parts),
                                       [](const auto& a, const auto& c) { return a.second < c.second; });
  return fmt::format("{} {:.0f} %", most.first, most.second * 100);
}

std::string limit_of(const Configuration& c) {
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

/// "≥ 99.98 %", rounded down: a bound must not grow by being printed.
std::string at_least(double share) {
  constexpr double kHundredths = 1e4;
  return fmt::format("≥ {:.2f} %", std::floor(share * kHundredths) / kHundredths * 100);
}

Table table_of(std::string title, std::vector<std::string> header) {
  Table t{std::move(title), std::move(header), {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align[0] = t.align[1] = Align::left;
  return t;
}

/// Of every configuration: machine and the sizes that are varied, and the policy where several are compared.
std::vector<std::string> names_of(const CapacityPlan& plan) {
  const auto& all = plan.configurations;
  const bool policies =
      std::any_of(all.begin(), all.end(), [&](const Configuration& c) { return c.policy != all.front().policy; });
  std::vector<std::string> names;
  for (const Configuration& c : all) {
    names.push_back(sized_name(c, marked(c)) + (policies ? fmt::format(", {}", c.policy) : ""));
  }
  return names;
}

std::vector<std::string> limits_of(const CapacityPlan& plan) {
  std::vector<std::string> limits;
  for (const Configuration& c : plan.configurations) limits.push_back(limit_of(c));
  return limits;
}

Table rates(const CapacityPlan& plan) {
  Table t = table_of("One replica", {"machine", "policy", "req/s", "per GPU", "tokens/s", "TTFT p99", "TPOT p99",
                                     "limit", "bound by", "$/h", "$/1M"});
  for (const Configuration& c : plan.configurations) {
    const Probe* p = c.sustained();
    if (!p) {
      t.rows.push_back(
          {marked(c), c.policy, "-", "-", "-", "-", "-", c.problem.empty() ? limit_of(c) : "left out", "-", "-", "-"});
      continue;
    }
    const auto replicas = static_cast<double>(c.scenario.serving.cluster.replicas);
    const double rate = c.rate_per_replica();
    t.rows.push_back({marked(c), c.policy, figure(rate), figure(rate / static_cast<double>(c.gpus_per_replica())),
                      figure(p->tokens_per_s / replicas), seconds(p->ttft_p99_s), seconds(p->tpot_p99_s), limit_of(c),
                      binding(p->bound_by), dollars(c.cost.total()), dollars(c.usd_per_million)});
  }
  return t;
}

Table fleets(const CapacityPlan& plan) {
  Table t = table_of(
      fmt::format("Fleets for {} requests/s", figure(*plan.request.rate)),
      {"machine", "policy", "replicas", "GPUs", "DRAM for KV", "SSD", "$/h", "$/1M", "headroom", "attainment"});
  for (const Configuration& c : plan.configurations) {
    if (!c.fleet) continue;
    const Fleet& f = *c.fleet;
    t.rows.push_back({marked(c), c.policy, f.n_minus_1 ? fmt::format("{} + 1", f.needed) : whole(f.replicas),
                      whole(f.gpus), bytes(f.dram_gb * 1e9), "-", dollars(f.cost.total()), dollars(f.usd_per_million),
                      f.headroom > kMostPercent ? factor(f.headroom + 1) : fmt::format("{:.0f} %", f.headroom * 100),
                      f.probe ? at_least(f.probe->attainment.lower) : "estimated"});
  }
  return t;
}

/// The same where prompts are stored in tiers.
Table sized_fleets(const CapacityPlan& plan, const std::vector<std::string>& names) {
  Table t = table_of(fmt::format("Fleets for {} requests/s", figure(*plan.request.rate)),
                     {"replica", "replicas", "GPUs", "DRAM", "SSD", "$/h", "$/1M", "headroom", ""});
  t.align[1] = Align::right;
  t.align.back() = Align::left;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    const Configuration& c = plan.configurations[i];
    if (!c.fleet) continue;
    const Fleet& f = *c.fleet;
    t.rows.push_back({names[i], f.n_minus_1 ? fmt::format("{} + 1", f.needed) : whole(f.replicas), whole(f.gpus),
                      bytes(f.dram_gb * 1e9), bytes(f.ssd_gb * 1e9), dollars(f.cost.total()),
                      dollars(f.usd_per_million),
                      f.headroom > kMostPercent ? factor(f.headroom + 1) : fmt::format("{:.0f} %", f.headroom * 100),
                      i == 0 && plan.ranked_by_price ? "cheapest" : ""});
  }
  return t;
}

Table memory(const CapacityPlan& plan) {
  Table t = table_of("Memory of one replica at its rate",
                     {"machine", "policy", "GPU KV capacity", "tokens", "host KV peak", "host memory to buy"});
  for (const Configuration& c : plan.configurations) {
    const Probe* p = c.sustained();
    if (!p) continue;
    const serving::KvCapacity k = serving::kv_capacity(c.scenario.serving);
    t.rows.push_back({marked(c), c.policy, bytes(static_cast<double>(k.bytes)), whole(k.tokens),
                      bytes(static_cast<double>(p->host_peak_bytes)), bytes(c.dram_gb * 1e9)});
  }
  return t;
}

std::vector<std::string> decision(const CapacityPlan& plan) {
  const Configuration& c = plan.configurations.front();
  std::vector<std::string> lines;
  const std::string within = fmt::format("within {} for {:g} % of requests (confidence {:g} %)",
                                         objectives(c.scenario.serving.slo, plan.request.probe.target),
                                         plan.request.probe.target * 100, plan.request.probe.confidence * 100);
  const char* differs = lossless(c.scenario) ? "" : " (its output differs from that of full-KV decoding)";
  if (c.fleet) {
    const Fleet& f = *c.fleet;
    lines.push_back(fmt::format(
        "Buy {} x {} under {} for {} requests/s {}{}: {} GPUs{}, {}/h, {} per 1M output tokens{}{}", f.replicas,
        sized_name(c, machine(c)), c.policy, figure(*plan.request.rate), within,
        f.n_minus_1 ? ", also with one replica less" : "", whole(f.gpus),
        with_placement(plan)
            ? fmt::format(", {} of host memory and {} of storage", bytes(f.dram_gb * 1e9), bytes(f.ssd_gb * 1e9))
            : fmt::format(" and {} of host memory for KV", bytes(f.dram_gb * 1e9)),
        dollars(f.cost.total()), dollars(f.usd_per_million), differs, f.probe ? "" : "; estimated, not simulated"));
  } else {
    const double tokens = c.sustained()->tokens_per_s / static_cast<double>(c.scenario.serving.cluster.replicas);
    lines.push_back(fmt::format(
        "One replica of {} under {} sustains {} requests/s {}: {} output tokens/s, {} per 1M output tokens{}",
        sized_name(c, machine(c)), c.policy, figure(c.rate_per_replica()), within, figure(tokens),
        dollars(c.usd_per_million), differs));
  }
  if (!plan.ranked_by_price) {
    lines.emplace_back(plan.request.rate ? "Ordered by GPUs, because a price is missing."
                                         : "Ordered by requests/s per GPU, because a price is missing.");
  }
  if (!plan.request.sizes.empty()) {
    if (std::string next = next_cheaper_sentence(plan, names_of(plan)); !next.empty()) lines.push_back(std::move(next));
  }
  return lines;
}

/// What the tables cannot say of single configurations.
List remarks(const CapacityPlan& plan) {
  List list{"Remarks", {}};
  std::set<std::string> notes;  // one for each machine, whatever its policies
  const std::int64_t replicas = plan.configurations.front().scenario.serving.cluster.replicas;
  if (replicas > 1) {
    list.items.push_back(fmt::format(
        "the scenario has {} replicas: they were simulated together, and a replica's rate is their share", replicas));
  }
  if (plan.configurations.front().scenario.serving.slo.quality_floor) {
    list.items.emplace_back(
        "a policy whose answers are below slo.quality_floor in the mean is left out; attainment is of latencies alone");
  }
  if (with_placement(plan)) {
    for (std::string& remark : tier_remarks(plan, names_of(plan))) list.items.push_back(std::move(remark));
  }
  for (const Configuration& c : plan.configurations) {
    const std::string name = fmt::format("{}, {}", sized_name(c, machine(c)), c.policy);
    if (c.placement == planner::capacity::Placement::smallest && c.problem.empty()) {
      notes.insert(fmt::format("{}: {} GPU{} per replica, {}", c.machine, c.tensor_parallel,
                               c.tensor_parallel == 1 ? "" : "s", planner::capacity::words_of(c.placement)));
    }
    if (const std::int64_t scorers = c.scenario.serving.cluster.scorer_gpus; scorers > 0 && c.sustained()) {
      notes.insert(fmt::format("{}: {} GPUs per replica, {} of which only score{}", name, c.gpus_per_replica(), scorers,
                               scorers == 1 ? "s" : ""));
    }
    if (!c.failed_sizes.empty()) {
      list.items.push_back(fmt::format("{}: {} GPU{} per replica met the objectives at no rate; {}:TP chooses others",
                                       name, fmt::join(c.failed_sizes, ", "),
                                       c.failed_sizes == std::vector<std::int64_t>{1} ? "" : "s", c.machine));
    }
    if (!lossless(c.scenario)) {
      list.items.push_back(fmt::format("{}: not lossless: its output differs from that of full-KV decoding", name));
    }
    if (!c.problem.empty()) list.items.push_back(fmt::format("{}: left out: {}", name, c.problem));
    if (c.problem.empty() && c.search.rate <= 0) {
      list.items.push_back(fmt::format("{}: no rate meets the objectives, not even when requests run alone", name));
    }
    if (!c.search.monotone) {
      list.items.push_back(
          fmt::format("{}: attainment is not monotone in the rate: a rate above {} requests/s passes though "
                      "a lower one fails; the rate given is the largest below which every probed one passes",
                      name, figure(c.search.fails_at)));
    }
  }
  list.items.insert(list.items.end(), notes.begin(), notes.end());
  return list;
}

/// "machine: what"; once each.
List fallbacks(const CapacityPlan& plan) {
  List list{"Fall-backs", {}};
  bool any_scaled = false;
  std::set<std::string> seen;
  for (const Configuration& c : plan.configurations) {
    any_scaled = any_scaled || scaled(c);
    for (const std::string& what : c.fallbacks()) {
      std::string line = fmt::format("{}: {}", machine(c), what);
      if (seen.insert(line).second) list.items.push_back(std::move(line));
    }
  }
  if (any_scaled) {
    list.items.insert(list.items.begin(),
                      "~: kernel times are not measured on this machine, but scaled from another or assumed");
  }
  return list;
}

}  // namespace

std::vector<std::string> price_lines(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  std::vector<std::string> lines;
  std::set<std::string> machines;
  for (const Configuration& c : plan.configurations) {
    if (!machines.insert(c.machine).second) continue;
    const models::Price* p = plan.request.prices.gpu(c.machine);
    lines.push_back(
        p ? price_line(c.machine, kPerGpuHour, *p)
          : fmt::format("{}: no price in the table, so its $ columns are empty: give one with --prices FILE",
                        c.machine));
  }
  const models::Price& dram = plan.request.prices.dram;
  lines.push_back(price_line("host memory", kPerGbMonth, dram));
  if (outcome.hit_rates || with_placement(plan)) {
    lines.push_back(price_line("SSD", kPerGbMonth, plan.request.prices.ssd));
  }
  return lines;
}

Page capacity_page(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  Page page;
  page.title = plan.configurations.front().scenario.name;
  page.subtitle = decision(plan);
  if (with_placement(plan)) {
    const std::vector<std::string> names = names_of(plan);
    if (plan.request.rate) page.tables.push_back(sized_fleets(plan, names));
    page.tables.push_back(sized_rates_table(plan, names, limits_of(plan)));
    page.tables.push_back(found_table(plan, names));
    page.tables.push_back(price_table(plan, names));
  } else {
    if (plan.request.rate) page.tables.push_back(fleets(plan));
    page.tables.push_back(rates(plan));
    page.tables.push_back(memory(plan));
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
  page.lists = {remarks(plan),
                fallbacks(plan),
                {"Prices", price_lines(outcome)},
                std::move(method),
                {"Assumptions of the scenario", plan.configurations.front().scenario.assumptions}};
  return page;
}

}  // namespace kvsim::results
