// Contents of a recorded trace, for people and as a JSON document.
#pragma once

#include <optional>
#include <string>

#include "models/workload/trace_reader.h"
#include "tools/results/cache_curves.h"
#include "tools/results/fields.h"

namespace kvsim::results {

struct TraceOutcome : models::TraceStatistics {
  std::string trace;  ///< its file
  models::TraceFormat format;
  std::optional<TraceCurves> curves;
  std::uint64_t left_out = 0;   ///< requests that failed, and lines that are none
  std::string first_invalid{};  ///< the first of such lines; empty: none
};

/// Without reasons: only bytes without a model, and what the last point adds, are null.
Json trace_document(const TraceOutcome& outcome);
KeyList trace_keys();

Page trace_page(const TraceOutcome& outcome);

}  // namespace kvsim::results
