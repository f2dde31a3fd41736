#include "sim/engine/time.h"

#include <cmath>

#include "sim/engine/invariant.h"

namespace kvsim::engine {
namespace {

constexpr double ns_per_s = 1e9;

// Duration of a whole number of nanoseconds held in a double.
Duration saturated(double ns) {
  constexpr double limit = 9223372036854775808.0;  // 2^63, the first value beyond the type
  if (ns >= limit) return {std::numeric_limits<std::int64_t>::max()};
  if (ns < -limit) return {std::numeric_limits<std::int64_t>::min()};
  return {static_cast<std::int64_t>(ns)};
}

}  // namespace

Duration from_seconds(double seconds) {
  KVSIM_ALWAYS(!std::isnan(seconds), "a duration must be a number");
  const double ns = seconds * ns_per_s;
  constexpr double exact = 4503599627370496.0;  // 2^52: beyond it every double is whole
  if (!(std::abs(ns) < exact)) return saturated(ns);
  const auto towards_zero = static_cast<std::int64_t>(ns);
  const double cut_off = ns - static_cast<double>(towards_zero);  // exact
  return {towards_zero + (cut_off >= 0.5 ? 1 : 0) - (cut_off <= -0.5 ? 1 : 0)};
}

Duration from_seconds_ceil(double seconds) {
  KVSIM_ALWAYS(!std::isnan(seconds), "a duration must be a number");
  const double nearest = std::round(seconds * ns_per_s);
  if (nearest / ns_per_s == seconds) return saturated(nearest);
  // The product is rounded: where it fell on a whole number from above, what was cut off still needs a nanosecond.
  const double product = seconds * ns_per_s;
  const double cut_off = std::fma(seconds, ns_per_s, -product);
  const double above = std::ceil(product);
  return saturated(above == product && cut_off > 0 ? above + 1 : above);
}

namespace {

// a * b as an unevaluated sum of two doubles, exact.
struct Product {
  Product(double a, double b) : high(a * b), low(std::fma(a, b, -high)) {}

  bool operator>=(const Product& other) const { return high > other.high || (high == other.high && low >= other.low); }

  double high;
  double low;
};

}  // namespace

Duration transfer_time(double bytes, double bytes_per_s) {
  if (bytes <= 0 || std::isinf(bytes_per_s)) return {0};
  const Product work(bytes, ns_per_s);
  const double estimate = work.high / bytes_per_s;  // infinite when the link is down
  if (!(estimate <= static_cast<double>(longest_transfer.ns))) return forever;
  // The estimate may be off by one either way.
  double ns = std::ceil(estimate);
  if (!(Product(ns, bytes_per_s) >= work)) {
    ns += 1;
  } else if (Product(ns - 1, bytes_per_s) >= work) {
    ns -= 1;
  }
  return {static_cast<std::int64_t>(ns)};
}

}  // namespace kvsim::engine
