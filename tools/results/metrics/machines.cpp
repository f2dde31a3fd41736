// Machines of a run: GPUs, links and tiers.
#include <fmt/format.h>

#include "sim/cache/prompt_cache.h"
#include "sim/serving/bottleneck.h"
#include "tools/results/metrics/metric.h"

namespace kvsim::results {
namespace {

using serving::Measurements;
using serving::TierMeasurement;

bool waits(const serving::TimePartName& part) {
  return part.part == &serving::Bottleneck::link || part.part == &serving::Bottleneck::front_end ||
         part.part == &serving::Bottleneck::idle;
}

constexpr std::string_view kLoadsBeside =
    "a link loads for some requests while others are computed: only a run with twice the resource shows what that "
    "brings";

/// A figure of the account of the replicas' time.
template <class Get>
auto of_bottleneck(Get get) {
  return [get](const View& v) {
    return v.measured().capacity_s > 0 ? Figure{get(serving::bottleneck(v.measured()))} : missing(kNoTime);
  };
}

/// A share of the replicas' time.
auto time_share(double Measurements::*time_s) {
  return [time_s](const View& v) {
    const double whole_s = v.measured().capacity_s;
    return ratio(at_most_whole(v.measured().*time_s, whole_s), whole_s, kNoTime);
  };
}

/// Those that simulations of the scenario measure.
std::vector<std::string> possible_links(const scenario::Scenario& scenario) {
  const serving::ServingConfig& c = scenario.serving;
  const serving::Topology topology = c.cluster.topology();
  std::vector<std::string> names;
  for (const serving::InstancePool& pool : topology.instances) {
    if (pool.group.count == 0) continue;
    names.push_back(fmt::format("{}_to_{}", topology.memory.name, pool.group.name));
    names.push_back(fmt::format("{}_to_{}", pool.group.name, topology.memory.name));
  }
  if (!c.placement) return names;
  for (const cache::StoreTier& tier : cache::store_config(c).tiers) {
    if (tier.kind == cache::TierKind::gpu) names.emplace_back("within_gpu");
    if (tier.kind == cache::TierKind::device) names.insert(names.end(), {tier.name + "_read", tier.name + "_write"});
  }
  return names;
}

std::vector<std::string> possible_tiers(const scenario::Scenario& scenario) {
  if (!scenario.serving.placement) return {std::string(scenario.serving.cluster.topology().memory.name)};
  std::vector<std::string> names;
  for (const cache::StoreTier& tier : cache::store_config(scenario.serving).tiers) names.push_back(tier.name);
  return names;
}

transport::LinkTotals link(const View& v) {
  const auto found = v.measured().links.find(v.name);
  return found == v.measured().links.end() ? transport::LinkTotals{} : found->second;
}

TierMeasurement tier(const View& v) {
  const auto found = v.measured().tiers.find(v.name);
  return found == v.measured().tiers.end() ? TierMeasurement{} : found->second;
}

}  // namespace

const Condition kTokenises{"where the engine takes time to tokenise", [](const scenario::Scenario& s) {
                             return s.serving.schedule.engine && s.serving.schedule.engine->tokenise_s.value > 0;
                           }};
const Names kLinks{"link", [](const Outcome& o) { return keys_of(o.result.measured.links); }, possible_links};
const Names kTiers{"tier", [](const Outcome& o) { return keys_of(o.result.measured.tiers); }, possible_tiers};

Metrics machine_metrics() {
  Metrics rows = quality_metrics();
  append(rows,
         {{"gpu.busy_fraction", kShare, kHigher, "share of the replicas' time with an iteration under way",
           time_share(&Measurements::busy_s)},
          {"gpu.hbm_peak_bytes", kBytes, kLower,
           "weights, and KV that is there (not merely reserved) and that a request refers to, in the memory of one "
           "replica's "
           "GPUs, at most",
           [](const View& v) { return count(v.measured().hbm_peak_bytes); }},
          {"gpu.hbm_mean_bytes", kBytes, kLower,
           "weights and KV in the memory of one replica, mean over replicas and time",
           [](const View& v) { return number(v.measured().hbm_mean_bytes, kNoTime); }}});
  for (const serving::TimePartName& part : serving::kTimeParts) {
    rows.push_back({fmt::format("gpu.bound_by.{}", part.key), kShare, waits(part) ? kLower : kNeither,
                    fmt::format("share of the replicas' time {}", part.time),
                    of_bottleneck([&part](const serving::Bottleneck& b) { return (b.*part.part).share; })});
  }
  for (const serving::TimePartName& part : serving::kTimeParts) {
    if (part.more.empty()) continue;
    rows.push_back({fmt::format("gpu.twice.{}", part.key), kShare, kNeither,
                    fmt::format("how much faster the same iterations would be with {}, from the account of each "
                                "iteration's time: to first order the gain in output tokens/s of a closed loop whose "
                                "users do not pause",
                                part.more),
                    [&part](const View& v) {
                      return v.measured().capacity_s > 0
                                 ? number((serving::bottleneck(v.measured()).*part.part).gain, kLoadsBeside)
                                 : missing(kNoTime);
                    }});
  }
  rows.push_back({"gpu.link_in_use", kShare, kNeither,
                  "share of the time in which the busiest link carried transfers that no iteration waited for: loads "
                  "and stores for some requests while others were computed",
                  of_bottleneck([](const serving::Bottleneck& b) { return b.link_in_use; })});
  append(rows,
         {{"tokeniser.busy_fraction", kShare, kNeither,
           "share of the time in which the thread that turns a replica's prompts into tokens was at work "
           "(schedule.engine.tokenise), mean over replicas; near 1 it is what binds, whatever the GPUs' time went to",
           [](const View& v) {
             const double whole_s = v.measured().tokenisers_s;
             return ratio(at_most_whole(v.measured().tokenising_s, whole_s), whole_s, kNoTime);
           },
           &kTokenises}});
  append(
      rows,
      for_each(kLinks,
               {{"links.*.utilisation", kShare, kNeither, "share of time with at least one transfer on the link",
                 [](const View& v) {
                   return ratio(at_most_whole(link(v).busy_s, link(v).capacity_s), link(v).capacity_s, kNoTime);
                 }},
                {"links.*.bytes", kBytes, kLower, "bytes that crossed the link",
                 [](const View& v) { return count(link(v).bytes); }},
                {"links.*.mean_wait_s", kSeconds, kLower, "from a transfer's request to its start", [](const View& v) {
                   return ratio(link(v).wait_s, static_cast<double>(link(v).transfers),
                                "no transfer began in the measured time");
                 }}}));
  append(rows, for_each(kTiers, {{"tiers.*.hits", kCount, kHigher,
                                  "objects of prompts (contexts, blocks or chunks) found in the tier and loaded",
                                  [](const View& v) { return count(tier(v).hits); }},
                                 {"tiers.*.misses", kCount, kLower,
                                  "all the others that were looked for, wherever they were found",
                                  [](const View& v) { return count(tier(v).misses); }},
                                 {"tiers.*.hit_rate", kShare, kHigher, "hits of the tier / (hits + misses)",
                                  [](const View& v) {
                                    return ratio(static_cast<double>(tier(v).hits),
                                                 static_cast<double>(tier(v).hits + tier(v).misses),
                                                 "no prompt was looked up in the measured time");
                                  }},
                                 {"tiers.*.bytes_peak", kBytes, kLower, "most reserved in one replica's tier",
                                  [](const View& v) { return count(tier(v).bytes_peak); }},
                                 {"tiers.*.evictions", kCount, kLower, "objects that made room for others",
                                  [](const View& v) { return count(tier(v).evictions); }}}));
  return rows;
}

}  // namespace kvsim::results
