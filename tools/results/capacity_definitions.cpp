#include <fmt/format.h>

#include "tools/results/capacity_document.h"
#include "tools/results/capacity_tiers.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

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
  return fmt::format(
      "found by {} replications of {} after {} of warm-up: at least {} requests for a statement about {:g} %, and long "
      "enough for a queue at a rate {:g} % too high to outgrow the objective; confirmed, or lowered until it passes, "
      "by "
      "{} of {} after {} of warm-up with other seeds, since queues near saturation relax over tens of minutes; the "
      "figures at the rate given are theirs, of {} judged requests",
      options.replications, seconds(search->length.judged_s), seconds(search->length.warmup_s),
      figure(planner::capacity::requests_needed(options)), options.target * 100, options.tolerance * 100,
      options.replications, seconds(p->length.judged_s), seconds(p->length.warmup_s), whole(p->attainment.requests));
}

std::string confidence_sentence(const Configuration& c, const planner::capacity::ProbeOptions& options) {
  const std::string spread =
      c.scenario.trace || options.replications == 1
          ? fmt::format("Student t over {} batches of consecutive requests, since {}", planner::capacity::kBatches,
                        c.scenario.trace ? "a trace arrives in one way only" : "there is one replication")
          : fmt::format("Student t over the attainments of {} replications, since requests within one are correlated",
                        options.replications);
  return fmt::format(
      "a rate passes if attainment >= {:g} % with one-sided confidence {:g} %: the smaller of two lower bounds, {}; "
      "and "
      "the exact binomial one (Clopper-Pearson), which without a miss is the rule of three and takes requests as "
      "independent",
      options.target * 100, options.confidence * 100, spread);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> capacity_definitions(const CapacityOutcome& outcome) {
  const planner::capacity::CapacityPlan& plan = outcome.plan;
  const Configuration& first = plan.configurations.front();
  std::vector<std::pair<std::string, std::string>> list{
      {"attainment",
       "share, among all requests that arrived in the judged part of a run, of those that met every objective; "
       "requests "
       "refused, or not finished when the run ends, are misses"},
      {"confidence", confidence_sentence(first, plan.request.probe)},
      {"run length", length_sentence(first, plan.request.probe)},
      {"rate",
       fmt::format("requests/s, within {:g} %: bracketed, then bisected, with the same random numbers at every rate",
                   plan.request.probe.tolerance * 100)},
      {"limit", "what most of the requests that miss do miss at the lowest rate that fails"},
      {"$/1M", with_placement(plan)
                   ? "$/h / (output tokens/s x 3600) x 1e6; GPUs, host memory, and every storage tier "
                     "with a capacity at the price of SSD"
                   : "$/h / (output tokens/s x 3600) x 1e6; GPUs, and host memory for KV priced on top"},
      with_placement(plan)
          ? std::pair<std::string, std::string>{"host memory", "as configured, whole: stored prompts fill it"}
          : std::pair<std::string, std::string>{
                "host memory", fmt::format("the most that KV had reserved in one replica's host memory, plus {:g} %",
                                           planner::capacity::kHostMemoryMargin * 100)}};
  if (first.scenario.serving.slo.itl_s) {
    list.emplace_back("ITL", "each request's largest gap between two tokens is judged, not the gaps of all requests");
  }
  if (plan.request.rate) {
    list.emplace_back(
        "fleet", fmt::format("the fewest replicas whose simulation together, under router {}, passes; beyond {} an "
                             "estimate from one replica. Headroom, at least: replicas x rate of one (alone, or in the "
                             "fleet) / required rate - 1",
                             first.scenario.serving.cluster.router, planner::capacity::kMostSimulatedReplicas));
    if (!with_placement(plan)) {
      list.emplace_back("ssd", "no storage tier is simulated, so a fleet has none; for a prefix cache see there");
    }
  }
  if (with_placement(plan)) {
    list.emplace_back("found",
                      "of the stored objects that prompts could be continued from, the share that each tier "
                      "held; nowhere: prefilled");
    list.emplace_back(
        "warm tiers",
        fmt::format(
            "{}; a tier is still filling if it had never been full and held over {:g} % more when the first run ended "
            "than after its "
            "warm-up",
            first.scenario.trace
                ? std::string("the warm-up is the beginning of the trace")
                : fmt::format("the warm-up has at least {} requests, after which at most 1 % meet a prefix that "
                              "none had before (20,000 at most)",
                              figure(planner::capacity::warming_requests(first.scenario))),
            planner::capacity::kStillFilling * 100));
  }
  if (outcome.hit_rates) {
    list.emplace_back("hit rate",
                      "share of the trace's prefix blocks that an LRU cache of this size would hold, prefixes evicted "
                      "last" +
                          std::string(with_placement(plan) ? "" : "; the simulated rates reuse no prefix"));
    list.emplace_back("prefix cache",
                      "the smallest cache with that share of the hits that one without end would have: all in DRAM, or "
                      "DRAM for 90 % of its hits and SSD for the older blocks; for the whole traffic, however many "
                      "replicas share it. What a hit saves is not simulated yet");
  }
  return list;
}

}  // namespace kvsim::results
