// The second way to consistent batches, for where the triangulation loses its track: one pool inside the other.
#pragma once

#include <optional>

#include "planner/paths/consistent_batches.h"

namespace kvsim::planner {

/// For every batch of pool `outer` (0 local, 1 remote) the other pool's is found by bisection, and the outer one by
/// bisection over that; at a jump the two sides are mixed, so that both occupancies come out. Sure to converge where
/// the inner fixed point is unique, which it mostly is; about two thousand calls of `respond`. No value where the outer
/// bisection ended between two unrelated inner fixed points, whose mixture means nothing.
std::optional<ConsistentBatches> nested_bisection(const ConsistencySearch& search, std::size_t outer);

}  // namespace kvsim::planner
