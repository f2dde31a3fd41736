// Zipf's law as weights.
#pragma once

#include <cmath>

namespace kvsim::models {

/// In proportion to the chance of what has this rank, from 1: 1/rank^exponent.
inline double zipf_weight(double rank, double exponent) {
  // Of the usual exponents, 0 and 1, without pow(): the same on all platforms, to the last bit.
  if (exponent == 0) return 1;
  return exponent == 1 ? 1 / rank : std::pow(rank, -exponent);
}

}  // namespace kvsim::models
