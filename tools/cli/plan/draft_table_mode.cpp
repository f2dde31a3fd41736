// kvsim plan SCENARIO --draft-table: the best draft length by batch and context.
#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/draft_table/draft_table.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/draft_table_page.h"

namespace kvsim::cli {
namespace {

void refuse_other_plans(const PlanOptions& options) {
  const auto refuse = [](const char* name, bool given) {
    if (!given) return;
    throw schema::InputError(fmt::format("{}: does not go with --draft-table, and would have no effect", name));
  };
  refuse("--model", !options.model.empty());
  refuse("--draft-length", !options.draft_length.empty());
  refuse("--keep-ratio", !options.keep_ratio.empty());
  refuse("--without", !options.without.empty());
  refuse("--simulate", options.simulate);
  refuse("--explain", options.explain);
  refuse("--pareto", options.pareto);
  refuse("--export", !options.engines.empty());
  refuse("--timing", options.timing);
}

}  // namespace

void plan_draft_table(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_other_plans(options);
  const results::DraftTableOutcome outcome{scenario, planner::draft_table(scenario)};
  const std::string block = planner::draft_table_yaml(outcome.table);
  std::vector<PlanFile> files;
  if (!options.out.empty()) files.emplace_back("draft_lengths.yaml", block);
  deliver_plan(console, options, results::draft_table_document(outcome), {results::draft_table_page(outcome)}, files);
  if (!options.json) console.print("\nFor the scenario's decode:\n\n" + block);
}

}  // namespace kvsim::cli
