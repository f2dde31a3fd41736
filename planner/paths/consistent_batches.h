// Batches that agree with what they lead to: B = occupancy(B), where the occupancy comes from an optimisation at B.
//
// The optimum is a vertex that jumps as B moves, so the map is not continuous and iterating it may cycle for ever. At a
// jump several vertices are optimal, and so is every mixture of them: as a set-valued map it has a fixed point
// (Kakutani), which may be such a mixture. It is found as Kakutani's theorem is proved: on a triangulation, the map is
// interpolated linearly between the corners of a triangle; where the interpolation has a fixed point, the triangulation
// is made finer, until the corners are one point for all purposes. The answer is the mixture of the corners' optima.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "planner/paths/path_costs.h"

namespace kvsim::planner {

/// Local and remote.
using Batches = std::array<double, 2>;

/// Response of the optimisation to some batches: its rates, and slots occupied per GPU under them.
struct BatchResponse {
  Batches occupancy{};
  PathRates n{};
};

/// Batches that (nearly) agree with the occupancy that the rates there imply.
struct ConsistentBatches {
  Batches at{};
  Batches occupancy{};  ///< of the mixture
  PathRates n{};        ///< mixture of the optima at up to three points within `width` of `at`
  double width = 0;     ///< of the last triangle, relative to max(1, B)
};

struct ConsistencySearch {
  Batches top{};  ///< largest batch of each pool; 0: the pool does not count
  /// The optimum at batches between 0 and `top`; its occupancy lies there, too. Called many times.
  std::function<BatchResponse(const Batches&)> respond;
  /// Whether a mixture will do as it is: ends its refinement.
  std::function<bool(const ConsistentBatches&)> good_enough;
};

/// The fixed points that show on a grid of up to 14 lines per pool (0, 1, and evenly in log B up to `top`), each
/// refined until it is good enough or its triangle narrower than 1e-12. At least one shows on any grid. Two that lie in
/// one cell of the grid can hide each other. Throws nothing of its own.
std::vector<ConsistentBatches> find_consistent_batches(const ConsistencySearch& search);

// The second way to consistent batches, for where the triangulation loses its track: one pool inside the other.

/// For every batch of pool `outer` (0 local, 1 remote) the other pool's is found by bisection, and the outer one by
/// bisection over that; at a jump the two sides are mixed, so that both occupancies come out. Sure to converge where
/// the inner fixed point is unique, which it mostly is; about two thousand calls of `respond`. No value where the outer
/// bisection ended between two unrelated inner fixed points, whose mixture means nothing.
std::optional<ConsistentBatches> nested_bisection(const ConsistencySearch& search, std::size_t outer);

}  // namespace kvsim::planner
