// What `kvsim plan` does, by what it is given.
#pragma once

#include "tools/cli/console.h"
#include "tools/cli/plan/plan_options.h"

namespace kvsim::cli {

/// `kvsim plan SCENARIO`
void plan_scenario(Console& console, const PlanOptions& options);

/// `kvsim plan --symbols FILE`
void plan_symbols(Console& console, const PlanOptions& options);

/// Prints a plan and writes the files of --out: plan.json, plan.md.
void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const results::Page& page);

}  // namespace kvsim::cli
