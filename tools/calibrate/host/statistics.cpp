#include "tools/calibrate/host/statistics.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kvsim::calibrate {
namespace {

double quantile(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  if (samples.empty()) throw std::invalid_argument("no sample to take the median of");
  std::sort(samples.begin(), samples.end());
  return {quantile(samples, 0.5), quantile(samples, 0.1), quantile(samples, 0.9), samples.size()};
}

std::size_t repeats_for(double seconds_each, double target_s, std::size_t least, std::size_t most) {
  if (!(seconds_each > 0)) return most;
  const double fit = target_s / seconds_each;
  return fit >= static_cast<double>(most) ? most : std::max(least, static_cast<std::size_t>(fit));
}

}  // namespace kvsim::calibrate
