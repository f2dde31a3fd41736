// The highest rate that passes, by bracketing and bisection.
#pragma once

#include <functional>
#include <vector>

namespace kvsim::planner::capacity {

struct RateSearchOptions {
  double first_guess = 1;   ///< requests/s, > 0
  double lowest = 0.001;    ///< requests/s, > 0: where this fails nothing passes
  double highest = 1e6;     ///< requests/s: no rate above is probed
  double tolerance = 0.02;  ///< ends when a rate this share higher has failed
};

struct ProbedRate {
  double rate = 0;
  bool passes = false;
};

struct RateSearch {
  /// The largest probed rate that passes and below which no probed rate fails; 0 where there is none.
  double rate = 0;
  /// The smallest probed rate above `rate` that fails; infinite where even the highest passes.
  double fails_at = 0;
  /// Whether some rate failed that is lower than one that passed: the answer then is the lower side of it.
  bool monotone = true;
  std::vector<ProbedRate> probes;  ///< in order of probing
};

/// Doubles or halves from the first guess until one rate passes and one fails, then bisects the logarithm of the rate
/// between them. Then probes at fractions of the answer, and begins again below one that fails. Deterministic; asks for
/// no rate twice. `passes` is called from this thread.
RateSearch search_rate(const std::function<bool(double rate)>& passes, const RateSearchOptions& options);

}  // namespace kvsim::planner::capacity
