// Effects of a prefix cache's capacity, as people and programs read them: the hit rate of a trace and what one
// more GB buys, that of other eviction policies, the time to the first token, and what such a cache costs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/workload/hit_rate_curve.h"
#include "planner/capacity/machine_choice.h"
#include "tools/results/fields.h"
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

const Fields<HitRateView>& hit_rate_fields();

/// Points between the first hit and the last in steps of 1, 2, 5, and the knees; what a GB adds is the slope to the
/// next.
Table hit_rate_table(const HitRateView& view);

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

/// Curves that `kvsim workload info --curve` adds to a trace.
struct TraceCurves {
  HitRateView hit_rates;
  std::vector<PolicyHitRates> policies;
  std::optional<LatencyView> latency;
};

const Fields<TraceCurves>& trace_curves_fields();
/// A column a policy; there is at least one.
Table policy_curves_table(const TraceCurves& curves);
/// Table of curves with latency.
Table latency_curve_table(const TraceCurves& curves);

/// Costs of a cache for the trace; empty without a model.
std::vector<planner::capacity::CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices);

const Fields<planner::capacity::CacheOption>& cache_option_fields();
Table cache_options_table(const std::vector<planner::capacity::CacheOption>& options);

}  // namespace kvsim::results
