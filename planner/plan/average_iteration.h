// The work of an average iteration of a batch: some requests draft, some verify, all alike.
#pragma once

#include <cstdint>

#include "models/kernels/step_time.h"
#include "models/llm/llm_spec.h"
#include "planner/plan/traffic.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::planner {

/// The requests of a batch: their lengths, and what they read.
struct Requests {
  std::int64_t prompt = 1;
  std::int64_t generated = 0;
  const Traffic* uneven = nullptr;  ///< lengths differ as here; null: all alike
  bool compressed = false;          ///< decoding and drafting read the compressed KV
  std::int64_t x = 0;               ///< draft length; 0: no drafts
};

/// `drafting` requests take one token each, `verifying` ones x + 1 each over the full KV. Preconditions: not both 0.
[[nodiscard]] models::StepWork average_work(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                                            const Requests& requests, double drafting, double verifying);

/// Bytes over peak bandwidth, or FLOPs over peak rate where `compute` and that is more.
[[nodiscard]] double peak_s(const serving::ServingConfig& config, const models::StepWork& work, bool compute);

/// Seconds that prefilling one prompt adds to iterations whose other work is `beside`: chunks of what the iteration's
/// tokens leave, each timed with and without. `time` is either of the two timings.
template <class Time>
[[nodiscard]] double prefill_s(const serving::KvGeometry& geometry, const serving::ServingConfig& config,
                               std::int64_t prompt, models::StepWork beside, Time&& time) {
  const double alone = beside.tokens() > 0 ? time(beside) : 0.0;
  const double budget = static_cast<double>(config.schedule.max_batched_tokens) - beside.tokens();
  const double chunk = budget >= 1 ? budget : 1;
  const auto total = static_cast<double>(prompt);
  double sum = 0;
  for (double done = 0; done < total; done += chunk) {
    const double n = total - done < chunk ? total - done : chunk;
    models::StepWork mixed = beside;
    mixed.prefill.query_tokens = n;
    mixed.prefill.requests = 1;
    mixed.prefill.pairs = n * done + n * (n + 1) / 2;
    mixed.prefill.kv_bytes = geometry.full_read(static_cast<std::int64_t>(done + n));
    mixed.chunks.push_back({n, done});
    if (done + n >= total) mixed.logit_tokens += 1;
    sum += time(mixed) - alone;
  }
  return sum;
}

/// Iterations that a request of `output` tokens takes with drafts of x: every round drafts min(x, what is left) tokens,
/// verifies in one more iteration and yields the accepted ones and one more. By recursion over what is left for the
/// last thousand tokens, before that at the steady rate (x + 1) / (A(x) + 1) per token.
[[nodiscard]] double iterations_per_request(const models::AcceptanceModel& acceptance, std::int64_t x, double output);

}  // namespace kvsim::planner
