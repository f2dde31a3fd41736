#include "sim/engine/transfer_time.h"

#include <cmath>

namespace kvsim::engine {
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
  const Product work(bytes, 1e9);
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
