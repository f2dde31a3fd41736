// Open-loop arrival processes. Times are whole nanoseconds, so that runs agree to the last bit across platforms.
#pragma once

#include <cstdint>
#include <string>

#include "models/workload/random_source.h"

namespace kvsim::models {

enum class ArrivalKind {
  poisson,  ///< independent exponential gaps
  gamma,    ///< independent gamma gaps: bursty for cv > 1, regular for cv < 1
  constant  ///< equal gaps
};

struct ArrivalSpec {
  ArrivalKind kind = ArrivalKind::poisson;
  double rate_per_s = 1;  ///< requests per second, > 0
  double cv = 1;          ///< of the gaps, of gamma
};

/// What is wrong with the specification and what was expected; empty if nothing is.
std::string problem_with(const ArrivalSpec& spec);

/// Arrival times in order; the first comes one gap after time zero.
class ArrivalProcess {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit ArrivalProcess(const ArrivalSpec& spec);

  /// The next arrival, in ns since the start. Throws schema::InputError past a hundred years.
  std::int64_t next(RandomSource& random);

 private:
  ArrivalSpec spec_;
  std::int64_t count_ = 0;
  std::int64_t now_ns_ = 0;
};

}  // namespace kvsim::models
