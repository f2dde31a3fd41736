// The curves of an attention profile, read at any point. They do not fall and stay within [0, 1].
#pragma once

#include "models/prefetch/prefetch_spec.h"

namespace kvsim::models {

/// Attention mass on the most attended `share` of the keys: linear in log(share) between the points, proportional to
/// the share below the first, and 1 at share 1, which is the last point's right-hand neighbour.
[[nodiscard]] double coverage_at(const AttentionProfile& profile, double share);

/// Of the mass that the next token's own top-k covers, what the speculative token's covers with a copy of `bits` bits
/// an element: linear in bits between the points, from (0, 0) to the first and from the last to (16, 1), where the copy
/// is the KV itself.
[[nodiscard]] double hit_rate_at(const AttentionProfile& profile, double bits);

/// Of the score that quantising lost, what comes back where pairs of this attention mass are whole: linear in the mass
/// between the points, from (0, 0) to the first and from the last to (1, 1).
[[nodiscard]] double recovery_at(const AttentionProfile& profile, double mass);

}  // namespace kvsim::models
