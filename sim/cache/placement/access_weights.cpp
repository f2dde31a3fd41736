#include "sim/cache/placement/access_weights.h"

#include <algorithm>
#include <cmath>

namespace kvsim::cache {

namespace {
// Weights stay below 2^512: sums of 2^500 of them, times seconds, are still finite.
constexpr double kLargestExponent = 512;
}  // namespace

double AccessWeights::of_access(engine::SimTime now) const {
  return kind_ == models::FrequencyKind::count ? 1.0 : std::exp2(exponent(now));
}

std::int64_t AccessWeights::excess(engine::SimTime now) const {
  if (kind_ == models::FrequencyKind::count || exponent(now) <= kLargestExponent) return 0;
  return static_cast<std::int64_t>(std::min(std::floor(exponent(now)), 0x1p62));
}

}  // namespace kvsim::cache
