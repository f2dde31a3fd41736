// How well a fit predicts rows that it has not seen.
#pragma once

#include <set>

#include "models/calibration/fit_problem.h"

namespace kvsim::models {

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
