#include <Eigen/Dense>
#include <algorithm>
#include <cmath>

#include "models/calibration/fit_problem.h"

namespace kvsim::models {
namespace {

constexpr double kToOne = 1;           // pull of a node to 1, as a row's weight
constexpr double kToNeighbours = 0.3;  // and to each neighbour

std::size_t nodes_of(const Correction& grid) {
  std::size_t nodes = 1;
  for (const std::vector<double>& axis : grid.axes) nodes *= std::max<std::size_t>(axis.size(), 1);
  return nodes;
}

struct Point {
  Corners corners;
  std::size_t count = 0;
  double left = 0;  ///< ln(measured / predicted)
};

/// Rows that a correction would change, and what it would have to make good.
std::vector<Point> points_of(const FitProblem& problem, const Correction& grid, std::span<const double> values,
                             std::span<const std::size_t> rows) {
  constexpr double kProbe = 1.1;
  constexpr double kMoved = 0.8;  // of the probe's logarithm
  Correction probe;
  for (std::size_t d = 0; d < grid.dimensions(); ++d) probe.axes[d] = {1};
  probe.factors = {kProbe};
  std::vector<double> plain(rows.size());
  std::vector<double> probed(rows.size());
  problem.predict(values, {}, rows, plain);
  problem.predict(values, probe, rows, probed);
  std::vector<Point> points;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!(plain[i] > 0) || std::log(probed[i] / plain[i]) < kMoved * std::log(kProbe)) continue;
    const RowSizes& sizes = problem.sizes[rows[i]];
    if (sizes == RowSizes{}) continue;
    Point p;
    p.count = corners_of(grid, {sizes.data(), grid.dimensions()}, p.corners);
    p.left = std::log(problem.measured[rows[i]] / plain[i]);
    points.push_back(p);
  }
  return points;
}

/// The quadratic form of the pulls.
Eigen::MatrixXd pulls(const Correction& grid, std::size_t nodes) {
  const auto n = static_cast<Eigen::Index>(nodes);
  Eigen::MatrixXd a = kToOne * Eigen::MatrixXd::Identity(n, n);
  std::size_t stride = nodes;
  for (std::size_t d = 0; d < grid.dimensions(); ++d) {
    const std::size_t size = grid.axes[d].size();
    stride /= size;
    for (std::size_t i = 0; i < nodes; ++i) {
      if (i / stride % size + 1 == size) continue;
      const auto x = static_cast<Eigen::Index>(i);
      const auto y = static_cast<Eigen::Index>(i + stride);
      a(x, x) += kToNeighbours;
      a(y, y) += kToNeighbours;
      a(x, y) -= kToNeighbours;
      a(y, x) -= kToNeighbours;
    }
  }
  return a;
}

using NodePair = std::pair<Eigen::Index, Eigen::Index>;

/// Neighbours along the first `axes` axes, the smaller size first; the pairs in order of their larger sizes.
std::vector<NodePair> rising_pairs(const Correction& grid, std::size_t axes, std::size_t nodes) {
  std::vector<NodePair> pairs;
  for (std::size_t i = 0; i < nodes; ++i) {
    std::size_t stride = nodes;
    for (std::size_t d = 0; d < axes; ++d) {
      stride /= grid.axes[d].size();
      if (i / stride % grid.axes[d].size() == 0) continue;
      pairs.emplace_back(static_cast<Eigen::Index>(i - stride), static_cast<Eigen::Index>(i));
    }
  }
  return pairs;
}

}  // namespace

std::vector<double> axis_around(const std::vector<double>& nodes, double least, double greatest) {
  auto from = std::upper_bound(nodes.begin(), nodes.end(), least);
  if (from != nodes.begin()) --from;
  auto to = std::lower_bound(nodes.begin(), nodes.end(), greatest);
  if (to != nodes.end()) ++to;
  return {from, std::max(to, from + 1)};
}

Correction grid_around(const CorrectionNodes& nodes, const std::vector<RowSizes>& sizes) {
  Correction grid;
  if (sizes.empty()) return grid;
  for (std::size_t d = 0; d < nodes.size() && !nodes[d].empty(); ++d) {
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end(),
                                                   [d](const RowSizes& a, const RowSizes& b) { return a[d] < b[d]; });
    grid.axes[d] = axis_around(nodes[d], (*least)[d], (*most)[d]);
  }
  return grid;
}

Correction along(const Correction& grid, std::size_t d) {
  Correction one = grid;
  for (std::size_t other = 0; other < grid.dimensions(); ++other) {
    if (other != d) one.axes[other].resize(1);
  }
  return one;
}

namespace {

/// fit_correction() over one grid; empty where the rows are too few for it.
Correction fit_over(const Correction& grid, const FitProblem& problem, std::span<const double> values,
                    std::span<const std::size_t> rows) {
  constexpr std::size_t kRowsANode = 10;
  constexpr double kNoFall = 1e4;                       // pull to each other of two neighbours that would fall
  const int rounds = problem.rising_axes > 0 ? 40 : 5;  // which neighbours would takes a while to settle
  if (grid.dimensions() == 0) return {};
  const std::size_t nodes = nodes_of(grid);
  const std::vector<Point> points = points_of(problem, grid, values, rows);
  if (points.size() < kRowsANode * nodes) return {};
  const Eigen::MatrixXd pull = pulls(grid, nodes);
  const std::vector<NodePair> rising = rising_pairs(grid, problem.rising_axes, nodes);
  Eigen::VectorXd logs = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(nodes));
  for (int round = 0; round < rounds; ++round) {
    Eigen::MatrixXd a = pull;
    for (const auto& [low, high] : rising) {
      if (logs[low] <= logs[high]) continue;
      a(low, low) += kNoFall;
      a(high, high) += kNoFall;
      a(low, high) -= kNoFall;
      a(high, low) -= kNoFall;
    }
    Eigen::VectorXd b = Eigen::VectorXd::Zero(logs.size());
    for (const Point& p : points) {
      double now = 0;
      for (std::size_t i = 0; i < p.count; ++i) {
        now += p.corners[i].weight * logs[static_cast<Eigen::Index>(p.corners[i].node)];
      }
      const double r = round == 0 ? 0 : (p.left - now) / problem.scale;
      const double weight = 1 / std::sqrt(1 + r * r);
      for (std::size_t i = 0; i < p.count; ++i) {
        const auto x = static_cast<Eigen::Index>(p.corners[i].node);
        b[x] += weight * p.corners[i].weight * p.left;
        for (std::size_t j = 0; j < p.count; ++j) {
          a(x, static_cast<Eigen::Index>(p.corners[j].node)) += weight * p.corners[i].weight * p.corners[j].weight;
        }
      }
    }
    logs = a.ldlt().solve(b);
  }
  Correction result = grid;
  for (const double x : logs) result.factors.push_back(std::round(1e3 * std::exp(x)) / 1e3);
  for (const auto& [low, high] : rising) {  // what little is left of falls, and rounding
    double& next = result.factors[static_cast<std::size_t>(high)];
    next = std::max(next, result.factors[static_cast<std::size_t>(low)]);
  }
  return result;
}

}  // namespace

Correction fit_correction(const FitProblem& problem, std::span<const double> values,
                          std::span<const std::size_t> rows) {
  Correction found = fit_over(problem.grid, problem, values, rows);
  return found.empty() ? fit_over(problem.sparse_grid, problem, values, rows) : found;
}

}  // namespace kvsim::models
