// What is kept of repeated measurements.
#pragma once

#include <cstddef>
#include <vector>

namespace kvsim::calibrate {

struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  std::size_t repeats = 0;
};

/// Quantiles with linear interpolation (Hyndman-Fan 7). Throws std::invalid_argument where there is no sample.
Spread spread_of(std::vector<double> samples);

/// How many repeats fit: `seconds_each` was seen once; at least `least`, at most `most`, about `target_s` in all.
std::size_t repeats_for(double seconds_each, double target_s, std::size_t least, std::size_t most);

}  // namespace kvsim::calibrate
