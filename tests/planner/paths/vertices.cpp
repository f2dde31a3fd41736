#include "tests/planner/paths/vertices.h"

#include <algorithm>
#include <bit>

#include <Eigen/Dense>

namespace kvsim::planner::testing {

double best_vertex(const PathLp& lp) {
  // Columns: usable paths. Rows: those with a limit, divided by it, and one n >= 0 for every column. Columns are in
  // units of what the path alone could serve.
  std::vector<std::size_t> columns, rows;
  for (const Path path : kAllPaths) {
    if (lp.usable(path)) columns.push_back(static_cast<std::size_t>(path));
  }
  for (std::size_t r = 0; r < kResources; ++r) {
    if (lp.limits[r] > 0) rows.push_back(r);
  }
  const auto n = static_cast<Eigen::Index>(columns.size()), m = static_cast<Eigen::Index>(rows.size());
  if (n == 0) return 0;
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(m + n, n);
  Eigen::VectorXd b = Eigen::VectorXd::Zero(m + n), alone(n);
  for (Eigen::Index j = 0; j < n; ++j) {
    double scarcest = 0;
    for (Eigen::Index i = 0; i < m; ++i) {
      a(i, j) = lp.costs[columns[static_cast<std::size_t>(j)]][rows[static_cast<std::size_t>(i)]] /
                lp.limits[rows[static_cast<std::size_t>(i)]];
      scarcest = std::max(scarcest, a(i, j));
    }
    alone(j) = 1 / scarcest;
    a.col(j).head(m) *= alone(j);
    a(m + j, j) = -1;
  }
  b.head(m).setOnes();

  double best = 0;
  for (std::uint32_t tight = 0; tight < (1U << static_cast<unsigned>(m + n)); ++tight) {
    if (std::popcount(tight) != static_cast<int>(n)) continue;
    Eigen::MatrixXd square(n, n);
    Eigen::VectorXd right(n);
    Eigen::Index k = 0;
    for (Eigen::Index i = 0; i < m + n; ++i) {
      if ((tight >> static_cast<unsigned>(i) & 1U) == 0) continue;
      square.row(k) = a.row(i);
      right(k++) = b(i);
    }
    const Eigen::FullPivLU<Eigen::MatrixXd> solver(square);
    if (!solver.isInvertible()) continue;
    const Eigen::VectorXd x = solver.solve(right);
    if (((a * x - b).array() > 1e-9).any()) continue;
    best = std::max(best, x.dot(alone));
  }
  return best;
}

}  // namespace kvsim::planner::testing
