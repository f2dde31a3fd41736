// The result of a capacity search as a JSON document. Keys, their order and their nesting are fixed; what is not in the
// fixed set is under "details". Equal scenario, request, seed and version give equal bytes, whatever the threads.
#pragma once

#include <optional>
#include <string>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/hit_rate_page.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct CapacityOutcome {
  planner::capacity::CapacityPlan plan;
  std::optional<HitRateView> hit_rates;  ///< where the workload is a trace with block hashes
  std::string resolved;                  ///< the scenario as it was given, with every default written out, YAML
};

Json capacity_document(const CapacityOutcome& outcome);

/// The decision, then the tables, then on what it rests.
Page capacity_page(const CapacityOutcome& outcome);

/// How attainment, confidence, run length, fleets and costs are defined, {word, sentence}; the numbers that a request
/// sets are in the sentences.
std::vector<std::pair<std::string, std::string>> capacity_definitions(const CapacityOutcome& outcome);

/// One line for every price that a configuration used, and for every one that was missing.
std::vector<std::string> price_lines(const CapacityOutcome& outcome);

}  // namespace kvsim::results
