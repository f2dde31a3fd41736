#include "models/compression/compressor_spec.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvsim::models {
namespace {

constexpr double kNotGiven = std::numeric_limits<double>::quiet_NaN();

/// Distance from lossless in which published losses are taken to be proportional: 1/c - 1.
double compression_excess(double keep_ratio) {
  return 1.0 / keep_ratio - 1.0;
}

/// A loss over the keep ratio, 0 at c = 1: linear in 1/c - 1 between the given points and from the nearest point
/// (through the origin below the first, along the last slope from the origin beyond the last). Points are ascending
/// in keep ratio.
double loss_at(const std::vector<KeepRatioPoint>& points, double keep_ratio) {
  if (points.empty()) return kNotGiven;
  if (keep_ratio >= 1.0) return 0.0;
  const double u = compression_excess(keep_ratio);
  double u_before = 0, loss_before = 0;
  for (auto it = points.rbegin(); it != points.rend(); ++it) {
    const double u_point = compression_excess(it->keep_ratio);
    if (u <= u_point && u_point > u_before) {
      return loss_before + (it->value - loss_before) * (u - u_before) / (u_point - u_before);
    }
    u_before = u_point;
    loss_before = it->value;
  }
  return u_before > 0 ? loss_before * u / u_before : loss_before;
}

}  // namespace

double CompressorSpec::quantised_ratio() const {
  const double metadata = group_size > 0 ? 2.0 / static_cast<double>(group_size) : 0.0;
  return std::min(1.0, bits_per_element / 16.0 + (bits_per_element < 16 ? metadata : 0.0));
}

double CompressorSpec::step_kl(double keep_ratio) const {
  return loss_at(step_kl_nats, keep_ratio);
}

double CompressorSpec::agreement_at(double keep_ratio) const {
  if (agreement.empty()) return std::exp(-step_kl(keep_ratio));
  std::vector<KeepRatioPoint> losses = agreement;
  for (KeepRatioPoint& p : losses) p.value = -std::log(p.value);
  return std::exp(-loss_at(losses, keep_ratio));
}

double CompressorSpec::quality_at(double keep_ratio) const {
  if (quality.empty()) return kNotGiven;
  if (keep_ratio >= 1.0) return 1.0;
  KeepRatioPoint above{1.0, 1.0};
  for (auto it = quality.rbegin(); it != quality.rend(); ++it) {
    if (keep_ratio >= it->keep_ratio) {
      if (above.keep_ratio <= it->keep_ratio) return it->value;
      const double share = (keep_ratio - it->keep_ratio) / (above.keep_ratio - it->keep_ratio);
      return it->value + share * (above.value - it->value);
    }
    above = *it;
  }
  return above.value * keep_ratio / above.keep_ratio;  // towards 0 with nothing kept
}

}  // namespace kvsim::models
