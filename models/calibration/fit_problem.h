// One operator in one number format: the rows, the parameters of its form, and how both give seconds. Everything that
// fits, cross-validates and reports works on this.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "models/calibration/least_squares.h"

namespace kvsim::models {

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

}  // namespace kvsim::models
