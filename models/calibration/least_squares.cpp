#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "models/calibration/fit_problem.h"

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
      if (at(i).low >= at(i).high) {
        j.col(i).setZero();
        continue;
      }
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

/// Uniform between 0 and 1, the same on every machine (splitmix64).
class Dice {
 public:
  double next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return static_cast<double>((z ^ (z >> 31U)) >> 11U) / 9007199254740992.0;
  }
  /// About normal: four uniforms, variance 1.
  double normal() { return (next() + next() + next() + next() - 2) * std::sqrt(3.0); }

 private:
  std::uint64_t state_ = 1;
};

/// A few parameters at a time by random steps, longer after a success and shorter after a failure: gets over what
/// rounding to whole tiles does to slopes.
void search(const Problem& problem, int evaluations, Vector& p, double& cost) {
  constexpr double kAtATime = 3;
  double step = 0.1;
  Dice dice;
  const double share = kAtATime / static_cast<double>(p.size());
  for (int n = 0; n < evaluations; ++n) {
    problem.before_step();
    Vector next = p;
    for (Eigen::Index i = 0; i < p.size(); ++i) {
      if (problem.at(i).low < problem.at(i).high && dice.next() < share) {
        next[i] += step * problem.magnitude(i, p[i]) * dice.normal();
      }
    }
    next = problem.clamped(next);
    const double next_cost = problem.cost(problem.residuals(next));
    if (next_cost < cost) {
      p = next;
      cost = next_cost;
      step = std::min(1.5 * step, 0.5);
    } else {
      step = std::max(0.97 * step, 0.003);
    }
  }
}

}  // namespace

Solution solve(std::span<const Parameter> parameters, std::span<const double> start, std::size_t rows,
               const ResidualFunction& residuals, const SolverOptions& options) {
  const Problem problem(parameters, rows, residuals, options);
  Vector p = problem.clamped(Eigen::Map<const Vector>(start.data(), static_cast<Eigen::Index>(start.size())));
  double cost = problem.cost(problem.residuals(p));
  levenberg_marquardt(problem, options.iterations, p, cost);
  if (options.evaluations > 0) {
    search(problem, options.evaluations, p, cost);
    levenberg_marquardt(problem, options.iterations, p, cost);
  }
  return {{p.begin(), p.end()}, cost / static_cast<double>(std::max<std::size_t>(rows, 1))};
}

}  // namespace kvsim::models
