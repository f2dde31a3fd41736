// What `kvsim workload info` says about a trace.
#pragma once

#include <cstdint>
#include <span>

#include "models/workload/request_spec.h"

namespace kvsim::models {

struct LengthStatistics {
  double mean = 0;
  double p50 = 0;  ///< percentiles with linear interpolation (Hyndman-Fan 7)
  double p99 = 0;
  std::int64_t min = 0;
  std::int64_t max = 0;
};

struct TraceStatistics {
  std::uint64_t requests = 0;
  double span_s = 0;      ///< from the first arrival to the last
  double rate_per_s = 0;  ///< (requests - 1) / span; 0 where the span is
  double gap_cv = 0;      ///< coefficient of variation of the gaps: 1 for Poisson; 0 below two gaps
  LengthStatistics prompt;
  LengthStatistics output;

  // Reuse of prefix blocks with a cache that never evicts: a block is reused where an earlier request had it.
  std::uint64_t blocks = 0;
  std::uint64_t distinct_blocks = 0;
  double block_reuse = 0;  ///< share of blocks; 0 where the trace has none
  double token_reuse = 0;  ///< share of prompt tokens; a last, partly filled block counts for what it holds
};

/// (requests - 1) / span, in requests per second; 0 where there is no time between the first arrival and the last.
double arrival_rate(std::span<const RequestSpec> requests);

/// `block_tokens` is the trace format's (TraceFormat::block_tokens).
TraceStatistics describe_trace(std::span<const RequestSpec> requests, std::int64_t block_tokens);

}  // namespace kvsim::models
