#include "tools/results/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/placement/option_pool.h"
#include "models/schema/units.h"
#include "planner/capacity/capacity_plan.h"
#include "tools/results/choice.h"
#include "tools/results/functional.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"
#include "tools/results/stated_error.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Fleet;
using planner::capacity::kHostTier;
using planner::capacity::Load;
using planner::capacity::Probe;
using planner::capacity::ProbeOptions;
using planner::capacity::TierFill;
using planner::capacity::TierSize;

/// Whether the kernel times of this machine are those of another, or of none, scaled.
bool scaled(const Configuration& c) {
  return c.scenario.serving.cluster.uniform().profile.measured_on != c.scenario.serving.cluster.uniform().gpu.name;
}

std::string machine(const Configuration& c) {
  return c.tensor_parallel == 1 ? c.machine : fmt::format("{}:{}", c.machine, c.tensor_parallel);
}

/// "TTFT p99 2 s, TPOT p99 50 ms for 99 % of requests (confidence 95 %)"; "TTFT <= 2 s" where another share than its
/// percentile names is asked for.
std::string objectives(const serving::SloConfig& slo, const ProbeOptions& options) {
  std::string text;
  for (const serving::SloObjective& o : slo.objectives()) {
    const bool own = !options.target || *options.target == serving::slo_share(o.percentile);
    text += fmt::format("{}{} {} {}", text.empty() ? "" : ", ",
                        serving::kSloMetrics.at(static_cast<std::size_t>(o.metric)).name,
                        own ? serving::percentile_name(o.percentile) : "<=", schema::format_time(o.limit_s));
  }
  const auto demands = planner::capacity::demands_of(slo, options);
  if (demands.size() == 1) text += fmt::format(" for {:g} % of requests", demands.front().share * 100);
  return text + fmt::format(" (confidence {:g} %{})", options.confidence * 100, demands.size() > 1 ? " each" : "");
}

std::string size(std::int64_t value) {
  return bytes(static_cast<double>(value));
}

/// "h100-sxm, 80 GB DRAM, ssd 800 GB": with the sizes that are varied.
std::string sized_name(const Configuration& c, std::string name) {
  for (const TierSize& s : c.sizes) name += ", " + size_words(s.tier, static_cast<double>(s.bytes));
  return name;
}

