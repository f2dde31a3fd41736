#include "planner/capacity/first_guess.h"

#include <algorithm>
#include <cmath>

#include "planner/capacity/run_length.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner::capacity {

double first_guess(const scenario::Scenario& s) {
  constexpr double kOfPeaks = 0.5;
  const serving::ServingConfig& c = s.serving;
  const auto gpus = static_cast<double>(c.cluster.tensor_parallel);
  const MeanRequest mean = mean_request(s);
  const double context = mean.prompt_tokens + mean.output_tokens / 2;
  const double kv = std::max(
      1.0, static_cast<double>(c.model.kv_bytes_per_token()) * c.model.kv_copies(c.cluster.tensor_parallel) * context);
  const auto capacity = static_cast<double>(serving::kv_capacity(c).bytes);
  const double batch = std::clamp(capacity / kv, 1.0, static_cast<double>(c.schedule.max_requests));
  const double step_s =
      (static_cast<double>(c.model.weight_bytes()) + batch * kv) / (gpus * c.cluster.gpu.memory_bytes_per_s.value);
  double request_s = mean.output_tokens * step_s / batch;
  if (c.prefill == serving::PrefillKind::recompute) {
    request_s += c.model.linear_flops_per_token() * mean.prompt_tokens / (gpus * c.cluster.gpu.bf16_flops_per_s.value);
  }
  return kOfPeaks * static_cast<double>(c.cluster.replicas) / request_s;
}

double lone_rate(const scenario::Scenario& s) {
  constexpr double kOverlap = 0.02;
  constexpr double kFarBelow = 256;
  const double guess = first_guess(s);
  const double longest = longest_time_s(s.serving.slo, mean_request(s).output_tokens);
  return std::isfinite(longest) ? std::min(kOverlap / longest, guess / kFarBelow) : guess / kFarBelow;
}

}  // namespace kvsim::planner::capacity
