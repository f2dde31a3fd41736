// Scenarios that together have every feature which results tell of.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing {

using Sets = std::vector<std::string>;

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
    {"pools", pools_scenario, {}}};

}  // namespace kvsim::testing
