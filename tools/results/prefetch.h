// Plans of policies that fetch KV: a page, a JSON document, and files for other tools.
#pragma once

#include <string>

#include "planner/prefetch/prefetch_plan.h"
#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct PrefetchOutcome {
  scenario::Scenario scenario;
  planner::PrefetchPlan plan;
};

Page prefetch_page(const PrefetchOutcome& outcome);

Json prefetch_document(const PrefetchOutcome& outcome);
KeyList prefetch_keys();

/// k against what its fetch needs of the link: a header and a line for each point. Empty fields where no rate suffices.
std::string crossover_csv(const planner::Crossover& crossover);

/// The same as a picture, with the catalogue's host links and the scenario in it.
std::string crossover_svg(const PrefetchOutcome& outcome, const planner::Crossover& crossover);

}  // namespace kvsim::results
