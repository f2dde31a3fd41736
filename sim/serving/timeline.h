// Load over time: requests running and waiting and KV memory in use, sampled at equal periods. Kept only where asked
// for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvsim::serving {

/// One sample, over all replicas.
struct LoadSample {
  std::int64_t running = 0;   ///< requests admitted and not finished
  std::int64_t waiting = 0;   ///< requests that have arrived and were not admitted, or were preempted
  std::int64_t kv_bytes = 0;  ///< GPU memory reserved for KV
};

/// Sample i is of the time (i + 1) period_s since the start of the run. At most kMost are kept: when they are full,
/// every second one goes and the period doubles.
struct Timeline {
  static constexpr std::size_t kMost = std::size_t{1} << 16U;  // even
  double period_s = 0;                                         ///< 0: none was asked for
  std::int64_t kv_capacity_bytes = 0;
  std::vector<LoadSample> samples;

  void add(const LoadSample& sample);
};

}  // namespace kvsim::serving
