#include "planner/prefetch/steady_step.h"

#include <algorithm>

namespace kvsim::planner {

using serving::FetchTime;
using serving::LayerPipelineConfig;
using serving::LayerStep;

std::string_view words_of(Pace pace) {
  switch (pace) {
    case Pace::gpu:
      return "GPU";
    case Pace::link:
      return "link";
    case Pace::window:
      return "wait for a fetch";
  }
  return "";
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

}  // namespace kvsim::planner
