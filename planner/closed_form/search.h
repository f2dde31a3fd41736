// The exact optimum of the discrete problem: every draft length and keep ratio given, every B_c, B_g and l.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/closed_form/transfer_model.h"

namespace kvsim::planner {

/// A cycle with a batch, and what it comes to.
struct OperatingPoint {
  std::int64_t x = 0;
  double c = 1;
  std::int64_t d_e = 1;
  Batch batch;
  IterationTimes times;
  double throughput_tokens_per_s = 0;
  double kv_bytes = 0;  ///< HBM that the model counts for KV

  /// Seconds per output token of one request.
  [[nodiscard]] double tpot_s() const {
    return throughput_tokens_per_s > 0 ? static_cast<double>(batch.requests()) / throughput_tokens_per_s : 0;
  }
};

/// A batch on a cycle, evaluated; none where it does not fit into HBM, the batch limits or (published) the reload
/// slots.
[[nodiscard]] std::optional<OperatingPoint> evaluate(TransferModel model, const Cycle& cycle, const BatchLimits& limits,
                                                     const Batch& batch);

/// Candidates whose throughputs differ by less than this share are equal: rounding must not decide.
inline constexpr double kTieShare = 1e-12;

struct SearchResult {
  std::optional<OperatingPoint> optimum;  ///< none: nothing fits, not even one request
  std::uint64_t evaluated = 0;            ///< batches that were worked out; the others could not have won
};

/// The best batch on the best of `cycles`. Ties go to the smaller x, then the larger c, the smaller d_e, B_c, B_g and
/// l. Exact: what is skipped has an upper bound below the optimum. Bounds: for fixed B_c and growing B_g, throughput
/// grows (B / T_gpu(B) grows, T_xfer does not depend on B_g), so the largest B_g that fits is best; where a measured
/// T_gpu does not behave so, every B_g is tried. Along B_c, a continuous batch bounds the discrete one.
[[nodiscard]] SearchResult search(TransferModel model, const std::vector<Cycle>& cycles, const BatchLimits& limits);

/// The best batch on each cycle, in their order: for tables and heat maps.
[[nodiscard]] std::vector<std::optional<OperatingPoint>> best_of_each(TransferModel model,
                                                                      const std::vector<Cycle>& cycles,
                                                                      const BatchLimits& limits);

}  // namespace kvsim::planner
