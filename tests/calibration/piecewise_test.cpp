// Thinned curves: few knots, within the tolerance, never falling.
#include "models/calibration/tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kvsim::models::KVSIM_FILE {
namespace {

/// Four waves of tiles: a step of 30 us every 100 tokens, and 10 ns a token.
std::vector<TimePoint> staircase() {
  std::vector<TimePoint> points;
  for (double tokens = 4; tokens <= 400; tokens += 4) {
    points.push_back({tokens, 30e-6 * std::ceil(tokens / 100) + 10e-9 * tokens});
  }
  return points;
}

TEST(Thinning, StaysWithinItsToleranceAndUsesTwoKnotsAStep) {
  const std::vector<TimePoint> points = staircase();
  const std::vector<TimePoint> curve = thinned(points, 0.01);
  for (const TimePoint& p : points) EXPECT_NEAR(value_at(curve, p.size) / p.seconds, 1, 0.0101) << p.size;
  EXPECT_EQ(curve.size(), 8U);  // 4 treads, two ends each
}

TEST(Thinning, NeverFallsEvenWhereTheRowsDo) {
  std::vector<TimePoint> points = staircase();
  points[10].seconds *= 1.2;
  points[50].seconds *= 0.8;
  const std::vector<TimePoint> curve = thinned(points, 0.01);
  EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end(),
                             [](const TimePoint& a, const TimePoint& b) { return a.seconds < b.seconds; }));
}

TEST(NotFalling, ReplacesAFallByTheMeanThatDiffersLeastInProportion) {
  // 2 and 1, weights 1/4 and 1: (2/4 + 1) / (1/4 + 1) = 1.2.
  const std::vector<TimePoint> curve = not_falling({{1, 2}, {2, 1}, {3, 4}});
  EXPECT_DOUBLE_EQ(curve[0].seconds, 1.2);
  EXPECT_DOUBLE_EQ(curve[1].seconds, 1.2);
  EXPECT_DOUBLE_EQ(curve[2].seconds, 4);
}

TEST(Surface, IsExactWhereTheTimesAreAPowerLaw) {
  std::vector<SurfacePoint> points;
  for (const double x : {1.0, 2.0, 4.0, 8.0, 16.0}) {
    for (const double y : {16.0, 64.0, 256.0, 1024.0}) points.push_back({x, y, 1e-6 * x * std::sqrt(y)});
  }
  const Surface s = thinned_surface(points, 3);
  ASSERT_EQ(s.x.size(), 3U);
  ASSERT_EQ(s.y.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      EXPECT_NEAR(s.values[i][j] / (1e-6 * s.x[i] * std::sqrt(s.y[j])), 1, 1e-3);
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
