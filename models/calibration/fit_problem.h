// One operator in one number format: the rows, the parameters of its form, and how both give seconds. Everything that
// fits, cross-validates and reports works on this.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <iterator>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/kernels/correction.h"

namespace kvsim::models {

// Robust nonlinear least squares within bounds: Levenberg-Marquardt on reweighted residuals, and a search without
// derivatives for what steps leave of it. Deterministic.

struct Parameter {
  std::string name;
  double start = 0;
  double low = 0;
  double high = 0;
};

/// A member of a form that is fitted, by a lambda that returns a reference to it.
template <class Form>
struct FittedMember {
  double& (*of)(Form&);
  double unit;       ///< of the values, in the member's
  const char* name;  ///< of the parameter
  double start;
  double low;
  double high;

  [[nodiscard]] Parameter parameter() const { return {name, start, low, high}; }
};

/// Sets the members that there are values of, which come in the members' order.
template <class Form, class Members>
void set_members(Form& form, const Members& members, std::span<const double> values) {
  for (std::size_t i = 0; i < std::min(std::size(members), values.size()); ++i) {
    members[i].of(form) = values[i] * members[i].unit;
  }
}

/// Residuals of all rows for the values of all parameters.
using ResidualFunction = std::function<void(std::span<const double> values, std::span<double> residuals)>;

struct SolverOptions {
  double scale = 0.03;  ///< residuals far above it count by their size, not by its square (soft L1)
  int iterations = 60;
  int evaluations = 1000;             ///< of the search; 0: none
  std::function<void()> before_step;  ///< may throw to end the search; empty: none
};

struct Solution {
  std::vector<double> values;
  double cost = 0;          ///< mean soft-L1 loss in units of scale^2; about (r / scale)^2 / 2 for small residuals
  Correction correction{};  ///< of the form with these values; cost is without it
};

/// Minimises the soft-L1 loss of `rows` residuals from `start`, every value kept within its bounds. Residuals that are
/// not finite count as very large.
[[nodiscard]] Solution solve(std::span<const Parameter> parameters, std::span<const double> start, std::size_t rows,
                             const ResidualFunction& residuals, const SolverOptions& options = {});

/// Shape and region of sizes by which reports know a row.
struct RowLabel {
  std::pair<double, double> shape;  ///< n and k, or query and KV heads: what a fold leaves out together
  std::string region;               ///< of sizes
};

/// Seconds of the rows named by `rows`, for the values of all parameters and a correction.
using Prediction = std::function<void(std::span<const double> values, const Correction& correction,
                                      std::span<const std::size_t> rows, std::span<double> seconds)>;

/// Sizes by which a correction is looked up.
using RowSizes = std::array<double, Correction::kMostAxes>;

/// Predicts row by row: seconds_of(form, row) for the form of the values, which gets the correction where it can have
/// one.
template <class FormOf, class SecondsOf>
[[nodiscard]] Prediction by_row(FormOf form_of, SecondsOf seconds_of) {
  return [form_of = std::move(form_of), seconds_of = std::move(seconds_of)](
             std::span<const double> values, const Correction& correction, std::span<const std::size_t> rows,
             std::span<double> seconds) {
    auto form = form_of(values);
    if constexpr (requires { form.correction; }) form.correction = correction;
    for (std::size_t i = 0; i < rows.size(); ++i) seconds[i] = seconds_of(form, rows[i]);
  };
}

struct FitProblem {
  std::vector<Parameter> parameters;
  std::vector<std::vector<double>> starts;  ///< beside the parameters' own; the best end counts
  std::vector<double> measured;             ///< seconds
  std::vector<RowLabel> labels;             ///< of every row
  Prediction predict;
  double scale = 0.03;                ///< of the robust loss, in log(predicted / measured)
  Correction grid;                    ///< whose axes a correction gets, without factors; none: no correction
  Correction sparse_grid;             ///< in its place where the rows are too few for it; none: no correction then
  std::vector<RowSizes> sizes;        ///< of every row, where there is a grid; all 0: of several calls together
  std::size_t rising_axes = 0;        ///< along the first so many axes no factor of a correction falls: a corrected
                                      ///< form then grows wherever the form does, on every machine
  int spread_starts = 0;              ///< further starts, spread over the bounds
  std::function<void()> before_step;  ///< of every search: may throw to end it; empty: none
};

/// The parameter of this name, which must be there.
[[nodiscard]] Parameter& parameter(FitProblem& problem, std::string_view name);

/// All rows of a problem.
[[nodiscard]] std::vector<std::size_t> all_rows(const FitProblem& problem);

/// Parameters that a fit may change.
[[nodiscard]] std::size_t free_parameters(const FitProblem& problem);

/// Whether so many rows say something about every free parameter: at least twice as many.
[[nodiscard]] bool enough_rows(const FitProblem& problem, std::size_t rows);

/// The values that fit some rows best, rounded to the digits that profiles carry, and the correction of what they
/// leave. The starts compete on a thousand of the rows; the two best go on. `near`: a solution of nearly the same rows,
/// from which the search begins instead of the starts. Where corrections rise, values and correction are fitted in
/// turns. Needs at least one row.
[[nodiscard]] Solution fit(const FitProblem& problem, std::span<const std::size_t> rows,
                           const Solution* near = nullptr);

/// Factors at the nodes of the problem's grid by robust least squares of what the values leave of some rows, each node
/// drawn to its neighbours and to 1, so that regions without rows are not corrected. Rows that a corrected form would
/// hardly change (those bound by their launch), and those of several calls, do not count. Empty without a grid for
/// which there are 10 rows a node. Rises along `rising_axes`.
[[nodiscard]] Correction fit_correction(const FitProblem& problem, std::span<const double> values,
                                        std::span<const std::size_t> rows);

/// The nodes of an axis that lie around some sizes: all between the last at or below the least size and the first at or
/// above the greatest.
[[nodiscard]] std::vector<double> axis_around(const std::vector<double>& nodes, double least, double greatest);

/// The grid along axis `d` alone, one node each of the others.
[[nodiscard]] Correction along(const Correction& grid, std::size_t d);

/// Nodes of each axis of a correction; those behind the last are empty.
using CorrectionNodes = std::array<std::vector<double>, Correction::kMostAxes>;

/// The axes of a correction around the sizes of all rows, without factors.
[[nodiscard]] Correction grid_around(const CorrectionNodes& nodes, const std::vector<RowSizes>& sizes);

/// To 4 significant digits: what a profile's text carries.
[[nodiscard]] double rounded(double value);

/// predicted / measured - 1 of some rows, in their order.
[[nodiscard]] std::vector<double> errors(const FitProblem& problem, const Solution& solution,
                                         std::span<const std::size_t> rows);

// How well a fit predicts rows that it has not seen.

/// Statistics of |predicted / measured - 1|; bias is the median of predicted / measured - 1.
struct ErrorSummary {
  std::size_t count = 0;
  double median = 0;
  double p90 = 0;
  double max = 0;
  double bias = 0;
};

[[nodiscard]] ErrorSummary summarise(const std::vector<double>& errors);

/// Errors of every row, predicted by a fit to the rows of other shapes: one shape left out at a time, or sixths of them
/// where there are more than ten. The search of every fold begins at `near`, the solution of all rows; its values and
/// its correction are of the fold's own rows. Empty where there is only one shape.
[[nodiscard]] std::vector<double> leave_out_shapes(const FitProblem& problem, const Solution& near);

/// Errors of the rows of a set of shapes (all those of one model), predicted by a fit to the others, for one set after
/// the other; sets of which no row was measured, or with hardly any other rows, are passed over.
using ShapeSet = std::set<std::pair<double, double>>;
[[nodiscard]] std::vector<double> leave_out_models(const FitProblem& problem, const Solution& near,
                                                   const std::vector<ShapeSet>& models);

}  // namespace kvsim::models
