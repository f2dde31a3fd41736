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

/// The batch at which that cost reaches `threshold`, by doubling from 1 and then bisection: the smallest where the cost
/// never falls with the batch. It may fall (waves of tiles; experts, of which a second token of a small batch reads
/// more): then a batch whose cost is at least `threshold` and that of one request fewer is not. None where no batch
/// tried by doubling, nor `limit` itself, reaches it. Precondition: limit >= 1.
[[nodiscard]] std::optional<std::int64_t> two_token_batch(const StepTimer& timer, const TwoTokenWork& work,
                                                          std::int64_t limit, double threshold = 0.05);

}  // namespace kvsim::models
