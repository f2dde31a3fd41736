// A surface through measured times over two sizes, bilinear in the logarithms of sizes and times, rising along both.
#pragma once

#include <cstddef>
#include <vector>

namespace kvsim::models {

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

}  // namespace kvsim::models
