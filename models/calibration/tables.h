// Measured tables of a profile: fitted curves and surfaces over one shape's own rows, thinned.
#pragma once

#include <cstddef>
#include <vector>

#include "models/calibration/fit_problem.h"
#include "models/calibration/samples.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// A table in a report: its errors against the rows it was made from.
struct TableReport {
  std::string name;
  std::size_t points = 0;
  ErrorSummary errors;
};

struct TableTolerances {
  double layer = 0.01;  ///< linear layers and sampler
  double collective = 0.02;
};

/// One table per shape with at least `kTableRows` rows.
inline constexpr std::size_t kTableRows = 16;
[[nodiscard]] std::vector<LinearTable> linear_tables(const std::vector<LinearSample>& rows, const TableTolerances& t,
                                                     std::vector<TableReport>& reports);
/// One table per shape of heads: least-squares surface, bilinear in the logarithms, on at most 9 numbers of requests
/// and 9 KV lengths of those measured.
[[nodiscard]] std::vector<DecodeTable> decode_tables(const std::vector<DecodeSample>& rows,
                                                     std::vector<TableReport>& reports);
[[nodiscard]] std::vector<TimePoint> sampler_table(const std::vector<SamplerSample>& rows, const TableTolerances& t,
                                                   std::vector<TableReport>& reports);
/// One table per collective, library and group size, of the last version by name where rows are of several.
[[nodiscard]] std::vector<CollectiveTable> collective_tables(const std::vector<CollectiveSample>& rows,
                                                             const TableTolerances& t,
                                                             std::vector<TableReport>& reports);

// A surface through measured times over two sizes, bilinear in the logarithms of sizes and times, rising along both.

struct SurfacePoint {
  double x = 1;
  double y = 1;
  double value = 1;
};

struct Surface {
  std::vector<double> x;                    ///< ascending
  std::vector<double> y;                    ///< ascending
  std::vector<std::vector<double>> values;  ///< by x, then y
};

/// Least squares of the logarithms on nodes chosen from the points' own coordinates: those that are missed least are
/// taken out until neither axis has more than `most`. Coordinates and values are positive.
[[nodiscard]] Surface thinned_surface(const std::vector<SurfacePoint>& points, std::size_t most);

// Curves through many measured points, drawn with few: piecewise linear, never falling, within a tolerance.

/// The nearest curve that does not fall, by least squares of relative differences (pool adjacent violators). Points
/// ascend in size.
[[nodiscard]] std::vector<TimePoint> not_falling(std::vector<TimePoint> points);

/// As few knots as a greedy search finds for which the least-squares curve stays within `tolerance` (relative) of every
/// point of not_falling(points). Steps get a knot on both sides. Points ascend in size.
[[nodiscard]] std::vector<TimePoint> thinned(const std::vector<TimePoint>& points, double tolerance);

/// Value of a curve: linear in between, held at its ends.
[[nodiscard]] double value_at(const std::vector<TimePoint>& curve, double size);

}  // namespace kvsim::models
