// `kvsim plan SCENARIO` where the decode policy fetches KV from host memory, or keeps a low-bit copy alone: step, batch
// and throughput of the policies to choose from, the link that hides the fetch, and the machines on which a speculative
// token is free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernels/step_time.h"
#include "planner/plan/scenario_costs.h"
#include "planner/prefetch/crossover.h"
#include "planner/prefetch/step_estimate.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/config.h"

namespace kvsim::planner {

// How many like requests a replica decodes at once.

enum class BatchBound { gpu_memory, host_memory, max_requests, concurrency };
std::string_view words_of(BatchBound bound);

struct BatchByMemory {
  std::int64_t batch = 0;       ///< at the average context: what admission settles at, as requests of all ages share
                                ///< the memory. 0: not even one request fits
  std::int64_t at_the_end = 0;  ///< where every request has its final context: this many never preempt each other
  BatchBound bound = BatchBound::gpu_memory;  ///< of `batch`
  std::int64_t capacity_bytes = 0;            ///< GPU memory for KV, of the replica
  std::int64_t request_bytes = 0;             ///< reserved for a request of average context
};

/// Requests of the traffic's mean lengths, at a random moment of their decoding.
[[nodiscard]] LikeRequests average_requests(const Traffic& traffic, std::int64_t batch);

/// GPU memory over the reservation of a decoding request, whole blocks each, as the simulator reserves them; host
/// memory over what a request keeps there from admission to end; at most schedule.max_requests and a closed loop's
/// concurrency.
[[nodiscard]] BatchByMemory batch_by_memory(const serving::ServingConfig& config, const Traffic& traffic);

// On which machines, and up to which batch, decoding a speculative token beside each token is nearly free.

/// A second token that costs less than this share of a step counts as free.
inline constexpr double kFreeShare = 0.05;
/// No larger batch is looked at.
inline constexpr std::int64_t kLargestBatch = 1 << 16;

struct TwoTokenMachine {
  std::string gpu;
  models::TwoTokenBatches not_free;  ///< at which batches the second token costs kFreeShare, up to kLargestBatch
  std::int64_t fits = 0;             ///< batch by memory
  double cost_at_fits = 0;           ///< T(2 tokens) / T(1 token) - 1 at that batch
};

/// Every GPU of the catalogue that holds the model and one request, with the scenario's tensor_parallel and its own
/// profile and links, at the traffic's average context; by name. Precondition: the scenario's policy keeps a low-bit
/// copy.
[[nodiscard]] std::vector<TwoTokenMachine> two_token_machines(const scenario::Scenario& scenario,
                                                              const Traffic& traffic,
                                                              const models::Catalogue& catalogue);

/// Whether this plan is the one for the scenario.
[[nodiscard]] bool plans_prefetch(const scenario::Scenario& scenario);

/// One replica decoding under one policy, with as many requests as fit. Prompts are not counted: neither their first
/// load nor their prefill.
struct PolicyEstimate {
  std::string policy;
  std::string problem;  ///< why there are no figures; empty: there are
  BatchByMemory memory;
  StepEstimate step;
  double resident_fraction = 1;  ///< KV bytes on the GPU / those of a 16-bit cache, by the published formula
};

/// Amount that a request's fetch of one layer moves to one GPU.
struct FetchEstimate {
  double rows = 0;
  double row_bytes = 0;
  std::string method;
  double rows_bytes_per_s = 0;
  double contiguous_bytes_per_s = 0;
};

struct PrefetchPlan {
  Traffic traffic;
  std::int64_t context = 0;               ///< average, in tokens: prompt and what has been generated
  PolicyEstimate own;                     ///< of the scenario's policy
  std::vector<PolicyEstimate> policies;   ///< in the order of the registry; without lossy and draft_verify
  std::optional<FetchEstimate> fetch;     ///< where pairs are fetched
  std::optional<Crossover> crossover;     ///< of speculative_prefetch; none where that cannot run or nothing fits
  std::vector<TwoTokenMachine> machines;  ///< of speculative_prefetch; none likewise
};

/// Throws Infeasible where not even one request fits or contexts are longer than the model's. Precondition:
/// plans_prefetch(scenario).
[[nodiscard]] PrefetchPlan plan_prefetch(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
