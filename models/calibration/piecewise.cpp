#include "models/calibration/piecewise.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Dense>

#include "models/calibration/fit_problem.h"

namespace kvsim::models {
namespace {

/// Indices of points at which the curve has knots.
using Knots = std::vector<std::size_t>;

/// Least squares of (curve - point) / point over the values at the knots.
std::vector<TimePoint> curve_with(const std::vector<TimePoint>& points, const Knots& knots) {
  const auto unknowns = static_cast<Eigen::Index>(knots.size());
  Eigen::MatrixXd a = Eigen::MatrixXd::Zero(static_cast<Eigen::Index>(points.size()), unknowns);
  std::size_t right = 1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    while (right + 1 < knots.size() && i > knots[right]) ++right;
    const double left_size = points[knots[right - 1]].size;
    const double share = (points[i].size - left_size) / (points[knots[right]].size - left_size);
    const auto row = static_cast<Eigen::Index>(i);
    const auto column = static_cast<Eigen::Index>(right);
    a(row, column - 1) = (1 - share) / points[i].seconds;
    a(row, column) = share / points[i].seconds;
  }
  const Eigen::VectorXd values = (a.transpose() * a).ldlt().solve(a.transpose() * Eigen::VectorXd::Ones(a.rows()));
  std::vector<TimePoint> curve;
  for (std::size_t j = 0; j < knots.size(); ++j) {
    curve.push_back({points[knots[j]].size, rounded(values[static_cast<Eigen::Index>(j)])});
  }
  // Rounding and noise leave falls far below the tolerance.
  for (std::size_t j = 1; j < curve.size(); ++j) curve[j].seconds = std::max(curve[j].seconds, curve[j - 1].seconds);
  return curve;
}

/// The worst point and its relative distance.
std::pair<std::size_t, double> worst(const std::vector<TimePoint>& points, const std::vector<TimePoint>& curve) {
  std::pair<std::size_t, double> result{0, 0};
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double distance = std::abs(value_at(curve, points[i].size) / points[i].seconds - 1);
    if (distance > result.second) result = {i, distance};
  }
  return result;
}

/// The worst point that is no knot yet, else one beside the worst point.
std::size_t next_knot(const std::vector<TimePoint>& points, const Knots& knots, const std::vector<TimePoint>& curve) {
  std::size_t best = points.size();
  double distance = -1;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (std::binary_search(knots.begin(), knots.end(), i)) continue;
    const double d = std::abs(value_at(curve, points[i].size) / points[i].seconds - 1);
    if (d > distance) {
      distance = d;
      best = i;
    }
  }
  return best;
}

Knots without(const Knots& knots, std::size_t position) {
  Knots fewer = knots;
  fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(position));
  return fewer;
}

/// Takes out knots, the least missed first, as long as the curve stays within the tolerance.
void prune(const std::vector<TimePoint>& points, double tolerance, Knots& knots) {
  while (knots.size() > 2) {
    std::size_t best = 0;
    double smallest = tolerance;
    for (std::size_t j = 1; j + 1 < knots.size(); ++j) {
      const double distance = worst(points, curve_with(points, without(knots, j))).second;
      if (distance <= smallest) {
        smallest = distance;
        best = j;
      }
    }
    if (best == 0) return;
    knots = without(knots, best);
  }
}

}  // namespace

double value_at(const std::vector<TimePoint>& curve, double size) {
  const auto above =
      std::lower_bound(curve.begin(), curve.end(), size, [](const TimePoint& p, double s) { return p.size < s; });
  if (above == curve.begin()) return curve.front().seconds;
  if (above == curve.end()) return curve.back().seconds;
  const TimePoint& a = *(above - 1);
  return a.seconds + (size - a.size) / (above->size - a.size) * (above->seconds - a.seconds);
}

std::vector<TimePoint> not_falling(std::vector<TimePoint> points) {
  struct Pool {
    double sum;  ///< of weight x value, weights 1 / value^2
    double weight;
    std::size_t count;
  };
  std::vector<Pool> pools;
  for (const TimePoint& p : points) {
    pools.push_back({1 / p.seconds, 1 / (p.seconds * p.seconds), 1});
    while (pools.size() > 1) {
      const Pool& last = pools.back();
      Pool& before = pools[pools.size() - 2];
      if (before.sum / before.weight <= last.sum / last.weight) break;
      before = {before.sum + last.sum, before.weight + last.weight, before.count + last.count};
      pools.pop_back();
    }
  }
  std::size_t i = 0;
  for (const Pool& pool : pools) {
    for (std::size_t n = 0; n < pool.count; ++n) points[i++].seconds = pool.sum / pool.weight;
  }
  return points;
}

std::vector<TimePoint> thinned(const std::vector<TimePoint>& measured, double tolerance) {
  if (measured.size() < 3) return not_falling(measured);
  const std::vector<TimePoint> points = not_falling(measured);
  Knots knots{0, points.size() - 1};
  std::vector<TimePoint> curve = curve_with(points, knots);
  while (knots.size() < points.size() && worst(points, curve).second > tolerance) {
    const std::size_t next = next_knot(points, knots, curve);
    knots.insert(std::lower_bound(knots.begin(), knots.end(), next), next);
    curve = curve_with(points, knots);
  }
  prune(points, tolerance, knots);
  return curve_with(points, knots);
}

}  // namespace kvsim::models
