// What else changes with a prefix cache's capacity: the hit rate of other eviction policies, and the time to the first
// token. At the capacities of the hit-rate curve's points.
#pragma once

#include <string>
#include <vector>

#include "models/workload/latency_curve.h"
#include "tools/results/hit_rate_page.h"

namespace kvsim::results {

struct PolicyHitRates {
  std::string policy;
  std::vector<double> hit_rate;  ///< at each of curve_capacities()
};

/// Seconds a token, and what they were made of.
struct LatencyView {
  models::LatencyCurve curve;
  models::PromptTimes times;
  double read_bytes_per_s = 0;
  double prefill_tokens_per_s = 0;
};

/// [{"policy", "points": [{"blocks", "bytes", "hit_rate"}]}]; bytes are null without a model.
Json policy_curves_json(const HitRateView& view, const std::vector<PolicyHitRates>& policies);
/// A column a policy.
Table policy_curves_table(const HitRateView& view, const std::vector<PolicyHitRates>& policies);

/// {"policy": "lru", "read_bytes_per_s", "prefill_tokens_per_s", "load_s_per_token", "prefill_s_per_token",
/// "mean_ttft_s_without_cache", "points": [{"blocks", "bytes", "found_tokens", "mean_ttft_s"}]}; found_tokens is a
/// share of all prompt tokens.
Json latency_curve_json(const HitRateView& view, const LatencyView& latency);
Table latency_curve_table(const HitRateView& view, const LatencyView& latency);

}  // namespace kvsim::results
