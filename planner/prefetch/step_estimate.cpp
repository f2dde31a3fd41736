#include "planner/prefetch/step_estimate.h"

#include <algorithm>
#include <array>

#include "sim/engine/time.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::planner {

using serving::FetchTime;
using serving::LayerPipelineConfig;
using serving::LayerStep;

std::string_view words_of(Pace pace) {
  constexpr std::array kWords{"GPU", "link", "wait for a fetch"};
  return kWords.at(static_cast<std::size_t>(pace));
}

SteadyStep steady_step(const LayerStep& step, const LayerPipelineConfig& pipeline, const FetchTimes& fetch) {
  const auto L = static_cast<double>(pipeline.layers);
  const auto computing = static_cast<double>(step.computing(pipeline.layers).ns);
  SteadyStep steady{computing, Pace::gpu};
  if (step.fetch_bytes == 0 || !step.waits) return steady;
  const double one = fetch.setup_ns + fetch.flowing_ns + fetch.latency_ns;
  if (pipeline.fetches == FetchTime::on_demand) return {computing + L * one, Pace::window};

  const auto at_least = [&steady](double ns, Pace pace) {
    if (ns > steady.step_ns) steady = {ns, pace};
  };
  const auto c = static_cast<double>((step.before + step.attention + step.after).ns);
  const auto tail = static_cast<double>(step.tail.ns);
  const double x = static_cast<double>(step.attention.ns) + one;
  const double D = std::max(fetch.flowing_ns, fetch.setup_ns);
  const std::int64_t ahead = pipeline.fetches == FetchTime::next_step ? pipeline.layers : pipeline.layers_ahead;
  const auto a = static_cast<double>(ahead);
  at_least(L * D, Pace::link);
  at_least(L * x / a, Pace::window);
  for (std::int64_t m = 1; m <= std::max<std::int64_t>(ahead, 2); ++m) {
    const std::int64_t advance = m * pipeline.layers - 1;
    const std::int64_t most = advance / ahead;
    const auto mean = [&](std::int64_t h) {
      const auto others = static_cast<double>(advance - h * ahead);
      return (c + tail + static_cast<double>(h) * x + others * std::max(c, D)) / static_cast<double>(m);
    };
    if (most >= 1) at_least(std::max(mean(1), mean(most)), Pace::window);
  }
  return steady;
}

double longest_hidden_ns(const LayerStep& step, const LayerPipelineConfig& pipeline, FetchTimes fetch) {
  const double allowed = static_cast<double>(step.computing(pipeline.layers).ns) * (1 + kHiddenShare);
  const auto hidden = [&](double flowing_ns) {
    fetch.flowing_ns = flowing_ns;
    return steady_step(step, pipeline, fetch).step_ns <= allowed;
  };
  if (!hidden(0)) return -1;
  double within = 0;
  double beyond = allowed + 1;  // longer than a step
  constexpr double kPrecision = 1e-12;
  while (beyond - within > kPrecision * allowed) {
    const double middle = (within + beyond) / 2;
    (hidden(middle) ? within : beyond) = middle;
  }
  return within;
}

namespace {

using engine::Duration;

FetchTimes fetch_times(const serving::ServingConfig& config, const serving::LayerStep& step) {
  if (step.fetch_bytes == 0) return {};
  const models::LinkSpec& link = config.cluster.uniform().host_link;
  const double bytes_per_s =
      link.read_bytes_per_s.value * static_cast<double>(config.cluster.uniform().parallel.tensor);
  const double bytes = static_cast<double>(step.fetch_bytes) * step.fetch_slowdown;
  return {static_cast<double>(engine::transfer_time(bytes, bytes_per_s).ns),
          static_cast<double>(engine::from_seconds(link.setup_s.value).ns),
          static_cast<double>(engine::from_seconds(link.latency_s.value).ns)};
}

}  // namespace

models::StepTimer step_timer(const serving::ServingConfig& config) {
  const serving::GroupConfig& group = config.cluster.uniform();
  return serving::step_timer(config, group, group.parallel.tensor);
}

StepEstimate estimate(const serving::ServingConfig& config, const LikeRequests& requests) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const serving::KvGeometry geometry = serving::configured_geometry(config, config.cluster.uniform());
  const models::StepTimer timer = step_timer(config);
  serving::Fetching fetching(config, config.cluster.uniform(), decode, geometry, timer,
                             config.cluster.uniform().host_link,
                             static_cast<double>(config.cluster.uniform().parallel.tensor));
  serving::Request request;
  request.prompt = requests.prompt;
  request.generated = requests.generated;
  request.round.pairs_asked = true;
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

  StepEstimate o;
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
