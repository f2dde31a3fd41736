// One operator in one number format: the rows, the parameters of its form, and how both give seconds. Everything that
// fits, cross-validates and reports works on this.
#pragma once

#include <cstddef>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvsim::models {

// Robust nonlinear least squares within bounds: Levenberg-Marquardt on reweighted residuals, and a search without
// derivatives for what steps leave of it. Deterministic.

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

/// What reports know of a row.
struct RowLabel {
  std::pair<double, double> shape;  ///< n and k, or query and KV heads: what a fold leaves out together
  std::string region;               ///< of sizes
};

/// Seconds of the rows named by `rows`, for the values of all parameters.
using Prediction =
    std::function<void(std::span<const double> values, std::span<const std::size_t> rows, std::span<double> seconds)>;

struct FitProblem {
  std::vector<Parameter> parameters;
  std::vector<std::vector<double>> starts;  ///< beside the parameters' own; the best end counts
  std::vector<double> measured;             ///< seconds
  std::vector<RowLabel> labels;             ///< of every row
  Prediction predict;
  double scale = 0.03;  ///< of the robust loss, in log(predicted / measured)
  bool polish = true;
  int spread_starts = 0;              ///< further starts, spread over the bounds
  std::function<void()> before_step;  ///< of every search: may throw to end it; empty: none
};

/// All rows of a problem.
[[nodiscard]] std::vector<std::size_t> all_rows(const FitProblem& problem);

/// Parameters that a fit may change.
[[nodiscard]] std::size_t free_parameters(const FitProblem& problem);

/// Whether so many rows say something about every free parameter: at least twice as many.
[[nodiscard]] bool enough_rows(const FitProblem& problem, std::size_t rows);

/// The values that fit some rows best, rounded to the digits that profiles carry. Needs at least one row.
[[nodiscard]] Solution fit(const FitProblem& problem, std::span<const std::size_t> rows);

/// To 4 significant digits: what a profile's text carries.
[[nodiscard]] double rounded(double value);

/// predicted / measured - 1 of some rows, in their order.
[[nodiscard]] std::vector<double> errors(const FitProblem& problem, std::span<const double> values,
                                         std::span<const std::size_t> rows);

// How well a fit predicts rows that it has not seen.

/// Of |predicted / measured - 1|; bias is the median of predicted / measured - 1.
struct ErrorSummary {
  std::size_t count = 0;
  double median = 0;
  double p90 = 0;
  double max = 0;
  double bias = 0;
};

[[nodiscard]] ErrorSummary summarise(const std::vector<double>& errors);

/// Errors of every row, predicted by a fit to the rows of other shapes: one shape left out at a time, or sixths of them
/// where there are more than ten. Empty where there is only one shape.
[[nodiscard]] std::vector<double> leave_out_shapes(const FitProblem& problem);

/// Errors of the rows of a set of shapes (all those of one model), predicted by a fit to the others, for one set after
/// the other; sets of which no row was measured, or with hardly any other rows, are passed over.
using ShapeSet = std::set<std::pair<double, double>>;
[[nodiscard]] std::vector<double> leave_out_models(const FitProblem& problem, const std::vector<ShapeSet>& models);

}  // namespace kvsim::models