/// As what prompts are stored; empty where they are stored whole, or not at all.
std::string stored_as(const scenario::Scenario& s) {
  if (stores_whole(s)) return {};
  const models::OptionPool pool = models::option_pool(*s.serving.placement);
  if (pool.size() == 2) return fmt::format("prompts are stored as {}", pool.all().back().name);
  std::set<std::string> methods;
  for (const models::StorageOption& option : pool.all()) {
    methods.insert({option.method, option.quantiser});
  }
  methods.erase("");
  return fmt::format("prompts are stored whole or by {}", fmt::join(methods, ", "));
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

/// A load in words; sessions also as the requests that they bring: "33.30 sessions/s (199.8 requests/s)".
std::string load_of_plan(const CapacityPlan& plan, double rate) {
  const std::string words = load_figure(capacity_load(plan), rate);
  const auto requests = requests_of_sessions(plan.configurations.front().scenario, rate);
  return requests ? fmt::format("{} ({} requests/s)", words, figure(*requests)) : words;
}

/// "$139.00/h ($101,470 a month of 730 h; host memory is 32 % of it)".
std::string cost_words(const planner::capacity::HourlyCost& cost) {
  const auto total = cost.total();
  if (!total) return dollars(total) + "/h";
  const double share = dram_share(cost).value_or(0);
  return fmt::format("{}/h ({} a month of {:g} h{})", dollars(total), whole_dollars(usd_per_month(*total)),
                     models::kHoursPerMonth,
                     share > 0 ? fmt::format("; host memory is {:.0f} % of it", share * 100) : std::string());
}

/// What buying less would lead to; empty where there is nothing to say.
std::string next_cheaper_sentence(const CapacityPlan& plan, const std::vector<std::string>& names) {
  const auto next = plan.ranked_by_price ? planner::capacity::next_cheaper(plan) : std::nullopt;
  if (!next) return {};
  const std::string& name = names[static_cast<std::size_t>(next->configuration - plan.configurations.data())];
  const std::string why = next->why.empty() ? "estimated, not simulated" : next->why;
  if (plan.request.rate) {
    return fmt::format("Next cheaper and not enough: {} x {} for ${:.2f}/h: {}", next->replicas, name,
                       next->usd_per_hour, why);
  }
  if (next->rate <= 0) {
    return fmt::format("Next cheaper and not enough: {} for ${:.2f}/h meets the objectives at no rate: {}", name,
                       next->usd_per_hour, why);
  }
  return fmt::format("Next cheaper by the hour: {} for {}/h sustains {}, {} per 1M output tokens; just above it {}",
                     name, dollars(next->usd_per_hour), load_of_plan(plan, next->rate),
                     dollars(next->configuration->usd_per_million), why);
}

/// How warm tiers were, what is not priced, how to compare sizes.
std::vector<std::string> tier_remarks(const CapacityPlan& plan, const std::vector<std::string>& names) {
  std::vector<std::string> remarks;
  const Configuration& first = plan.configurations.front();
  if (plan.request.sizes.empty()) {
    // Other memory than a node's own is refused where the node has a price.
    remarks.push_back(fmt::format(
        "DRAM and storage are bought as the scenario has them: {}--storage NAME=400GB,800GB compare{} sizes",
        node_price(first.scenario.serving.cluster) ? "" : "--memory 40GB,80GB,160GB and ",
        node_price(first.scenario.serving.cluster) ? "s" : ""));
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

std::string length_sentence(const Configuration& c, const planner::capacity::ProbeOptions& options) {
  const Probe* p = c.sustained();
  if (!p) return {};
  if (c.scenario.trace) {
    return fmt::format(
        "{} judged requests of the trace in {}, after {} of warm-up, arrival times stretched to the rate",
        whole(p->attainment.requests), seconds(p->length.judged_s), seconds(p->length.warmup_s));
  }
  const Probe* search = c.last_of_search();
  const double share = planner::capacity::largest_share(c.scenario.serving.slo, options);
  return fmt::format(
      "found by {} of {} after {} of warm-up: at least {} requests for a statement about {:g} %, and long "
      "enough for a queue at a rate {:g} % too high to outgrow the objective; confirmed, or lowered until it passes, "
      "by {} of {} after {} of warm-up with other seeds, since queues near saturation relax over tens of minutes; the "
      "figures at the rate given are theirs, of {} judged requests",
      counted(options.replications, "replication"), seconds(search->length.judged_s), seconds(search->length.warmup_s),
      figure(planner::capacity::requests_needed(share)), share * 100, options.tolerance * 100, options.replications,
      seconds(p->length.judged_s), seconds(p->length.warmup_s), whole(p->attainment.requests));
}

std::string confidence_sentence(const Configuration& c, const planner::capacity::ProbeOptions& options) {
  const std::string spread =
      c.scenario.trace || options.replications == 1
          ? fmt::format("Student t over {} batches of consecutive requests, since {}", planner::capacity::kBatches,
                        c.scenario.trace ? "a trace arrives in one way only" : "there is one replication")
          : fmt::format("Student t over the attainments of {} replications, since requests within one are correlated",
                        options.replications);
  const auto demands = planner::capacity::demands_of(c.scenario.serving.slo, options);
  const std::string wanted = demands.size() == 1
                                 ? fmt::format("attainment >= {:g} %", demands.front().share * 100)
                                 : std::string("of every percentile the share that it names meets all of its limits");
  return fmt::format(
      "a rate passes if {} with one-sided confidence {:g} %: the smaller of two lower bounds, {}; "
      "and the exact binomial one (Clopper-Pearson), which without a miss is the rule of three and takes requests as "
      "independent",
      wanted, options.confidence * 100, spread);
}

}  // namespace

std::string output_differs(const Configuration& c) {
  if (lossless(c.scenario)) return {};
  std::string known = stored_as(c.scenario);
  if (const Probe* p = c.sustained(); p != nullptr && p->score) {
    known += fmt::format("{}task score {:.3f} of the full KV's; {}", known.empty() ? "" : "; ", *p->score,
                         functional_words(p->functional));
  }
  return lossy_output_words(known);
}

std::string margin_sentence(const Configuration& c) {
  if (!c.sustained() && !c.fleet) return {};
  const planner::capacity::ModelMargin& m = c.margin;
  const double confidence = (1 + m.error.confidence) / 2;  // one-sided
  const std::string why =
      fmt::format("with {:.4g} % confidence requests take at most {} as long as predicted ({}: {} measured points)",
                  confidence * 100, factor(m.slower), m.error.group, whole(m.error.points));
  const std::vector<std::string> unknown = not_measured(c.scenario);
  const std::string beside =
      unknown.empty() ? "" : fmt::format("; none of them has {}, whose error is not known", fmt::join(unknown, ", "));
  if (c.fleet) {
    return fmt::format("Against the error of the model itself, {}: {}{}", counted(m.replicas, "replica"), why, beside);
  }
  return fmt::format("Against the error of the model itself, {}: {}{}",
                     load_figure(planner::capacity::load_of(c.scenario), c.rate_with_model_error()), why, beside);
}

std::string cheaper_with_model_error(const CapacityPlan& plan) {
  const Configuration& first = plan.configurations.front();
  const auto cost = [](const Configuration& c) {
    const bool known = c.fleet && c.fleet->found && c.margin.usd_per_hour;
    return known ? *c.margin.usd_per_hour : std::numeric_limits<double>::infinity();
  };
  const auto least = std::min_element(plan.configurations.begin(), plan.configurations.end(),
                                      [&](const auto& a, const auto& b) { return cost(a) < cost(b); });
  if (!(cost(*least) < cost(first)) || !std::isfinite(cost(first))) return {};
  return fmt::format("Bought against that error, {} x {} under {} is cheaper: {}/h, and {} x {} {}/h",
                     least->margin.replicas, sized_name(*least, machine(*least)), least->policy, dollars(cost(*least)),
                     first.margin.replicas, sized_name(first, machine(first)), dollars(cost(first)));
}

std::string placement_words(const Configuration& c) {
  const bool fewer_fail = std::any_of(c.failed_sizes.begin(), c.failed_sizes.end(),
                                      [&c](std::int64_t gpus) { return gpus < c.tensor_parallel; });
  if (c.placement != planner::capacity::Placement::smallest || !fewer_fail) {
    return std::string(planner::capacity::words_of(c.placement));
  }
  return c.sustained() ? "the smallest power of two that meets the objectives"
                       : "the nearest to the objectives, which no number of GPUs meets";
}

planner::capacity::Load capacity_load(const CapacityPlan& plan) {
  return planner::capacity::load_of(plan.configurations.front().scenario);
}

std::string load_number(Load load, double rate) {
  return load == Load::users && std::isfinite(rate) ? fmt::format("{:.0f}", std::floor(rate)) : figure(rate);
}

std::string load_figure(Load load, double rate) {
  if (load == Load::users) return planner::capacity::load_text(std::floor(rate), load);
  return fmt::format("{} {}", load_number(load, rate), planner::capacity::words_of(load));
}

std::optional<double> requests_of_sessions(const scenario::Scenario& scenario, double sessions_per_s) {
  if (planner::capacity::load_of(scenario) != Load::sessions) return std::nullopt;
  return sessions_per_s * planner::capacity::requests_per_session(scenario);
}

double usd_per_month(double usd_per_hour) {
  return usd_per_hour * models::kHoursPerMonth;
}

std::string whole_dollars(double usd) {
  return "$" + whole(std::llround(usd));
}

std::optional<double> dram_share(const planner::capacity::HourlyCost& cost) {
  const auto total = cost.total();
  if (!total || !(*total > 0)) return std::nullopt;
  return cost.host_memory / *total;
}

std::string in_nodes(std::int64_t nodes, std::int64_t gpus_of_one) {
  return nodes > 0 ? fmt::format(" in {} of {}", counted(nodes, "node"), gpus_of_one) : std::string();
}

std::optional<std::int64_t> gpus_per_node(const Configuration& c) {
  const auto& node = c.scenario.serving.cluster.node;
  return node ? std::optional(node->gpus) : std::nullopt;
}

bool with_placement(const CapacityPlan& plan) {
  return plan.configurations.front().scenario.serving.placement.has_value();
}

bool with_node_memory(const CapacityPlan& plan) {
  const auto& node = plan.configurations.front().scenario.serving.cluster.node;
  return node && node->memory_bytes;
}

std::string marked_machine(const Configuration& c) {
  return machine(c) + (scaled(c) ? " ~" : "");
}

std::string size_words(std::string_view tier, double size) {
  return tier == kHostTier ? fmt::format("{} DRAM", bytes(size)) : fmt::format("{} {}", tier, bytes(size));
}

std::vector<std::string> names_of(const CapacityPlan& plan) {
  const auto& all = plan.configurations;
  const bool policies =
      std::any_of(all.begin(), all.end(), [&](const Configuration& c) { return c.policy != all.front().policy; });
  std::vector<std::string> names;
  for (const Configuration& c : all) {
    names.push_back(sized_name(c, marked_machine(c)) + (policies ? fmt::format(", {}", c.policy) : ""));
  }
  return names;
}

namespace {

std::string interrupted_sentence(const CapacityPlan& plan) {
  return fmt::format("{} of {} configurations {} not done, and {}may be cheaper", plan.stopped,
                     plan.configurations.size(), plan.stopped == 1 ? "was" : "were",
                     plan.stopped == 1 ? "" : "any of them ");
}

/// " (3 more replicas fit)" into nodes that are bought; empty where none does, or GPUs are bought alone.
std::string room_in_nodes(const Fleet& fleet, const serving::ClusterConfig& cluster) {
  if (fleet.nodes == 0) return {};
  std::int64_t more = 0;
  while (serving::nodes_for(cluster, fleet.replicas + more + 1) == fleet.nodes) ++more;
  if (more == 0) return {};
  return fmt::format(" ({} more {})", more, more == 1 ? "replica fits" : "replicas fit");
}

}  // namespace

std::vector<std::string> capacity_decision(const CapacityPlan& plan) {
  const Configuration& c = plan.configurations.front();
  std::vector<std::string> lines;
  const std::string within = "within " + objectives(c.scenario.serving.slo, plan.request.probe);
  const std::string difference = output_differs(c);
  const std::string differs = difference.empty() ? "" : fmt::format(" ({})", difference);
  if (c.fleet) {
    const Fleet& f = *c.fleet;
    lines.push_back(fmt::format(
        "{} {} x {} under {}{} for {} {}{}: {} {}{}, {}, {} per 1M output tokens{}{}",
        plan.stopped > 0 ? "Best so far:" : "Buy", whole(f.replicas), sized_name(c, machine(c)), c.policy,
        f.replicas > 1 ? fmt::format(" behind router {}", c.scenario.serving.cluster.router) : std::string(),
        load_of_plan(plan, *plan.request.rate), within, f.n_minus_1 ? ", also with one replica less" : "",
        whole(f.gpus),
        (f.gpus == 1 ? "GPU" : "GPUs") + in_nodes(f.nodes, gpus_per_node(c).value_or(0)) +
            room_in_nodes(f, c.scenario.serving.cluster),
        with_placement(plan)
            ? fmt::format(", {} of host memory and {} of storage", bytes_of_gb(f.dram_gb), bytes_of_gb(f.ssd_gb))
            : fmt::format(" and {} of host memory", bytes_of_gb(f.dram_gb)),
        cost_words(f.cost), dollars(f.usd_per_million), differs,
        f.subset() ? fmt::format("; {} of the {} replicas were simulated, at the same load per replica", f.simulated,
                                 whole(f.needed))
                   : std::string()));
  } else {
    const double tokens = c.sustained()->tokens_per_s / static_cast<double>(c.scenario.serving.cluster.replicas());
    lines.push_back(
        fmt::format("{} replica of {} under {} sustains {} {}: {} output tokens/s, {}, {} per 1M output tokens{}",
                    plan.stopped > 0 ? "Best so far: one" : "One", sized_name(c, machine(c)), c.policy,
                    load_of_plan(plan, c.rate_per_replica()), within, figure(tokens), cost_words(c.cost),
                    dollars(c.usd_per_million), differs));
    if (!c.no_fleet.empty()) {
      lines.push_back(fmt::format("No fleet for {}: {}", load_of_plan(plan, *plan.request.rate), c.no_fleet));
    }
  }
  if (plan.stopped > 0) {
    lines.push_back(fmt::format("Interrupted: {}.", interrupted_sentence(plan)));
  }
  lines.push_back(margin_sentence(c));
  if (std::string other = cheaper_with_model_error(plan); !other.empty()) lines.push_back(std::move(other));
  if (!plan.ranked_by_price) {
    lines.emplace_back(plan.request.rate ? "Ordered by GPUs, because a price is missing."
                                         : fmt::format("Ordered by {} per GPU, because a price is missing.",
                                                       planner::capacity::words_of(capacity_load(plan))));
  }
  if (!plan.request.sizes.empty()) {
    if (std::string next = next_cheaper_sentence(plan, names_of(plan)); !next.empty()) lines.push_back(std::move(next));
  }
  return lines;
}

namespace {

/// For traces, which arrive in one way only.
constexpr const char* kJudgedByLatency =
    "; where the trace ends in a burst that is answered later, give an objective of TTFT or E2E (--slo ttft_p99=2s), "
    "which judges the wait itself";

}  // namespace

List capacity_remarks(const CapacityPlan& plan) {
  List list{"Remarks", {}};
  std::set<std::string> notes;  // one for each machine, whatever its policies
  const std::int64_t replicas = plan.configurations.front().scenario.serving.cluster.replicas();
  if (replicas > 1) {
    list.items.push_back(fmt::format(
        "the scenario has {} replicas: they were simulated together, and a replica's rate is their share", replicas));
  }
  const serving::SloConfig& slo = plan.configurations.front().scenario.serving.slo;
  if (slo.quality_floor || slo.functional_floor) {
    list.items.push_back(fmt::format(
        "a policy whose answers are below {}{}{} in the mean is left out; attainment is of latencies alone",
        slo.quality_floor ? "slo.quality_floor" : "", slo.quality_floor && slo.functional_floor ? " or " : "",
        slo.functional_floor ? "slo.functional_floor" : ""));
  }
  if (std::string said = stored_prompts_sentence(plan.configurations.front().scenario); !said.empty()) {
    list.items.push_back(std::move(said));
  }
  if (with_placement(plan)) {
    for (std::string& remark : tier_remarks(plan, names_of(plan))) list.items.push_back(std::move(remark));
  }
  for (const Configuration& c : plan.configurations) {
    const std::string name = fmt::format("{}, {}", sized_name(c, machine(c)), c.policy);
    if (c.placement == planner::capacity::Placement::smallest && c.problem.empty()) {
      notes.insert(fmt::format("{}: {} GPU{} per replica, {}", c.machine, c.tensor_parallel,
                               c.tensor_parallel == 1 ? "" : "s", placement_words(c)));
    }
    if (const std::int64_t scorers = c.scenario.serving.cluster.uniform().scorer_gpus; scorers > 0 && c.sustained()) {
      notes.insert(fmt::format("{}: {} GPUs per replica, {} of which only score{}", name, c.gpus_per_replica(), scorers,
                               scorers == 1 ? "s" : ""));
    }
    if (!c.failed_sizes.empty()) {
      list.items.push_back(fmt::format("{}: {} GPU{} per replica met the objectives at no rate; {}:TP chooses others",
                                       name, fmt::join(c.failed_sizes, ", "),
                                       c.failed_sizes == std::vector<std::int64_t>{1} ? "" : "s", c.machine));
    }
    if (const std::string difference = output_differs(c); !difference.empty()) {
      list.items.push_back(fmt::format("{}: not lossless: {}", name, difference));
    }
    if (!c.problem.empty()) list.items.push_back(fmt::format("{}: left out: {}", name, c.problem));
    if (!c.no_fleet.empty()) list.items.push_back(fmt::format("{}: no fleet: {}", name, c.no_fleet));
    if (c.problem.empty() && c.search.rate <= 0) {
      list.items.push_back(fmt::format("{}: {}", name,
                                       c.too_much ? planner::capacity::too_much_words(c)
                                                  : "no rate meets the objectives, not even when requests run alone"));
    }
    if (const Probe* failure = c.first_failure(); failure != nullptr && c.limited_by() == planner::capacity::kQueue) {
      list.items.push_back(fmt::format("{}: at {} the system does not keep up: {}{}", name,
                                       load_of_plan(plan, failure->rate), failure->unsteady,
                                       c.scenario.trace ? kJudgedByLatency : ""));
    }
    if (const Probe* p = c.sustained(); p != nullptr && p->unseen > plan.request.probe.tolerance) {
      list.items.push_back(fmt::format(
          "{}: no objective has the wait in it, and the queue of {} judged requests does not tell a rate "
          "{:.1f} % above what is served from one that is served: more requests do ({}), or an objective of "
          "TTFT or E2E (--slo ttft_p99=2s)",
          name, whole(p->attainment.requests), p->unseen * 100,
          c.scenario.trace ? "a longer trace" : "a longer run.duration"));
    }
    if (!c.search.monotone) {
      list.items.push_back(
          fmt::format("{}: attainment is not monotone in the rate: a rate above {} passes though a lower one fails; "
                      "the rate given is the largest below which every probed one passes",
                      name, load_of_plan(plan, c.search.fails_at)));
    }
  }
  list.items.insert(list.items.end(), notes.begin(), notes.end());
  std::vector<std::pair<std::string, double>> launched;
  for (const Configuration& c : plan.configurations) {
    if (const Probe* p = c.sustained()) {
      launched.emplace_back(fmt::format("{}, {}", sized_name(c, machine(c)), c.policy), p->launched);
    }
  }
  if (std::string words = launched_words(std::move(launched)); !words.empty()) list.items.push_back(std::move(words));
  return list;
}

namespace {

/// The names of some configurations; a machine's where they are all of it.
std::string whose(const CapacityPlan& plan, const std::set<std::size_t>& some) {
  const std::vector<std::string> names = names_of(plan);
  std::map<std::string, std::vector<std::size_t>> by_machine;
  for (std::size_t i = 0; i < names.size(); ++i) by_machine[marked_machine(plan.configurations[i])].push_back(i);
  std::vector<std::string> said;
  for (const std::size_t i : some) {
    const std::string own = marked_machine(plan.configurations[i]);
    const std::vector<std::size_t>& all = by_machine[own];
    const bool whole = std::all_of(all.begin(), all.end(), [&some](std::size_t other) { return some.contains(other); });
    if (!whole) {
      said.push_back(names[i]);
    } else if (i == all.front()) {
      said.push_back(own);
    }
  }
  return fmt::format("{}", fmt::join(said, "; "));
}

}  // namespace

std::vector<std::string> named_fallbacks(const CapacityPlan& plan) {
  std::vector<std::pair<std::string, std::set<std::size_t>>> found;  // what, and of which configurations
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    for (const std::string& what : plan.configurations[i].fallbacks()) {
      auto known = std::find_if(found.begin(), found.end(), [&what](const auto& one) { return one.first == what; });
      if (known == found.end()) known = found.insert(known, {what, {}});
      known->second.insert(i);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [what, of] : found) lines.push_back(fmt::format("{}: {}", whose(plan, of), what));
  return lines;
}

List capacity_fallbacks(const CapacityPlan& plan) {
  List list{"Fall-backs", named_fallbacks(plan)};
  if (std::any_of(plan.configurations.begin(), plan.configurations.end(), scaled)) {
    list.items.insert(list.items.begin(),
                      "~: kernel times are not measured on this machine, but scaled from another or assumed");
  }
  return list;
}

std::vector<std::pair<std::string, std::string>> capacity_definitions(const CapacityOutcome& outcome) {
  const planner::capacity::CapacityPlan& plan = outcome.plan;
  const Configuration& first = plan.configurations.front();
  std::vector<std::pair<std::string, std::string>> list{
      {"attainment",
       "share, among all requests that arrived in the judged part of a run, of those that met every objective; "
       "requests refused, or not finished when the run ends, are misses"},
      {"confidence", confidence_sentence(first, plan.request.probe)},
      {"run length", length_sentence(first, plan.request.probe)},
      {"rate", fmt::format("{}, within {:g} %: bracketed, then bisected, with the same random numbers at every rate",
                           planner::capacity::words_of(capacity_load(plan)), plan.request.probe.tolerance * 100)},
      {"keeping up",
       "without an objective of TTFT or E2E, which have the wait in them, a rate passes only if the queue does not "
       "grow: no more requests wait for admission when the last judged one has come than when judging began, chance "
       "aside"},
      {"limit",
       "what most of the requests that miss do miss at the lowest rate that fails; queue: they meet the objectives "
       "there, and more come than are served"},
      {"$/1M", with_placement(plan)
                   ? "$/h / (output tokens/s x 3600) x 1e6; GPUs, host memory, and every storage tier with a capacity "
                     "at the price of SSD"
                   : "$/h / (output tokens/s x 3600) x 1e6; GPUs, and host memory for KV priced on top"},
      {"host memory", with_node_memory(plan) ? "all that the nodes have"
                                             : "as configured (cluster.host.memory of each replica), used or not"}};
  const auto sketched = [](const Configuration& c) {
    return std::any_of(c.probes.begin(), c.probes.end(), [](const Probe& p) { return p.sketched; });
  };
  if (std::any_of(plan.configurations.begin(), plan.configurations.end(), sketched)) {
    list.emplace_back("percentiles", kSketched);
  }
  if (first.scenario.serving.slo.limits(serving::SloMetric::itl)) {
    list.emplace_back("ITL", kItlJudged);
  }
  if (plan.request.rate) {
    list.emplace_back(
        "fleet",
        fmt::format(
            "the fewest replicas whose simulation together, behind router {}, passes; of more than {} replicas {} are "
            "simulated, at the same load per replica. Headroom, at least: replicas x rate of one (alone, or in the "
            "fleet) / required rate - 1; 0 where "
            "that is below {:g} %, within which rates are known: the fleet is at its limit",
            first.scenario.serving.cluster.router,
            planner::capacity::independent_replicas(first.scenario) ? planner::capacity::kSubsetReplicas
                                                                    : planner::capacity::kMostSimulatedReplicas,
            planner::capacity::kSubsetReplicas, plan.request.probe.tolerance * 100));
    if (!with_placement(plan)) {
      list.emplace_back("ssd", "no storage tier is simulated, so a fleet has none; for a prefix cache see there");
    }
  }
  if (with_placement(plan)) {
    list.emplace_back("found",
                      "of the stored objects that prompts could be continued from, the share that each tier held; "
                      "nowhere: prefilled");
    list.emplace_back(
        "warm tiers",
        fmt::format("{}; a tier is still filling if it had never been full and held over {:g} % more when the first "
                    "run ended than after its warm-up",
                    first.scenario.trace ? std::string("the warm-up is the beginning of the trace")
                                         : fmt::format("the warm-up has at least {} requests, after which at most 1 % "
                                                       "meet a prefix that none had before (20,000 at most)",
                                                       figure(planner::capacity::warming_requests(first.scenario))),
                    planner::capacity::kStillFilling * 100));
  }
  if (outcome.hit_rates) {
    list.emplace_back(
        "hit rate",
        "share of the trace's prefix blocks that an LRU cache of this size would hold, prefixes evicted last" +
            std::string(with_placement(plan) ? "" : "; the simulated rates reuse no prefix"));
    list.emplace_back("prefix cache",
                      "the smallest cache with that share of the hits that one without end would have: all in DRAM, or "
                      "DRAM for 90 % of its hits and SSD for the older blocks; for the whole traffic, however many "
                      "replicas share it. What a hit saves is simulated where a scenario has `placement`");
  }
  if (plan.stopped > 0) list.emplace_back("interrupted", interrupted_sentence(plan));
  return list;
}

bool prices_memory(const CapacityOutcome& outcome) {
  const auto& all = outcome.plan.configurations;
  return outcome.hit_rates || std::any_of(all.begin(), all.end(), [](const Configuration& c) {
           return !node_price(c.scenario.serving.cluster);
         });
}

std::vector<std::string> price_lines(const CapacityOutcome& outcome) {
  const CapacityPlan& plan = outcome.plan;
  std::vector<std::string> lines = price_lines(capacity_prices(outcome));
  std::set<std::string> machines;
  for (const Configuration& c : plan.configurations) {
    if (!machines.insert(c.machine).second) continue;
    std::string none = unpriced_line(c.scenario.serving.cluster, plan.request.prices, "columns are");
    if (!none.empty()) lines.push_back(std::move(none));
  }
  return lines;
}

}  // namespace kvsim::results
