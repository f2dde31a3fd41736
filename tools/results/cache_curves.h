// What changes with a prefix cache's capacity, as people and programs read it: the hit rate of a trace and what one
// more GB buys, that of other eviction policies, the time to the first token, and what such a cache costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/hit_rate_curve.h"
#include "planner/capacity/machine_choice.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct HitRateView {
  models::HitRateCurve curve;
  std::int64_t block_tokens = 0;
  std::optional<double> kv_bytes_per_token;  ///< none: capacities in blocks alone

  /// Bytes of a cache of so many blocks; none without a model.
  [[nodiscard]] std::optional<double> bytes(std::uint64_t blocks) const;
};

/// The capacities of the table's points, in blocks, ascending, each once.
std::vector<std::uint64_t> curve_capacities(const HitRateView& view);

/// {"block_tokens", "kv_bytes_per_token", "blocks", "distinct_blocks", "achievable_hit_rate",  "knees":
/// [{"share_of_achievable", "blocks", "bytes"}], "points": [{"blocks", "bytes", "hit_rate",  "hit_rate_per_gb"}]};
/// bytes are null without a model.
Json hit_rate_json(const HitRateView& view);

/// Points between the first hit and the last in steps of 1, 2, 5, and the knees; what a GB adds is the slope to the
/// next.
Table hit_rate_table(const HitRateView& view);

struct PolicyHitRates {
  std::string policy;
  std::vector<double> hit_rate;  ///< at each of curve_capacities()
};

/// [{"policy", "points": [{"blocks", "bytes", "hit_rate"}]}].
Json policy_curves_json(const HitRateView& view, const std::vector<PolicyHitRates>& policies);
/// A column a policy.
Table policy_curves_table(const HitRateView& view, const std::vector<PolicyHitRates>& policies);

/// Seconds a token, and what they were made of.
struct LatencyView {
  models::LatencyCurve curve;
  models::PromptTimes times;
  double read_bytes_per_s = 0;
  double prefill_tokens_per_s = 0;
};

/// {"policy": "lru", "read_bytes_per_s", "prefill_tokens_per_s", "load_s_per_token", "prefill_s_per_token",
/// "mean_ttft_s_without_cache", "points": [{"blocks", "bytes", "found_tokens", "mean_ttft_s"}]}; found_tokens is a
/// share of all prompt tokens.
Json latency_curve_json(const HitRateView& view, const LatencyView& latency);
Table latency_curve_table(const HitRateView& view, const LatencyView& latency);

/// What a cache for the trace costs; empty without a model.
std::vector<planner::capacity::CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices);

Json cache_options_json(const std::vector<planner::capacity::CacheOption>& options);
Table cache_options_table(const std::vector<planner::capacity::CacheOption>& options);

}  // namespace kvsim::results
