// Attainment: the share of requests that met every objective, and how sure one can be of it.
//
//   attainment = requests without a miss / requests that arrived in the judged part of the run
//
// The judged part begins after the warm-up and ends when arrivals do not count any more; all that arrived in it counts:
// refused, unfinished and still queued requests are misses (sim/serving/objectives.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvsim::planner::capacity {

/// The verdicts (bits of serving::Miss, 0: met) of one run, in order of arrival.
using Verdicts = std::vector<std::uint8_t>;

struct Attainment {
  double share = 0;              ///< of requests that met every objective; 0 where none arrived
  double lower = 0;              ///< one-sided lower confidence bound of it
  std::uint64_t requests = 0;    ///< judged
  std::uint64_t misses = 0;      ///< of them
  std::size_t observations = 0;  ///< replications, or batches of one run, whose spread the bound is made of
};

/// Attainment of replications with the same law. The lower bound is the smaller of two:
/// - Student t over the replications' own attainments, mean - t(confidence, n - 1) s / sqrt(n). Requests within a run
///   are correlated (they queue behind each other), so runs are counted, not requests. One run alone is cut into
///   `kBatches` batches of consecutive requests instead (batch means).
/// - Clopper and Pearson's exact binomial bound over all requests, which holds where the spread says nothing: without
///   any miss it is 1 + ln(1 - confidence) / n, the rule of three. It takes requests as independent.
/// `confidence` is in (0, 1). One run of fewer requests than batches has a lower bound of 0.
Attainment attainment_of(std::span<const Verdicts> replications, double confidence);

inline constexpr std::size_t kBatches = 20;

}  // namespace kvsim::planner::capacity
