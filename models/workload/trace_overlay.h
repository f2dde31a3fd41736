// Several recordings as one load: their requests merged by time.
#pragma once

#include <cstdint>
#include <vector>

#include "models/workload/request_spec.h"

namespace kvsim::models {

/// One of them.
struct TracePart {
  const std::vector<RequestSpec>* requests = nullptr;  ///< in order of arrival; outlives the call
  std::int64_t later_ns = 0;                           ///< all of them arrive so much later, >= 0
  /// Prompts of parts with the same number share the blocks that have the same hash; those of others share none.
  std::uint64_t prompts = 0;
};

/// The requests of all parts in order of arrival, and where they arrive together, of parts; numbered anew, sessions
/// too, which are a part's own. Throws schema::InputError where arrivals would go beyond a hundred years, or there are
/// more sessions than numbers.
std::vector<RequestSpec> overlaid(const std::vector<TracePart>& parts);

}  // namespace kvsim::models
