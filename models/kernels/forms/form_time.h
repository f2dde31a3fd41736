// What every fitted form returns, and the two shapes all of them are made of: a blend of what overlaps, and a stream
// of bytes of which a part may hit the L2 cache.
#pragma once

#include "models/kernels/forms/machine.h"

namespace kvsim::models {

/// Seconds of one kernel call, and which peak decides its size-dependent part.
struct FormTime {
  double seconds = 0;
  bool memory_bound = true;
};

/// (a^p + b^p)^(1/p): the larger of two times that overlap, rounded off where they are alike. p = 1 adds them, a large
/// p takes the maximum. a, b >= 0, p >= 1.
[[nodiscard]] double blend(double a, double b, double p);

/// Bytes read at one rate from HBM and at another from L2; which share hits L2 falls from one to none around
/// `l2_share` of the cache's size.
struct CachedStream {
  double bandwidth_efficiency = 1;  ///< of the peak memory bandwidth, for what comes from HBM
  double l2_efficiency = 0;         ///< rate of hits as a multiple of the peak memory bandwidth; 0: no hits
  double l2_share = 1;              ///< of the L2 size: where half of the bytes hit
  double l2_width = 0.1;            ///< width of that transition in ln(bytes)

  /// Share of the reads of a working set of `bytes` that go to HBM, 0 to 1; 1 when nothing is known of the cache.
  [[nodiscard]] double miss_share(double bytes, const Machine& machine) const;
  /// Seconds to read a working set of `bytes` again, a part of it from L2.
  [[nodiscard]] double reread(double bytes, const Machine& machine) const { return seconds(bytes, machine, false); }
  /// Seconds to read `bytes` that were read shortly before; cold: as if they never had been.
  [[nodiscard]] double seconds(double bytes, const Machine& machine, bool cold) const;
};

}  // namespace kvsim::models
