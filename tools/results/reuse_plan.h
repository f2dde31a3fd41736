// Plans for prompts made of chunks: a page, a JSON document, and files for other tools.
#pragma once

#include <string>

#include "planner/reuse/reuse_plan.h"
#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

struct ReusePlanOutcome {
  scenario::Scenario scenario;
  planner::ReusePlan plan;
};

Page reuse_plan_page(const ReusePlanOutcome& outcome);

Json reuse_plan_document(const ReusePlanOutcome& outcome);
KeyList reuse_plan_keys();

/// Context against the bandwidth at which each method is as fast as recomputing: a header and a line for each point.
/// Empty fields where no bandwidth suffices.
std::string break_even_csv(const planner::ReusePlan& plan);

/// The same as a picture, with the catalogue's host links and the scenario in it.
std::string break_even_svg(const ReusePlanOutcome& outcome);

}  // namespace kvsim::results
