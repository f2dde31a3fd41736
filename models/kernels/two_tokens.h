// Where decoding two tokens a request in one pass stops being free: while a step streams weights and KV, a second query
// token rides along; once arithmetic decides, it costs what it computes.
#pragma once

#include <cstdint>
#include <optional>

#include "models/kernels/step_time.h"

namespace kvsim::models {

/// The contexts of a batch, all alike.
struct TwoTokenWork {
  double kv_bytes_per_request = 0;  ///< KV read a step, bytes as stored (times the kernel-time factor where compressed)
  double context = 0;               ///< tokens that each query token attends to
};

/// T(2)/T(1) - 1, where T(q) is a decode step of `batch` requests with q query tokens each, logits of all of them.
/// Precondition: batch > 0.
[[nodiscard]] double two_token_cost(const StepTimer& timer, const TwoTokenWork& work, double batch);

/// From which batches on it costs. The cost need not rise with the batch: it jumps where tokens need another wave of
/// tiles, and falls where a second token of a small batch reads experts that a large one reads anyway.
struct TwoTokenBatches {
  std::optional<std::int64_t> first;   ///< smallest batch that costs `threshold` or more
  std::optional<std::int64_t> always;  ///< from this batch on, all do
};

/// Looks at every batch up to 1,024, then at one in a hundred, up to `limit`, which is one of them. None where no batch
/// costs as much (first), or `limit` does not (always). Precondition: limit >= 1.
[[nodiscard]] TwoTokenBatches two_token_batches(const StepTimer& timer, const TwoTokenWork& work, std::int64_t limit,
                                                double threshold = 0.05);

}  // namespace kvsim::models
