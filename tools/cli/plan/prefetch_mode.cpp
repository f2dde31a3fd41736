// kvsim plan SCENARIO where the decode policy fetches KV: step, batch and link.
#include <fmt/format.h>

#include "tools/cli/plan/modes.h"
#include "tools/results/prefetch.h"

namespace kvsim::cli {

void plan_prefetch(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_verification_options(options, fmt::format("decode policy {} does neither", scenario.serving.decode.policy));
  const results::PrefetchOutcome outcome{scenario, planner::plan_prefetch(scenario)};
  std::vector<PlanFile> files;
  if (const auto& crossover = outcome.plan.crossover; crossover && !options.out.empty()) {
    files.emplace_back("crossover.csv", results::crossover_csv(*crossover));
    files.emplace_back("crossover.svg", results::crossover_svg(outcome, *crossover));
  }
  deliver_plan(console, options, results::prefetch_document(outcome), {results::prefetch_page(outcome)}, files);
}

}  // namespace kvsim::cli
