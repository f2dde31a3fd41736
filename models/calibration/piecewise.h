// Curves through many measured points, drawn with few: piecewise linear, never falling, within a tolerance.
#pragma once

#include <vector>

#include "models/kernels/profile.h"

namespace kvsim::models {

/// The nearest curve that does not fall, by least squares of relative differences (pool adjacent violators). Points
/// ascend in size.
[[nodiscard]] std::vector<TimePoint> not_falling(std::vector<TimePoint> points);

/// As few knots as a greedy search finds for which the least-squares curve stays within `tolerance` (relative) of every
/// point of not_falling(points). Steps get a knot on both sides. Points ascend in size.
[[nodiscard]] std::vector<TimePoint> thinned(const std::vector<TimePoint>& points, double tolerance);

/// Value of a curve: linear in between, held at its ends.
[[nodiscard]] double value_at(const std::vector<TimePoint>& curve, double size);

}  // namespace kvsim::models
