#include "models/kernels/profile.h"

#include <cmath>

namespace kvsim::models {

double EfficiencyCurve::at(double size) const {
  if (points.empty()) return 1.0;
  if (size <= points.front().size) return points.front().efficiency;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (size > points[i].size) continue;
    const EfficiencyPoint& a = points[i - 1];
    const EfficiencyPoint& b = points[i];
    const double share = std::log(size / a.size) / std::log(b.size / a.size);
    return a.efficiency + share * (b.efficiency - a.efficiency);
  }
  return points.back().efficiency;
}

double AllReduceTable::at(double bytes) const {
  if (points.empty()) return 0.0;
  if (bytes <= points.front().bytes || points.size() == 1) return points.front().seconds;
  std::size_t i = 1;
  while (i + 1 < points.size() && bytes > points[i].bytes) ++i;
  const AllReducePoint& a = points[i - 1];
  const AllReducePoint& b = points[i];
  return a.seconds + (bytes - a.bytes) * (b.seconds - a.seconds) / (b.bytes - a.bytes);
}

}  // namespace kvsim::models
