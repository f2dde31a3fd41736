// What must fit where a small model scores prompts.
#pragma once

#include <cstdint>
#include <string>

#include "sim/reuse/reuse_times.h"
#include "sim/serving/config.h"

namespace kvsim::reuse {

/// Bytes of a GPU of the small model's own for its weights and its KV of one prompt.
[[nodiscard]] std::int64_t scorer_memory(const serving::ServingConfig& config);

/// Why the small model could never score a prompt of so many tokens, of a request that gives `output` more, beside
/// `kv_bytes` of KV memory of a replica; or an empty string, also where nobody scores. `times` are the configuration's.
[[nodiscard]] std::string scoring_problem(const serving::ServingConfig& config, const ReuseTimes& times,
                                          std::int64_t prompt, std::int64_t output, std::int64_t kv_bytes);

}  // namespace kvsim::reuse
