// Random pools for properties: whatever the paths, and however short memories and links are. Within a rapidcheck
// property.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/paths/path.h"

namespace kvsim::testing {

inline std::string random_dispatch() {
  const auto policy = *rc::gen::element<std::string>("online", "admit", "weighted");
  std::vector<std::string> paths, weights;
  for (const models::Path path : models::kAllPaths) {
    if (!*rc::gen::arbitrary<bool>()) continue;
    paths.emplace_back(path_name(path));
    weights.push_back(fmt::format("{}: {}", path_name(path), *rc::gen::inRange(1, 9)));
  }
  if (paths.empty()) return "dispatch={policy: online}";
  if (policy == "weighted")
    return fmt::format("dispatch={{policy: weighted, weights: {{{}}}}}", fmt::join(weights, ", "));
  return fmt::format("dispatch={{policy: {}, paths: [{}]}}", policy, fmt::join(paths, ", "));
}

inline std::string random_outages() {
  if (*rc::gen::arbitrary<bool>()) return "[]";
  return fmt::format("[{{at: {} s, lasting: {} s, bandwidth: {}}}]", *rc::gen::inRange(1, 20), *rc::gen::inRange(1, 30),
                     *rc::gen::element(0.0, 0.3));
}

/// Overrides of pools_scenario(): 30 requests.
inline std::vector<std::string> random_pools() {
  std::vector<std::string> sets = {
      random_dispatch(),
      fmt::format("cluster.gpu.memory_fraction={:.2f}", *rc::gen::inRange(24, 60) / 100.0),
      fmt::format("cluster.pools.local.nodes={}", *rc::gen::inRange(1, 3)),
      fmt::format("cluster.pools.remote.nodes={}", *rc::gen::inRange(1, 4)),
      fmt::format("cluster.pools.local.link.read={} GB/s", *rc::gen::inRange(1, 60)),
      fmt::format("cluster.pools.remote.link.read={} GB/s", *rc::gen::inRange(1, 10)),
      "cluster.pools.local.link.gathers=[{name: rows, per_row: 50 ns}]",
      "cluster.pools.remote.link.gathers=[{name: rows, per_row: 10 ns}]",
      fmt::format("cluster.pools.local.outages={}", random_outages()),
      fmt::format("cluster.pools.remote.outages={}", random_outages()),
      fmt::format("cluster.pools.message_latency={} ms", *rc::gen::inRange(0, 100)),
      fmt::format("decode.draft_length={}", *rc::gen::inRange(1, 40)),
      fmt::format("schedule.max_requests={}", *rc::gen::inRange(1, 40)),
      fmt::format("schedule.max_batched_tokens={}", *rc::gen::inRange(100, 4096)),
      fmt::format("prefill={}", *rc::gen::element<std::string>("stored", "recompute", "prefix_cache")),
      fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
      fmt::format("workload={{arrivals: {{process: gamma, rate: {}/s, cv: 3}}, requests: 30, prefixes: {{count: 4, "
                  "tokens: {} tokens}}, context: {{distribution: lognormal, mean: {} tokens, cv: 1, max: 30k tokens}}, "
                  "output: {{distribution: exponential, mean: {} tokens, max: 2k tokens}}}}",
                  *rc::gen::inRange(1, 50), *rc::gen::inRange(1, 4000), *rc::gen::inRange(10, 10000),
                  *rc::gen::inRange(1, 200)),
  };
  if (*rc::gen::arbitrary<bool>()) sets.emplace_back("cluster.pools.remote.shared=3 GB/s");
  if (*rc::gen::arbitrary<bool>()) sets.emplace_back("cluster.pools.storage.read=5 GB/s");
  const auto policy = *rc::gen::element<std::string>("draft_verify", "draft_verify", "lossy", "full_kv", "drafter",
                                                     "lossy+drafter", "draft_verify+drafter", "quantised_only",
                                                     "speculative_prefetch", "speculative_prefetch+drafter",
                                                     "fetch_on_demand", "full_offload", "full_offload+drafter");
  const bool pairs = policy.starts_with("speculative") || policy == "fetch_on_demand" || policy == "quantised_only";
  const bool verifies = policy.starts_with("draft_verify");
  if (!verifies) sets.front() = "dispatch={policy: online}";
  sets.insert(sets.begin(),
              fmt::format("decode={{policy: {}, compressor: {}, drafter: {{type: eagle3-llama-3.1-8b}}, draft_lengths: "
                          "{{policy: {}, maximum: 40}}}}",
                          policy, pairs ? "kivi-4bit" : *rc::gen::element("kvzip, keep_ratio: 0.3", "kivi-4bit"),
                          *rc::gen::element("fixed", "adaptive", "goodput")));
  if (!verifies && (policy == "full_kv" || policy == "drafter") && *rc::gen::arbitrary<bool>()) {
    sets.emplace_back("prefill=prefix_cache");
    sets.push_back(fmt::format("cluster.pools.storage.capacity={} MB", *rc::gen::inRange(1, 3000)));
    sets.push_back(
        fmt::format("cluster.storage=[{{name: ssd, capacity: {} MB, read: 2 GB/s, latency: 1 ms}}, {{name: far, "
                    "read: 1 GB/s}}]",
                    *rc::gen::inRange(1, 3000)));
    sets.push_back(fmt::format("placement={{policy: {}}}",
                               *rc::gen::element("lru", "arc", "sieve", "lru, compressor: kvzip, keep_ratio: 0.3",
                                                 "lru, compressor: kivi-4bit", "utility", "none")));
  }
  sets.push_back(fmt::format("schedule.asynchronous={}", *rc::gen::arbitrary<bool>()));
  sets.push_back(fmt::format("schedule.arrival={}", *rc::gen::element("whole", "layerwise")));
  sets.push_back(fmt::format("schedule.window={}", *rc::gen::element(2, 16, 128)));
  if (verifies && sets[1].find("admit") == std::string::npos) {
    sets.push_back(
        fmt::format("schedule.policy={}", *rc::gen::element("fcfs", "lock_step", "sequential_verify", "staggered")));
  }
  return sets;
}

}  // namespace kvsim::testing
