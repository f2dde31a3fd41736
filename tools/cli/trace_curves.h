// What `kvsim workload info --curve` works out of a trace: hit rates and times against the capacity of a prefix cache.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/workload/trace_reader.h"
#include "tools/results/cache_curves.h"

namespace kvsim::cli {

struct CurveOptions {
  bool curve = false;
  std::vector<std::string> policies;
  std::string model;
  std::string read;     ///< bandwidth of the cache
  std::string prefill;  ///< tokens per second
};

struct TraceCurves {
  results::HitRateView hit_rates;
  std::vector<results::PolicyHitRates> policies;
  std::optional<results::LatencyView> latency;
};

/// Throws schema::InputError for options that do not go together, and for unknown names with the nearest. To be called
/// before the trace is read.
void check_curve_options(const CurveOptions& options, const models::TraceFormat& format);

/// Nothing without options.curve.
std::optional<TraceCurves> trace_curves(const std::vector<models::RequestSpec>& requests,
                                        const models::TraceFormat& format, const CurveOptions& options);

/// Adds keys to the document of a trace.
void add_to(results::Json& document, const TraceCurves& curves);
/// Adds tables to its page.
void add_to(results::Page& page, const TraceCurves& curves);

}  // namespace kvsim::cli
