// kvsim plan SCENARIO --draft-table: the best draft length by batch and context.
#include "planner/draft_table/draft_table.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/draft_table.h"

namespace kvsim::cli {
void plan_draft_table(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_verification_options(options, "--draft-table gives lengths for the policy that the scenario has");
  const results::DraftTableOutcome outcome{scenario, planner::draft_table(scenario)};
  const std::string block = planner::draft_table_yaml(outcome.table);
  std::vector<PlanFile> files;
  if (!options.out.empty()) files.emplace_back("draft_lengths.yaml", block);
  deliver_plan(console, options, results::draft_table_document(outcome), {results::draft_table_page(outcome)}, files);
  if (!options.json) console.print("\nFor the scenario's decode:\n\n" + block);
}

}  // namespace kvsim::cli
