#include "planner/prefetch/step_outlook.h"

#include <algorithm>

#include "sim/engine/transfer_time.h"
#include "sim/serving/capacity.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/fetching.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {
namespace {

using engine::Duration;

FetchTimes fetch_times(const serving::ServingConfig& config, const serving::LayerStep& step) {
  if (step.fetch_bytes == 0) return {};
  const models::LinkSpec& link = config.cluster.host_link;
  const double bytes_per_s = link.read_bytes_per_s.value * static_cast<double>(config.cluster.tensor_parallel);
  const double bytes = static_cast<double>(step.fetch_bytes) * step.fetch_slowdown;
  return {static_cast<double>(engine::transfer_time(bytes, bytes_per_s).ns),
          static_cast<double>(engine::from_seconds(link.setup_s.value).ns),
          static_cast<double>(engine::from_seconds(link.latency_s.value).ns)};
}

}  // namespace

models::StepTimer step_timer(const serving::ServingConfig& config) {
  const serving::ClusterConfig& c = config.cluster;
  return {c.gpu, c.peer_link, c.profile, config.model, c.tensor_parallel};
}

StepOutlook outlook(const serving::ServingConfig& config, const LikeRequests& requests) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const serving::KvGeometry geometry = serving::replica_geometry(config);
  const models::StepTimer timer = step_timer(config);
  serving::Fetching fetching(config, decode, geometry, timer);
  serving::Request request;
  request.prompt = requests.prompt;
  request.generated = requests.generated;
  request.pairs_asked = true;
  const bool plain = decode.fetch == serving::Fetch::none && !decode.low_bit_copy;
  models::StepWork work;
  for (std::int64_t i = 0; i < requests.batch; ++i) {
    if (plain) {
      serving::add_decode(work, geometry, requests.context());
    } else {
      fetching.add_decode(request, 0, work);
    }
  }
  work.extra_gpu_s += fetching.quantising_s();
  const models::StepTime time = timer.time(work);

  StepOutlook o;
  o.requests = requests;
  o.pipeline = fetching.pipeline();
  o.within_domain = time.within_domain;
  o.fallbacks = timer.fallbacks();
  o.attention_bytes_per_request = work.decode.kv_bytes / static_cast<double>(requests.batch);
  if (decode.fetch == serving::Fetch::none) {
    o.layers.tail = std::max(engine::from_seconds(time.total_s), Duration{1});
  } else {
    o.layers = fetching.step(time, work);
    o.fetch = fetch_times(config, o.layers);
    o.fetch_bytes_per_request =
        static_cast<double>(o.layers.fetch_bytes * o.pipeline.layers) / static_cast<double>(requests.batch);
  }
  const SteadyStep steady = steady_step(o.layers, o.pipeline, o.fetch);
  o.step_s = steady.step_ns * 1e-9;
  o.pace = steady.pace;
  return o;
}

}  // namespace kvsim::planner
