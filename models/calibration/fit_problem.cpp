#include "models/calibration/fit_problem.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>

namespace kvsim::models {
namespace {

using Vector = Eigen::VectorXd;
using Matrix = Eigen::MatrixXd;

constexpr double kVeryLarge = 50;  // in place of residuals that are not finite

class Problem {
 public:
  Problem(std::span<const Parameter> parameters, std::size_t rows, const ResidualFunction& residuals,
          const SolverOptions& options)
      : parameters_(parameters), rows_(static_cast<Eigen::Index>(rows)), residuals_(residuals), options_(options) {}

  [[nodiscard]] Vector residuals(const Vector& p) const {
    Vector r(rows_);
    residuals_({p.data(), static_cast<std::size_t>(p.size())}, {r.data(), static_cast<std::size_t>(r.size())});
    for (double& x : r) {
      if (!std::isfinite(x)) x = kVeryLarge;
    }
    return r;
  }

  /// sum of sqrt(1 + (r / scale)^2) - 1.
  [[nodiscard]] double cost(const Vector& r) const {
    double sum = 0;
    for (const double x : r) sum += std::sqrt(1 + x * x / (options_.scale * options_.scale)) - 1;
    return sum;
  }

  [[nodiscard]] Vector clamped(Vector p) const {
    for (Eigen::Index i = 0; i < p.size(); ++i) p[i] = std::clamp(p[i], at(i).low, at(i).high);
    return p;
  }

  /// Size of a difference that tells something about a parameter.
  [[nodiscard]] double magnitude(Eigen::Index i, double value) const {
    constexpr double share = 0.01;
    return std::max(std::abs(value), share * (at(i).high - at(i).low));
  }

  [[nodiscard]] Matrix jacobian(const Vector& p, const Vector& r) const {
    constexpr double relative = 1e-4;
    Matrix j(rows_, p.size());
    for (Eigen::Index i = 0; i < p.size(); ++i) {
      double step = relative * magnitude(i, p[i]);
      if (p[i] + step > at(i).high) step = -step;
      Vector moved = p;
      moved[i] += step;
      j.col(i) = (residuals(moved) - r) / step;
    }
    return j;
  }

  [[nodiscard]] const Parameter& at(Eigen::Index i) const { return parameters_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] double scale() const { return options_.scale; }
  void before_step() const {
    if (options_.before_step) options_.before_step();
  }

 private:
  std::span<const Parameter> parameters_;
  Eigen::Index rows_;
  const ResidualFunction& residuals_;
  SolverOptions options_;
};

/// Leaves out parameters at a bound that would leave it.
void freeze(const Problem& problem, const Vector& p, Matrix& normal, Vector& gradient) {
  for (Eigen::Index i = 0; i < p.size(); ++i) {
    const bool down = p[i] <= problem.at(i).low && gradient[i] > 0;
    const bool up = p[i] >= problem.at(i).high && gradient[i] < 0;
    if (!down && !up) continue;
    normal.row(i).setZero();
    normal.col(i).setZero();
    normal(i, i) = 1;
    gradient[i] = 0;
  }
}

void levenberg_marquardt(const Problem& problem, int iterations, Vector& p, double& cost) {
  constexpr double first_damping = 1e-2;
  constexpr double give_up = 1e8;
  constexpr double enough = 1e-7;
  double damping = first_damping;
  for (int n = 0; n < iterations && damping < give_up; ++n) {
    problem.before_step();
    const Vector r = problem.residuals(p);
    const Matrix j = problem.jacobian(p, r);
    const Vector weights = (1 + r.array().square() / (problem.scale() * problem.scale())).sqrt().inverse();
    Matrix normal = j.transpose() * weights.asDiagonal() * j;
    Vector gradient = j.transpose() * (weights.array() * r.array()).matrix();
    freeze(problem, p, normal, gradient);
    const double before = cost;
    while (damping < give_up) {
      Matrix damped = normal;
      for (Eigen::Index i = 0; i < p.size(); ++i) damped(i, i) += damping * std::max(normal(i, i), 1e-12);
      const Vector next = problem.clamped(p - damped.ldlt().solve(gradient));
      const double next_cost = next.allFinite() ? problem.cost(problem.residuals(next)) : cost;
      if (next_cost < cost) {
        p = next;
        cost = next_cost;
        damping = std::max(damping / 5, 1e-9);
        break;
      }
      damping *= 4;
    }
    if (before - cost < enough * before) return;
  }
}

/// One parameter at a time, up and down by a step that shrinks: gets over what rounding to whole tiles does to slopes.
void polish(const Problem& problem, int rounds, Vector& p, double& cost) {
  double relative = 0.16;
  for (int round = 0; round < rounds; ++round) {
    bool better = false;
    for (Eigen::Index i = 0; i < p.size(); ++i) {
      problem.before_step();
      for (const double sign : {1.0, -1.0}) {
        Vector next = p;
        next[i] += sign * relative * problem.magnitude(i, p[i]);
        next = problem.clamped(next);
        const double next_cost = problem.cost(problem.residuals(next));
        if (next_cost >= cost) continue;
        p = next;
        cost = next_cost;
        better = true;
      }
    }
    if (!better) relative /= 3;
  }
}

}  // namespace

Solution solve(std::span<const Parameter> parameters, std::span<const double> start, std::size_t rows,
               const ResidualFunction& residuals, const SolverOptions& options) {
  const Problem problem(parameters, rows, residuals, options);
  Vector p = problem.clamped(Eigen::Map<const Vector>(start.data(), static_cast<Eigen::Index>(start.size())));
  double cost = problem.cost(problem.residuals(p));
  levenberg_marquardt(problem, options.iterations, p, cost);
  if (options.polish_rounds > 0) {
    polish(problem, options.polish_rounds, p, cost);
    levenberg_marquardt(problem, options.iterations, p, cost);
  }
  return {{p.begin(), p.end()}, cost / static_cast<double>(std::max<std::size_t>(rows, 1))};
}

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

std::vector<double> leave_out_shapes(const FitProblem& problem) {
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
    const std::vector<double> e = errors(problem, fit(problem, others).values, held_out);
    for (std::size_t i = 0; i < held_out.size(); ++i) result[held_out[i]] = e[i];
  }
  return result;
}

std::vector<double> leave_out_models(const FitProblem& problem, const std::vector<ShapeSet>& models) {
  std::vector<double> result;
  std::set<std::vector<std::size_t>> done;  // models with the same measured shapes are one test
  for (const ShapeSet& model : models) {
    const auto [held_out, others] = split(problem, model);
    if (held_out.empty() || !enough_rows(problem, others.size()) || !done.insert(held_out).second) continue;
    const std::vector<double> e = errors(problem, fit(problem, others).values, held_out);
    result.insert(result.end(), e.begin(), e.end());
  }
  return result;
}

}  // namespace kvsim::models
