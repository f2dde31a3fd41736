// Plans as pages: the decision first, then what it rests on.
#pragma once

#include "tools/results/plan_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page plan_page(const SymbolsOutcome& outcome);
Page plan_page(const PlanOutcome& outcome);

/// "draft 35 tokens on KV kept to 0.20, 12 requests offloaded, 0 resident", or "decode with the full KV, 3 requests".
std::string plan_in_words(const planner::OperatingPoint& point);

}  // namespace kvsim::results
