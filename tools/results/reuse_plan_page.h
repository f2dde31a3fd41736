// Plans for prompts made of chunks as a page.
#pragma once

#include "tools/results/reuse_plan_document.h"
#include "tools/results/table.h"

namespace kvsim::results {

Page reuse_plan_page(const ReusePlanOutcome& outcome);

}  // namespace kvsim::results
