#include "planner/prefetch/batch_by_memory.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/capacity.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::planner {

using serving::DecodePolicy;
using serving::KvGeometry;

std::string_view words_of(BatchBound bound) {
  switch (bound) {
    case BatchBound::gpu_memory:
      return "GPU memory";
    case BatchBound::host_memory:
      return "host memory";
    case BatchBound::max_requests:
      return "schedule.max_requests";
    case BatchBound::concurrency:
      return "the workload's concurrency";
  }
  return "";
}

LikeRequests average_requests(const Traffic& traffic, std::int64_t batch) {
  return {batch, std::max<std::int64_t>(1, std::llround(traffic.mean_context)), std::llround(traffic.mean_generated)};
}

BatchByMemory batch_by_memory(const serving::ServingConfig& config, const Traffic& traffic) {
  const DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const KvGeometry geometry = serving::replica_geometry(config);
  const LikeRequests average = average_requests(traffic, 1);
  const std::int64_t output = std::llround(traffic.mean_output);
  BatchByMemory b;
  b.capacity_bytes = std::max<std::int64_t>(0, serving::kv_capacity_bytes(config, geometry));
  b.request_bytes = serving::decoding_reservation(config, decode, geometry, average.prompt, average.generated);
  b.batch = b.capacity_bytes / b.request_bytes;
  b.at_the_end = b.capacity_bytes / serving::decoding_reservation(config, decode, geometry, average.prompt, output);
  const auto at_most = [&b](std::int64_t requests, BatchBound bound) {
    b.at_the_end = std::min(b.at_the_end, requests);
    if (requests >= b.batch) return;
    b.batch = requests;
    b.bound = bound;
  };
  if (config.prefill == serving::PrefillKind::stored || decode.offloads()) {
    at_most(
        config.cluster.host_memory_bytes / serving::host_reservation(config, decode, geometry, average.prompt, output),
        BatchBound::host_memory);
  }
  at_most(config.schedule.max_requests, BatchBound::max_requests);
  if (traffic.concurrency) at_most(*traffic.concurrency, BatchBound::concurrency);
  return b;
}

}  // namespace kvsim::planner
