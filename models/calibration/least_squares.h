// Robust nonlinear least squares within bounds: Levenberg-Marquardt on reweighted residuals, and a search without
// derivatives for what steps leave of it. Deterministic.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace kvsim::models {

struct Parameter {
  std::string name;
  double start = 0;
  double low = 0;
  double high = 0;
};

/// Residuals of all rows for the values of all parameters.
using ResidualFunction = std::function<void(std::span<const double> values, std::span<double> residuals)>;

struct SolverOptions {
  double scale = 0.03;  ///< residuals far above it count by their size, not by its square (soft L1)
  int iterations = 60;
  int polish_rounds = 12;
  std::function<void()> before_step;  ///< may throw to end the search; empty: none
};

struct Solution {
  std::vector<double> values;
  double cost = 0;  ///< mean soft-L1 loss in units of scale^2; about (r / scale)^2 / 2 for small residuals
};

/// Minimises the soft-L1 loss of `rows` residuals from `start`, every value kept within its bounds. Residuals that are
/// not finite count as very large.
[[nodiscard]] Solution solve(std::span<const Parameter> parameters, std::span<const double> start, std::size_t rows,
                             const ResidualFunction& residuals, const SolverOptions& options = {});

}  // namespace kvsim::models
