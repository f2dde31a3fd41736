// Plans for prompts made of chunks, as a JSON document and as files for other tools.
#pragma once

#include <string>

#include "planner/reuse/reuse_plan.h"
#include "tools/results/section.h"

namespace kvsim::results {

struct ReusePlanOutcome {
  scenario::Scenario scenario;
  planner::ReusePlan plan;
};

Json reuse_plan_document(const ReusePlanOutcome& outcome);

/// Context against the bandwidth at which each method is as fast as recomputing: a header and a line for each point.
/// Empty fields where no bandwidth suffices.
std::string break_even_csv(const planner::ReusePlan& plan);

/// The same as a picture, with the catalogue's host links and the scenario in it.
std::string break_even_svg(const ReusePlanOutcome& outcome);

/// What the scores and times of a plan take for granted, under any of its methods.
std::vector<std::string> plan_assumptions(const scenario::Scenario& scenario);

}  // namespace kvsim::results
