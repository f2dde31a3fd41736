#include "tools/results/capacity.h"

#include <algorithm>
#include <cmath>
#include <limits>
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
using planner::capacity::TierSize;

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

/// "$139.00/h ($101,470 a month of 730 h; host memory is 32 % of it)".
std::string cost_words(const planner::capacity::HourlyCost& cost) {
  const auto total = cost.total();
  if (!total) return dollars(total) + "/h";
  const double share = dram_share(cost).value_or(0);
  return fmt::format("{}/h ({} a month of {:g} h{})", dollars(total), whole_dollars(usd_per_month(*total)),
                     models::kHoursPerMonth,
                     share > 0 ? fmt::format("; host memory is {:.0f} % of it", share * 100) : std::string());
}

/// Sentence on what buying less would lead to; empty where there is nothing to say.
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
                     least->margin.replicas, sized_name(*least, machine_words(*least)), least->policy,
                     dollars(cost(*least)), first.margin.replicas, sized_name(first, machine_words(first)),
                     dollars(cost(first)));
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

bool scaled_times(const Configuration& c) {
  return c.scenario.serving.cluster.uniform().profile.measured_on != c.scenario.serving.cluster.uniform().gpu.name;
}

std::string machine_words(const Configuration& c) {
  return c.tensor_parallel == 1 ? c.machine : fmt::format("{}:{}", c.machine, c.tensor_parallel);
}

std::string sized_name(const Configuration& c, std::string name) {
  for (const TierSize& s : c.sizes) name += ", " + size_words(s.tier, static_cast<double>(s.bytes));
  return name;
}

std::string load_of_plan(const CapacityPlan& plan, double rate) {
  const std::string words = load_figure(capacity_load(plan), rate);
  const auto requests = requests_of_sessions(plan.configurations.front().scenario, rate);
  return requests ? fmt::format("{} ({} requests/s)", words, figure(*requests)) : words;
}

std::string interrupted_sentence(const CapacityPlan& plan) {
  return fmt::format("{} of {} configurations {} not done, and {}may be cheaper", plan.stopped,
                     plan.configurations.size(), plan.stopped == 1 ? "was" : "were",
                     plan.stopped == 1 ? "" : "any of them ");
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
  return machine_words(c) + (scaled_times(c) ? " ~" : "");
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
        plan.stopped > 0 ? "Best so far:" : "Buy", whole(f.replicas), sized_name(c, machine_words(c)), c.policy,
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
                    plan.stopped > 0 ? "Best so far: one" : "One", sized_name(c, machine_words(c)), c.policy,
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

}  // namespace kvsim::results
