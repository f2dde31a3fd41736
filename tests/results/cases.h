// Scenarios that together have every feature which results tell of.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing {

struct Case {
  std::string name;
  scenario::Scenario (*make)(const Sets&);
  Sets sets;
};

inline std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

inline const Sets kChunks = {"decode={policy: full_kv}", "schedule={}",
                             "prefill={policy: selective, rho: 0.15, speculative: {model: llama-3.2-1b, gpus: 1}}",
                             "workload.chunks={count: 50, per_request: 4}", "placement={policy: lru}"};
inline const Sets kStored = {"decode={policy: full_kv}",
                             "schedule={}",
                             "prefill=prefix_cache",
                             "workload.prefixes={count: 5, tokens: 4k tokens}",
                             "cluster.storage=[{name: ssd, capacity: 1 TB, read: 3 GB/s}]",
                             "cluster.host.memory=1 GB",
                             "placement={policy: lru}"};

inline Sets together(Sets a, const Sets& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Sessions have a number of their own in place of one of requests.
inline scenario::Scenario session_scenario(const Sets& sets) {
  Sets own = sets;
  std::erase_if(own, [](const std::string& set) { return set.starts_with("workload.requests="); });
  return small_scenario(own);
}

inline const std::vector<Case> kCases = {
    {"staggered", small_scenario, {}},
    {"lock_step", small_scenario, {"schedule.policy=lock_step", "cluster.replicas=2"}},
    {"full_kv", small_scenario, {"decode.policy=full_kv", "schedule.policy=fcfs"}},
    {"prefilled", small_scenario, {"decode.policy=full_kv", "schedule.policy=fcfs", "prefill=recompute"}},
    {"fair_share", small_scenario, {"cluster.host.discipline=fair_share"}},
    {"speculative_prefetch",
     small_scenario,
     {"decode={policy: speculative_prefetch, compressor: specache-2bit}", "schedule.policy=fcfs"}},
    {"full_offload",
     small_scenario,
     {"decode={policy: full_offload, compressor: specache-2bit}", "schedule.policy=fcfs"}},
    {"stored", small_scenario, kStored},
    {"stored_verified", small_scenario,
     together(kStored, {"decode={policy: draft_verify}", "schedule={policy: fcfs}", "placement={policy: utility}",
                        "cluster.storage=[{name: ssd, read: 3 GB/s}]"})},
    {"chunks", small_scenario, kChunks},
    {"sessions",
     session_scenario,
     {"workload={closed: {concurrency: 4}, context: 1k tokens, output: 50 tokens, sessions: {turns: 3, growth: 100 "
      "tokens, think_time: 1 s, count: 200}}"}},
    {"sub_agents",
     session_scenario,
     {"workload={closed: {concurrency: 4}, context: 1k tokens, output: 50 tokens, sessions: {turns: 3, growth: 100 "
      "tokens, think_time: 1 s, count: 60, sub_agents: {count: 2, turns: 2, context: 1k tokens}}}"}},
    {"classes",
     small_scenario,
     {"workload={closed: {concurrency: 4}, requests: 20, classes: [{name: one, share: 1, context: 1k tokens, output: "
      "50 tokens}, {name: two, share: 1, context: 2k tokens, output: 20 tokens}]}"}},
    {"pools", pools_scenario, {}}};

}  // namespace kvsim::testing
