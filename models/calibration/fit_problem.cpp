#include "models/calibration/fit_problem.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <numeric>

namespace kvsim::models {

std::vector<std::size_t> all_rows(const FitProblem& problem) {
  std::vector<std::size_t> rows(problem.measured.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  return rows;
}

Parameter& parameter(FitProblem& problem, std::string_view name) {
  return *std::ranges::find(problem.parameters, name, &Parameter::name);
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

/// At most so many rows to choose a start on, spread evenly.
std::vector<std::size_t> sample_of(std::span<const std::size_t> rows) {
  constexpr std::size_t kEnough = 1000;
  if (rows.size() <= kEnough) return {rows.begin(), rows.end()};
  std::vector<std::size_t> sample;
  for (std::size_t i = 0; i < kEnough; ++i) sample.push_back(rows[i * rows.size() / kEnough]);
  return sample;
}

ResidualFunction residuals_of(const FitProblem& problem, std::span<const std::size_t> rows,
                              const Correction& correction = {}) {
  return [&problem, rows, correction](std::span<const double> values, std::span<double> r) {
    problem.predict(values, correction, rows, r);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      r[i] = r[i] > 0 ? std::log(r[i] / problem.measured[rows[i]]) : std::nan("");
    }
  };
}

std::vector<double> starting_values(const FitProblem& problem) {
  std::vector<double> values;
  for (const Parameter& p : problem.parameters) values.push_back(p.start);
  return values;
}

}  // namespace

Solution fit(const FitProblem& problem, std::span<const std::size_t> rows, const Solution* near) {
  constexpr std::size_t kBest = 2;
  const std::vector<std::size_t> sample = sample_of(rows);
  SolverOptions options;
  options.scale = problem.scale;
  options.before_step = problem.before_step;
  options.evaluations = 0;
  options.iterations = 25;
  std::vector<std::vector<double>> starts;
  if (near != nullptr) {
    starts.push_back(near->values);
  } else {
    starts = problem.starts;
    starts.insert(starts.begin(), starting_values(problem));
    for (int n = 1; n <= problem.spread_starts; ++n) starts.push_back(spread(problem.parameters, n));
  }
  std::vector<Solution> found;
  for (const std::vector<double>& start : starts) {
    found.push_back(solve(problem.parameters, start, sample.size(), residuals_of(problem, sample), options));
  }
  std::stable_sort(found.begin(), found.end(), [](const Solution& a, const Solution& b) { return a.cost < b.cost; });
  Solution best;
  for (std::size_t i = 0; i < std::min(kBest, found.size()); ++i) {
    options.evaluations = near != nullptr ? 200 : 2000;
    options.iterations = 25;
    Solution s = solve(problem.parameters, found[i].values, sample.size(), residuals_of(problem, sample), options);
    options.evaluations = 0;
    options.iterations = near != nullptr ? 5 : 25;
    s = solve(problem.parameters, s.values, rows.size(), residuals_of(problem, rows), options);
    if (best.values.empty() || s.cost < best.cost) best = std::move(s);
  }
  for (double& value : best.values) value = rounded(value);
  best.correction = fit_correction(problem, best.values, rows);
  // A correction that may not fall leaves the form some of what it could have made good: both take turns.
  constexpr int kTurns = 6;
  for (int turn = 0; turn < kTurns && problem.rising_axes > 0 && !best.correction.empty(); ++turn) {
    options.iterations = near != nullptr ? 5 : 15;
    best.values =
        solve(problem.parameters, best.values, rows.size(), residuals_of(problem, rows, best.correction), options)
            .values;
    for (double& value : best.values) value = rounded(value);
    best.correction = fit_correction(problem, best.values, rows);
  }
  return best;
}

std::vector<double> errors(const FitProblem& problem, const Solution& solution, std::span<const std::size_t> rows) {
  std::vector<double> result(rows.size());
  problem.predict(solution.values, solution.correction, rows, result);
  for (std::size_t i = 0; i < rows.size(); ++i) result[i] = result[i] / problem.measured[rows[i]] - 1;
  return result;
}

namespace {

/// Linear interpolation between order statistics (Hyndman-Fan 7).
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - std::floor(at)) * (sorted[above] - sorted[below]);
}

/// Rows inside and outside of a set of shapes.
std::pair<std::vector<std::size_t>, std::vector<std::size_t>> split(const FitProblem& problem, const ShapeSet& shapes) {
  std::pair<std::vector<std::size_t>, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < problem.labels.size(); ++i) {
    (shapes.count(problem.labels[i].shape) > 0 ? rows.first : rows.second).push_back(i);
  }
  return rows;
}

}  // namespace

ErrorSummary summarise(const std::vector<double>& errors) {
  ErrorSummary s;
  s.count = errors.size();
  if (errors.empty()) return s;
  std::vector<double> sorted = errors;
  std::sort(sorted.begin(), sorted.end());
  s.bias = quantile(sorted, 0.5);
  for (double& e : sorted) e = std::abs(e);
  std::sort(sorted.begin(), sorted.end());
  s.median = quantile(sorted, 0.5);
  s.p90 = quantile(sorted, 0.9);
  s.max = sorted.back();
  return s;
}

std::vector<double> leave_out_shapes(const FitProblem& problem, const Solution& near) {
  constexpr std::size_t kFolds = 6;
  constexpr std::size_t kFewShapes = 10;
  ShapeSet all;
  for (const RowLabel& label : problem.labels) all.insert(label.shape);
  if (all.size() < 2) return {};
  const std::vector<std::pair<double, double>> shapes(all.begin(), all.end());
  const std::size_t folds = shapes.size() <= kFewShapes ? shapes.size() : kFolds;
  std::vector<double> result(problem.measured.size());
  for (std::size_t fold = 0; fold < folds; ++fold) {
    ShapeSet out;
    for (std::size_t i = fold; i < shapes.size(); i += folds) out.insert(shapes[i]);
    const auto [held_out, others] = split(problem, out);
    if (!enough_rows(problem, others.size())) return {};
    const std::vector<double> e = errors(problem, fit(problem, others, &near), held_out);
    for (std::size_t i = 0; i < held_out.size(); ++i) result[held_out[i]] = e[i];
  }
  return result;
}

std::vector<double> leave_out_models(const FitProblem& problem, const Solution& near,
                                     const std::vector<ShapeSet>& models) {
  std::vector<double> result;
  std::set<std::vector<std::size_t>> done;  // models with the same measured shapes are one test
  for (const ShapeSet& model : models) {
    const auto [held_out, others] = split(problem, model);
    if (held_out.empty() || !enough_rows(problem, others.size()) || !done.insert(held_out).second) continue;
    const std::vector<double> e = errors(problem, fit(problem, others, &near), held_out);
    result.insert(result.end(), e.begin(), e.end());
  }
  return result;
}

}  // namespace kvsim::models
