// The explanation of a plan, for people and as a part of its document.
#pragma once

#include <string>

#include "planner/explain/explain.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// The decision in one sentence: "HBM capacity binds: +10 % of it gives +8.0 % tokens/s; link bandwidth +1.0 %, ...".
std::string explain_sentence(const planner::Explanation& explanation);

Page explain_page(const planner::Explanation& explanation);

/// Adds "explanation" to a plan's document: "binding", "utilisation", "stalls", "elasticities", "margins", "runner_up".
/// Reasons for what is null go to the document's "details"."reasons".
void add_explanation(Json& plan_document, const planner::Explanation& explanation);

}  // namespace kvsim::results
