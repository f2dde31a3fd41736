#include "models/calibration/surface.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <Eigen/Dense>

#include "models/calibration/fit_problem.h"

namespace kvsim::models {
namespace {

/// Cell of a coordinate and how far into it, in the logarithm.
std::pair<std::size_t, double> place(const std::vector<double>& nodes, double at) {
  std::size_t right = 1;
  while (right + 1 < nodes.size() && at > nodes[right]) ++right;
  return {right - 1, std::log(at / nodes[right - 1]) / std::log(nodes[right] / nodes[right - 1])};
}

/// Log-values at the nodes and the sum of squares they leave.
std::pair<Eigen::VectorXd, double> solve(const std::vector<SurfacePoint>& points, const std::vector<double>& x,
                                         const std::vector<double>& y) {
  const auto columns = static_cast<Eigen::Index>(x.size() * y.size());
  Eigen::MatrixXd normal = Eigen::MatrixXd::Zero(columns, columns);
  Eigen::VectorXd right = Eigen::VectorXd::Zero(columns);
  constexpr double kRidge = 1e-9;  // nodes that no point touches
  double squares = 0;
  for (const SurfacePoint& p : points) {
    const auto [i, u] = place(x, p.x);
    const auto [j, v] = place(y, p.y);
    const double target = std::log(p.value);
    const std::size_t corner = i * y.size() + j;
    const std::array<std::pair<std::size_t, double>, 4> hats{{{corner, (1 - u) * (1 - v)},
                                                              {corner + 1, (1 - u) * v},
                                                              {corner + y.size(), u * (1 - v)},
                                                              {corner + y.size() + 1, u * v}}};
    for (const auto& [a, wa] : hats) {
      right[static_cast<Eigen::Index>(a)] += wa * target;
      for (const auto& [b, wb] : hats) normal(static_cast<Eigen::Index>(a), static_cast<Eigen::Index>(b)) += wa * wb;
    }
    squares += target * target;
  }
  normal.diagonal().array() += kRidge;
  const Eigen::VectorXd values = normal.ldlt().solve(right);
  return {values, squares - values.dot(right)};
}

/// The axis without the inner node that is missed least; false where it has none.
bool drop_one(const std::vector<SurfacePoint>& points, std::vector<double>& axis, const std::vector<double>& other,
              bool axis_is_x) {
  std::vector<double> best;
  double least = 0;
  for (std::size_t i = 1; i + 1 < axis.size(); ++i) {
    std::vector<double> fewer = axis;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    const double squares = axis_is_x ? solve(points, fewer, other).second : solve(points, other, fewer).second;
    if (!best.empty() && squares >= least) continue;
    best = std::move(fewer);
    least = squares;
  }
  if (best.empty()) return false;
  axis = std::move(best);
  return true;
}

}  // namespace

Surface thinned_surface(const std::vector<SurfacePoint>& points, std::size_t most) {
  std::set<double> xs;
  std::set<double> ys;
  for (const SurfacePoint& p : points) {
    xs.insert(p.x);
    ys.insert(p.y);
  }
  Surface surface{{xs.begin(), xs.end()}, {ys.begin(), ys.end()}, {}};
  if (surface.x.size() < 2 || surface.y.size() < 2) return surface;
  while (surface.y.size() > most && drop_one(points, surface.y, surface.x, false)) {
  }
  while (surface.x.size() > most && drop_one(points, surface.x, surface.y, true)) {
  }
  const Eigen::VectorXd values = solve(points, surface.x, surface.y).first;
  for (std::size_t i = 0; i < surface.x.size(); ++i) {
    std::vector<double>& row = surface.values.emplace_back();
    for (std::size_t j = 0; j < surface.y.size(); ++j) {
      double value = rounded(std::exp(values[static_cast<Eigen::Index>(i * surface.y.size() + j)]));
      if (j > 0) value = std::max(value, row[j - 1]);
      if (i > 0) value = std::max(value, surface.values[i - 1][j]);
      row.push_back(value);
    }
  }
  return surface;
}

}  // namespace kvsim::models
