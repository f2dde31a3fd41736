#include <chrono>

#include <fmt/format.h>

#include "planner/infeasible.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/plan.h"

namespace kvsim::cli {

void plan_symbols(Console& console, const PlanOptions& options) {
  results::SymbolsOutcome outcome;
  outcome.problem = planner::read_symbols_problem(options.symbols);
  if (!options.model.empty()) outcome.problem.model = *planner::find_transfer_model(options.model);
  const auto begin = std::chrono::steady_clock::now();
  outcome.plan = planner::plan(outcome.problem);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  for (const planner::TransferModelName& entry : planner::kTransferModels) {
    planner::SymbolsProblem other = outcome.problem;
    other.model = entry.model;
    try {
      outcome.by_model.emplace_back(entry.model, planner::plan(other).optimum);
    } catch (const planner::Infeasible&) {  // where one model finds no room, another may
    }
  }
  deliver_plan(console, options, results::plan_document(outcome, options.timing), {results::plan_page(outcome)});
}

}  // namespace kvsim::cli
