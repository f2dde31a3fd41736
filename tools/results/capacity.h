// The result of a capacity search, for people and as a JSON document. Its keys, their order and their nesting are
// fixed; what is not in the fixed set is under "details". Equal scenario, request, seed and version give equal bytes,
// whatever the threads.
#pragma once

#include <optional>
#include <string>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/cache_curves.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct CapacityOutcome {
  planner::capacity::CapacityPlan plan;
  std::optional<HitRateView> hit_rates;  ///< where the workload is a trace with block hashes
  std::string resolved;                  ///< the scenario as it was given, with every default
                                         ///< written out, YAML
};

Json capacity_document(const CapacityOutcome& outcome);
KeyList capacity_keys();

/// The decision, then the tables, then on what it rests.
Page capacity_page(const CapacityOutcome& outcome);

}  // namespace kvsim::results
