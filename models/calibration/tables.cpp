#include "models/calibration/tables.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "models/calibration/piecewise.h"
#include "models/calibration/surface.h"

namespace kvsim::models {
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

std::vector<AllReduceTable> all_reduce_tables(const std::vector<AllReduceSample>& rows,
                                              const TableTolerances& tolerance, std::vector<TableReport>& reports) {
  std::map<int, std::map<double, std::vector<double>>> groups;
  for (const AllReduceSample& row : rows) groups[row.gpus][row.bytes].push_back(row.seconds);
  std::vector<AllReduceTable> tables;
  for (const auto& [gpus, by_bytes] : groups) {
    AllReduceTable table;
    table.gpus = gpus;
    const std::vector<TimePoint> points = points_of(by_bytes);
    const std::vector<TimePoint> curve = thinned(points, tolerance.all_reduce);
    for (const TimePoint& p : curve) table.points.push_back({p.size, p.seconds});
    report(fmt::format("all-reduce over {} GPUs", gpus), curve, points, reports);
    tables.push_back(std::move(table));
  }
  return tables;
}

}  // namespace kvsim::models
