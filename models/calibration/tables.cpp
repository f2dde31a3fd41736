#include "models/calibration/tables.h"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

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

namespace {

/// One point per size, the mean of rows that repeat it.
std::vector<TimePoint> points_of(const std::map<double, std::vector<double>>& by_size) {
  std::vector<TimePoint> points;
  for (const auto& [size, times] : by_size) {
    double sum = 0;
    for (const double t : times) sum += t;
    points.push_back({size, sum / static_cast<double>(times.size())});
  }
  return points;
}

void report(std::string name, const std::vector<TimePoint>& curve, const std::vector<TimePoint>& points,
            std::vector<TableReport>& reports) {
  std::vector<double> errors;
  for (const TimePoint& p : points) errors.push_back(value_at(curve, p.size) / p.seconds - 1);
  reports.push_back({std::move(name), curve.size(), summarise(errors)});
}

}  // namespace

std::vector<LinearTable> linear_tables(const std::vector<LinearSample>& rows, const TableTolerances& tolerance,
                                       std::vector<TableReport>& reports) {
  std::map<std::tuple<NumberFormat, double, double>, std::map<double, std::vector<double>>> shapes;
  for (const LinearSample& row : rows) shapes[{row.weights, row.n, row.k}][row.m].push_back(row.seconds);
  std::vector<LinearTable> tables;
  for (const auto& [shape, by_tokens] : shapes) {
    if (by_tokens.size() < kTableRows) continue;
    LinearTable table;
    std::tie(table.weights, table.n, table.k) = shape;
    const std::vector<TimePoint> points = points_of(by_tokens);
    table.points = thinned(points, tolerance.layer);
    report(fmt::format("linear {:.0f} x {:.0f} {}", table.n, table.k, word(table.weights)), table.points, points,
           reports);
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<DecodeTable> decode_tables(const std::vector<DecodeSample>& rows, std::vector<TableReport>& reports) {
  constexpr std::size_t kMostNodes = 9;
  using Shape = std::tuple<NumberFormat, double, double, double, bool>;
  std::map<Shape, std::vector<SurfacePoint>> shapes;
  for (const DecodeSample& row : rows) {
    shapes[{row.kv, row.shape.heads, row.shape.kv_heads, row.shape.head_dim, row.warm}].push_back(
        {row.requests, row.kv_length, row.seconds});
  }
  std::vector<DecodeTable> tables;
  for (const auto& [shape, points] : shapes) {
    const Surface surface = thinned_surface(points, kMostNodes);
    if (points.size() < 2 * kTableRows || surface.x.size() < 2 || surface.y.size() < 2) continue;
    DecodeTable table;
    std::tie(table.kv, table.heads, table.kv_heads, table.head_dim, table.warm) = shape;
    table.kv_lengths = surface.y;
    for (std::size_t i = 0; i < surface.x.size(); ++i) table.rows.push_back({surface.x[i], surface.values[i]});
    std::vector<double> errors;
    for (const SurfacePoint& p : points) {
      if (table.covers(p.x, p.y)) errors.push_back(table.at(p.x, p.y) / p.value - 1);
    }
    reports.push_back(
        {fmt::format("decode attention {:.0f}/{:.0f} heads {}", table.heads, table.kv_heads, word(table.kv)),
         surface.x.size() * surface.y.size(), summarise(errors)});
    tables.push_back(std::move(table));
  }
  return tables;
}

std::vector<TimePoint> sampler_table(const std::vector<SamplerSample>& rows, const TableTolerances& tolerance,
                                     std::vector<TableReport>& reports) {
  std::map<double, std::vector<double>> by_size;
  for (const SamplerSample& row : rows) by_size[row.sequences].push_back(row.seconds);
  if (by_size.size() < kTableRows) return {};
  const std::vector<TimePoint> points = points_of(by_size);
  std::vector<TimePoint> table = thinned(points, tolerance.layer);
  report("sampler", table, points, reports);
  return table;
}

std::vector<CollectiveTable> collective_tables(const std::vector<CollectiveSample>& rows,
                                               const TableTolerances& tolerance, std::vector<TableReport>& reports) {
  using BySize = std::map<double, std::vector<double>>;
  std::map<std::tuple<Collective, std::string, int>, std::map<std::string, BySize>> groups;
  for (const CollectiveSample& row : rows) {
    groups[{row.operation, row.library, row.gpus}][row.from.version][row.bytes].push_back(row.seconds);
  }
  std::vector<CollectiveTable> tables;
  for (const auto& [group, versions] : groups) {
    const auto& [version, by_bytes] = *versions.rbegin();
    CollectiveTable table;
    std::tie(table.operation, table.library, table.gpus) = group;
    const std::vector<TimePoint> points = points_of(by_bytes);
    const std::vector<TimePoint> curve = thinned(points, tolerance.collective);
    for (const TimePoint& p : curve) table.points.push_back({p.size, p.seconds});
    table.source = {schema::SourceKind::measurement, fmt::format("{} {}", table.library, version)};
    report(fmt::format("{} of {} over {} GPUs", word(table.operation), table.library, table.gpus), curve, points,
           reports);
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace kvsim::models
