// The solver on problems whose answers are known.
#include "models/calibration/fit_problem.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr int kPoints = 40;

/// y = 3 exp(-0.5 x) at x = 0, 0.25, ...
double decay(double a, double b, int i) {
  return a * std::exp(-b * 0.25 * i);
}

ResidualFunction decay_residuals(int outlier) {
  return [outlier](std::span<const double> p, std::span<double> r) {
    for (int i = 0; i < kPoints; ++i) {
      const double measured = decay(3, 0.5, i) * (i == outlier ? 5 : 1);
      r[static_cast<std::size_t>(i)] = std::log(decay(p[0], p[1], i) / measured);
    }
  };
}

const std::array kDecay{Parameter{"a", 1, 0.01, 100}, Parameter{"b", 0.1, 0, 10}};
const std::array kStart{1.0, 0.1};

TEST(LeastSquares, FindsTheParametersOfACurveWithoutNoise) {
  const Solution s = solve(kDecay, kStart, kPoints, decay_residuals(-1));
  EXPECT_NEAR(s.values[0], 3, 1e-4);
  EXPECT_NEAR(s.values[1], 0.5, 1e-4);
  EXPECT_LT(s.cost, 1e-6);
}

TEST(LeastSquares, OneWildPointMovesTheCurveHardly) {
  const Solution s = solve(kDecay, kStart, kPoints, decay_residuals(7));
  EXPECT_NEAR(s.values[0], 3, 0.03);
  EXPECT_NEAR(s.values[1], 0.5, 0.005);
}

TEST(LeastSquares, FindsTheFootOfRosenbrocksValley) {
  const std::array parameters{Parameter{"x", 0, -5, 5}, Parameter{"y", 0, -5, 5}};
  const ResidualFunction valley = [](std::span<const double> p, std::span<double> r) {
    r[0] = 10 * (p[1] - p[0] * p[0]);
    r[1] = 1 - p[0];
  };
  SolverOptions options;
  options.scale = 10;
  options.iterations = 300;
  const Solution s = solve(parameters, std::array{-1.2, 1.0}, 2, valley, options);
  EXPECT_NEAR(s.values[0], 1, 1e-3);
  EXPECT_NEAR(s.values[1], 1, 1e-3);
}

TEST(LeastSquares, StaysWithinBoundsAndEndsAtTheNearerOne) {
  const std::array parameters{Parameter{"a", 1, 0.01, 2}, Parameter{"b", 0.1, 0, 10}};
  const Solution s = solve(parameters, kStart, kPoints, decay_residuals(-1));
  EXPECT_DOUBLE_EQ(s.values[0], 2);  // 3 lies beyond
}

TEST(LeastSquares, SameProblemSameAnswer) {
  EXPECT_EQ(solve(kDecay, kStart, kPoints, decay_residuals(7)).values,
            solve(kDecay, kStart, kPoints, decay_residuals(7)).values);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
