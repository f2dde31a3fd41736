// The highest rate that passes, by bracketing and bisection.
#pragma once

#include <functional>
#include <vector>

#include "sim/scenario/scenario.h"

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

// Where the search for a rate begins: closed forms, right within a factor of a few.

/// The load (run_length.h) of the whole cluster at which the GPUs would be about half busy, by peak rates alone:
///   1/rate = K T(B)/B + 2 P c / F,   T(B) = (M + B KV)/BW,   B = min(KV capacity / KV, most requests)
/// with K output tokens and c prompt tokens of a mean request, KV the bytes of its context, P active parameters, F the
/// group's bf16 peak (the prompt's term only where prompts are prefilled here). The scenario must fit its machine.
double first_guess(const scenario::Scenario& scenario);

/// The load at which a request is alone nearly always (one in fifty meets another) if it meets its objectives; where
/// they do not bound its time, a 256th of first_guess(); of users, one. What fails here fails at any rate.
double lone_rate(const scenario::Scenario& scenario);

// The second stage of a search: long runs confirm the rate that short ones found, or lower it.

struct ConfirmationOptions {
  double lowest = 0.001;    ///< requests/s, > 0: where this fails nothing passes
  double tolerance = 0.02;  ///< ends when a rate this share higher has failed
};

struct ConfirmedRate {
  double rate = 0;      ///< the highest rate probed that passes; 0 where none does
  double fails_at = 0;  ///< the lowest rate probed that fails; 0 where the first one passes
};

/// Probes `found`. Where it fails, goes down by 2 %, then twice that, four times that, ..., to the lowest rate at most,
/// until one passes, and bisects the logarithm of the rate between it and the lowest that failed. Deterministic; asks
/// for no rate twice, and for none above `found`.
ConfirmedRate confirm_rate(double found, const std::function<bool(double rate)>& passes,
                           const ConfirmationOptions& options);

}  // namespace kvsim::planner::capacity
