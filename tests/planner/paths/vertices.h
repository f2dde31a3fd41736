// The optimum of a path LP without a solver: every vertex of the polytope, one after the other.
#pragma once

#include "planner/paths/path_lp.h"

namespace kvsim::planner::testing {

/// Largest sum n over all feasible intersections of as many tight constraints (of rows and n >= 0) as there are
/// variables: 12 choose 6 at most.
double best_vertex(const PathLp& lp);

}  // namespace kvsim::planner::testing
