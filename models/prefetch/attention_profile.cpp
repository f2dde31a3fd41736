#include "models/prefetch/attention_profile.h"

#include <cmath>

namespace kvsim::models {
namespace {

/// Linear between the points, which ascend from `before` to `end`; constant beyond the end.
double linear_at(const std::vector<CurvePoint>& points, CurvePoint end, double at) {
  CurvePoint before{0, 0};
  const auto between = [&](const CurvePoint& after) {
    return before.value + (after.value - before.value) * (at - before.at) / (after.at - before.at);
  };
  if (at <= before.at) return before.value;
  for (const CurvePoint& point : points) {
    if (at < point.at) return between(point);
    before = point;
  }
  if (before.at >= end.at) return before.value;
  return at < end.at ? between(end) : end.value;
}

}  // namespace

double coverage_at(const AttentionProfile& profile, double share) {
  if (share <= 0) return 0;
  if (share >= 1) return 1;
  const std::vector<CurvePoint>& points = profile.coverage;
  if (points.empty()) return share;  // as if every key were alike
  if (share <= points.front().at) return points.front().value * share / points.front().at;
  CurvePoint before = points.front();
  const auto between = [&](const CurvePoint& after) {
    return before.value + (after.value - before.value) * std::log(share / before.at) / std::log(after.at / before.at);
  };
  for (const CurvePoint& point : points) {
    if (share < point.at) return between(point);
    before = point;
  }
  return between({1, 1});  // share < 1, so the last point lies before 1
}

double hit_rate_at(const AttentionProfile& profile, double bits) {
  return linear_at(profile.hit_rate, {16, 1}, bits);
}

double recovery_at(const AttentionProfile& profile, double mass) {
  return linear_at(profile.recovery, {1, 1}, mass);
}

}  // namespace kvsim::models
