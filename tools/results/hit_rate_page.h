// A trace's hit-rate curve as people and programs read it: points, knee, and what one more GB buys.
#pragma once

#include <optional>

#include "models/workload/hit_rate_curve.h"
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

/// {"block_tokens", "kv_bytes_per_token", "blocks", "distinct_blocks", "achievable_hit_rate",
///  "knees": [{"share_of_achievable", "blocks", "bytes"}], "points": [{"blocks", "bytes", "hit_rate",
///  "hit_rate_per_gb"}]}; bytes are null without a model.
Json hit_rate_json(const HitRateView& view);

/// Points between the first hit and the last in steps of 1, 2, 5, and the knees; what a GB adds is the slope to the
/// next.
Table hit_rate_table(const HitRateView& view);

}  // namespace kvsim::results
