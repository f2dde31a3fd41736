#include "planner/capacity/confirmation.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner::capacity {

ConfirmedRate confirm_rate(double found, const std::function<bool(double rate)>& passes,
                           const ConfirmationOptions& options) {
  constexpr double kFirstStep = 0.02;
  constexpr double kGrowth = 2;
  if (passes(found)) return {found, 0};
  ConfirmedRate result{0, found};
  for (double step = kFirstStep; result.rate == 0; step *= kGrowth) {
    if (result.fails_at <= options.lowest) return result;
    const double rate = std::max(result.fails_at / (1 + step), options.lowest);
    (passes(rate) ? result.rate : result.fails_at) = rate;
  }
  while (result.fails_at > result.rate * (1 + options.tolerance)) {
    const double rate = std::sqrt(result.rate * result.fails_at);
    (passes(rate) ? result.rate : result.fails_at) = rate;
  }
  return result;
}

}  // namespace kvsim::planner::capacity
