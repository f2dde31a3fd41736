#include "models/kernels/forms/form_time.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {

double blend(double a, double b, double p) {
  const double high = std::max(a, b);
  const double low = std::min(a, b);
  if (high <= 0) return 0;
  const double ratio = low / high;
  if (low <= 0 || (ratio < 0.05 && p > 3)) return high;  // what is left out is below 5e-5 of the result
  // Logarithms cost half of std::pow, and this is most of a query's time.
  return high * std::exp2(std::log2(1 + std::exp2(p * std::log2(ratio))) / p);
}

double CachedStream::miss_share(double bytes, const Machine& machine) const {
  if (l2_efficiency <= 0 || machine.l2_bytes <= 0 || bytes <= 0) return 1;
  const double x = std::log(bytes / (l2_share * machine.l2_bytes)) / l2_width;
  return 1 / (1 + std::exp(-x));
}

double CachedStream::seconds(double bytes, const Machine& machine, bool cold) const {
  const double from_hbm = bytes / (bandwidth_efficiency * machine.memory_bytes_per_s);
  if (cold || l2_efficiency <= 0) return from_hbm;
  const double miss = miss_share(bytes, machine);
  return miss * from_hbm + (1 - miss) * bytes / (l2_efficiency * machine.memory_bytes_per_s);
}

}  // namespace kvsim::models
