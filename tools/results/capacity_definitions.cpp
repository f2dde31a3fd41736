// Definitions of the words of a capacity plan, and the prices behind its costs.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/capacity.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

using planner::capacity::CapacityPlan;
using planner::capacity::Configuration;
using planner::capacity::Probe;

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
