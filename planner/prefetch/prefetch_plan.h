// `kvsim plan SCENARIO` where the decode policy fetches KV from host memory, or keeps a low-bit copy alone: step, batch
// and throughput of the policies to choose from, the link that hides the fetch, and the machines on which a speculative
// token is free.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/prefetch/batch_by_memory.h"
#include "planner/prefetch/crossover.h"
#include "planner/prefetch/step_outlook.h"
#include "planner/prefetch/two_token_machines.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Whether this plan is the one for the scenario.
[[nodiscard]] bool plans_prefetch(const scenario::Scenario& scenario);

/// One replica decoding under one policy, with as many requests as fit. Prompts are not counted: neither their first
/// load nor their prefill.
struct PolicyOutlook {
  std::string policy;
  std::string problem;  ///< why there are no figures; empty: there are
  BatchByMemory memory;
  StepOutlook step;
  double resident_fraction = 1;  ///< KV bytes on the GPU / those of a 16-bit cache, by the published formula
};

/// What a request's fetch of one layer moves to one GPU.
struct FetchOutlook {
  double rows = 0;
  double row_bytes = 0;
  std::string method;
  double rows_bytes_per_s = 0;
  double contiguous_bytes_per_s = 0;
};

struct PrefetchPlan {
  Traffic traffic;
  std::int64_t context = 0;               ///< average, in tokens: prompt and what has been generated
  PolicyOutlook own;                      ///< of the scenario's policy
  std::vector<PolicyOutlook> policies;    ///< in the order of the registry; without lossy and draft_verify
  std::optional<FetchOutlook> fetch;      ///< where pairs are fetched
  std::optional<Crossover> crossover;     ///< of speculative_prefetch; none where that cannot run or nothing fits
  std::vector<TwoTokenMachine> machines;  ///< of speculative_prefetch; none likewise
};

/// Throws Infeasible where not even one request fits or contexts are longer than the model's. Precondition:
/// plans_prefetch(scenario).
[[nodiscard]] PrefetchPlan plan_prefetch(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
