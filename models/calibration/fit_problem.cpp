#include "models/calibration/fit_problem.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

#include <fmt/format.h>

namespace kvsim::models {

std::vector<std::size_t> all_rows(const FitProblem& problem) {
  std::vector<std::size_t> rows(problem.measured.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

std::size_t free_parameters(const FitProblem& problem) {
  const auto is_free = [](const Parameter& p) { return p.low < p.high; };
  return static_cast<std::size_t>(std::count_if(problem.parameters.begin(), problem.parameters.end(), is_free));
}

bool enough_rows(const FitProblem& problem, std::size_t rows) {
  return rows >= 2 * free_parameters(problem);
}

double rounded(double value) {
  return std::strtod(fmt::format("{:.4g}", value).c_str(), nullptr);
}

namespace {

/// The n-th point of a sequence that fills the space between half and twice every start evenly (Kronecker's, by the
/// fractional parts of multiples of square roots).
std::vector<double> spread(const std::vector<Parameter>& parameters, int n) {
  std::vector<double> start;
  double dimension = 1;
  for (const Parameter& p : parameters) {
    dimension += 1;
    const double at = n * std::sqrt(dimension + 0.5);
    const double u = at - std::floor(at);
    start.push_back(std::clamp(p.start * std::exp2(2 * u - 1), p.low, p.high));
  }
  return start;
}

}  // namespace

Solution fit(const FitProblem& problem, std::span<const std::size_t> rows) {
  const ResidualFunction residuals = [&](std::span<const double> values, std::span<double> r) {
    problem.predict(values, rows, r);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      r[i] = r[i] > 0 ? std::log(r[i] / problem.measured[rows[i]]) : std::nan("");
    }
  };
  SolverOptions options;
  options.scale = problem.scale;
  options.before_step = problem.before_step;
  if (!problem.polish) options.polish_rounds = 0;
  std::vector<std::vector<double>> starts = problem.starts;
  starts.emplace(starts.begin());
  for (const Parameter& p : problem.parameters) starts.front().push_back(p.start);
  for (int n = 1; n <= problem.spread_starts; ++n) starts.push_back(spread(problem.parameters, n));
  Solution best;
  for (const std::vector<double>& start : starts) {
    Solution found = solve(problem.parameters, start, rows.size(), residuals, options);
    if (best.values.empty() || found.cost < best.cost) best = std::move(found);
  }
  for (double& value : best.values) value = rounded(value);
  return best;
}

std::vector<double> errors(const FitProblem& problem, std::span<const double> values,
                           std::span<const std::size_t> rows) {
  std::vector<double> result(rows.size());
  problem.predict(values, rows, result);
  for (std::size_t i = 0; i < rows.size(); ++i) result[i] = result[i] / problem.measured[rows[i]] - 1;
  return result;
}

}  // namespace kvsim::models
