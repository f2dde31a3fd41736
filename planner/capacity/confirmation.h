// The second stage of a search: long runs confirm the rate that short ones found, or lower it.
#pragma once

#include <functional>

namespace kvsim::planner::capacity {

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
