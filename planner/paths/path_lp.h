// The linear programme over paths at given costs: maximise sum n subject to sum cost n <= limit, n >= 0.
#pragma once

#include <array>
#include <string>

#include "planner/paths/path_costs.h"

namespace kvsim::planner {

struct PathLp {
  PathCosts costs{};
  ResourceFigures limits{};
  std::array<bool, kPaths> allowed{};

  /// Whether a request can take the path at all: allowed, and no pool it needs is empty.
  [[nodiscard]] bool usable(Path path) const;
};

struct PathLpSolution {
  PathRates n{};  ///< requests/s
  double requests_per_s = 0;
  ResourceFigures price{};  ///< requests/s per unit of limit (the duals); 0 for the rows of an empty pool
};

/// An optimal vertex; of several, one that fills the most slots: a cached and a stateless path
/// often tie, and fuller slots are larger batches, which make tokens cheaper. The same input gives the same vertex.
/// Solved by CLP on columns and rows scaled to 1.
/// Throws std::runtime_error where CLP does not reach the optimum, which a bounded LP with the feasible point 0 has.
PathLpSolution solve(const PathLp& lp);

// The path LP for other solvers and for reading.

/// CPLEX LP format: maximise tokens/s. Numbers read back to the same bits; every line of `remarks` becomes a comment.
std::string lp_text(const PathLp& lp, double tokens_per_request, const std::string& remarks);

}  // namespace kvsim::planner
