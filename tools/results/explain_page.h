// The explanation of a plan, for people and as a document.
#pragma once

#include <string>

#include "planner/explain/explanation.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// The decision in one sentence: "HBM capacity binds: +10 % of it gives +8.0 % tokens/s; link bandwidth +1.0 %, ...".
std::string explain_sentence(const planner::Explanation& explanation);

Page explain_page(const planner::Explanation& explanation);

/// "binding", "utilisation", "stalls", "elasticities", "margins", "runner_up": what a plan's document has under
/// "explanation". `section` is empty and placed there.
Section explain_section(Section section, const planner::Explanation& explanation);

/// {"schema_version", "kvsim_version", "explanation", "reasons"}: the explanation on its own.
Json explain_document(const planner::Explanation& explanation);

}  // namespace kvsim::results
