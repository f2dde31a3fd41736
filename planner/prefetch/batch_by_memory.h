// How many like requests a replica decodes at once.
#pragma once

#include <cstdint>
#include <string_view>

#include "planner/plan/traffic.h"
#include "planner/prefetch/step_outlook.h"
#include "sim/serving/config.h"

namespace kvsim::planner {

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

}  // namespace kvsim::planner
