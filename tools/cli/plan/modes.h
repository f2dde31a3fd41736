// What `kvsim plan` does, by what it is given.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/cli/console.h"
#include "tools/cli/plan/plan_options.h"

namespace kvsim::cli {

/// `kvsim plan SCENARIO`
void plan_scenario(Console& console, const PlanOptions& options);

/// `kvsim plan SCENARIO` of a scenario with pools. Throws std::runtime_error after the results where nothing consistent
/// was found.
void plan_pools(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);

/// `kvsim plan SCENARIO` of a scenario whose decode policy fetches KV.
void plan_prefetch(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);

/// `kvsim plan SCENARIO` of a scenario whose prompts are made of chunks, decoding being ordinary.
void plan_reuse(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);

/// `kvsim plan SCENARIO --draft-table`
void plan_draft_table(Console& console, const PlanOptions& options, const scenario::Scenario& scenario);

/// `kvsim plan --symbols FILE`
void plan_symbols(Console& console, const PlanOptions& options);

/// `kvsim plan --paths FILE`. Throws std::runtime_error after the results where no self-consistent batches were found.
void plan_paths(Console& console, const PlanOptions& options);

/// Refuses the options of plans that draft and verify, which would have no effect; `why` follows "belongs to plans that
/// draft and verify, and".
void refuse_verification_options(const PlanOptions& options, const std::string& why);

/// A file of --out: name and contents.
using PlanFile = std::pair<std::string, std::string>;

/// Prints a plan and writes the files of --out: plan.json, plan.md and `exported`. Without --out, what is exported is
/// printed in place of the plan.
void deliver_plan(Console& console, const PlanOptions& options, const results::Json& document,
                  const std::vector<results::Page>& pages, const std::vector<PlanFile>& exported = {});

}  // namespace kvsim::cli
