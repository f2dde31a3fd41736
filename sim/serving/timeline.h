// Load over time: requests running and waiting, KV memory in use, and what GPUs and links did, sampled at equal
// periods. Samples are taken between events and change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/time.h"

namespace kvsim::serving {

/// Where GPUs' time went since the start of the run, added over replicas or nodes; what goes on now is counted as far
/// as it has come. The parts add up to the time passed, times replicas or nodes.
struct GpuTime {
  engine::Duration hbm_bandwidth, compute, link, idle;

  GpuTime& operator+=(const GpuTime& other);
};

/// One sample, over all replicas or nodes.
struct LoadSample {
  std::int64_t running = 0;             ///< requests admitted and not finished
  std::int64_t waiting = 0;             ///< requests that have arrived and were not admitted, or were preempted
  std::int64_t kv_bytes = 0;            ///< GPU memory reserved for KV
  std::int64_t kv_streaming_bytes = 0;  ///< of it, for full KV that streams in or lies there for a verification
  GpuTime gpu;
};

/// Links of one name: how many, and the time in which each carried something, added up, since the start of the run.
struct LinkTime {
  std::int64_t links = 0;
  double busy_s = 0;
};
using LinkTimes = std::map<std::string, LinkTime>;

/// Sample i is of the time (i + 1) period_s since the start of the run. At most `most` are kept: when they are full,
/// every second one goes and the period doubles. Busy times are sums since the start, so that what happened in a period
/// is the difference of two samples, whatever was dropped between them.
struct Timeline {
  struct LinkSeries {
    std::int64_t links = 0;
    std::vector<double> busy_s;  ///< by sample
  };

  std::size_t most = 120;  ///< even
  double period_s = 0;     ///< 0: there is none
  std::int64_t kv_capacity_bytes = 0;
  std::vector<LoadSample> samples;
  std::map<std::string, LinkSeries> links;

  /// `times`: of the same links every time.
  void add(const LoadSample& sample, const LinkTimes& times);
};

}  // namespace kvsim::serving
