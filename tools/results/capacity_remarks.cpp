// Remarks on single configurations of a capacity plan, and figures that had to be replaced.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/capacity.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"
#include "tools/results/time_account.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Probe;
using planner::capacity::TierFill;

std::string size(std::int64_t value) {
  return bytes(static_cast<double>(value));
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
    const std::string name = fmt::format("{}, {}", sized_name(c, machine_words(c)), c.policy);
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
      launched.emplace_back(fmt::format("{}, {}", sized_name(c, machine_words(c)), c.policy), p->launched);
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
  if (std::any_of(plan.configurations.begin(), plan.configurations.end(), scaled_times)) {
    list.items.insert(list.items.begin(),
                      "~: kernel times are not measured on this machine, but scaled from another or assumed");
  }
  return list;
}

}  // namespace kvsim::results
