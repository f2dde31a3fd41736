// kvsim plan SCENARIO where the decode policy fetches KV: step, batch and link.
#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/prefetch_page.h"

namespace kvsim::cli {
namespace {

/// Options of plans that draft and verify would have no effect.
void refuse_foreign(const PlanOptions& options, const scenario::Scenario& scenario) {
  const auto refuse = [&](const char* name, bool given) {
    if (!given) return;
    throw schema::InputError(
        fmt::format("{}: belongs to plans that draft and verify, and decode policy {} does neither: leave it out", name,
                    scenario.serving.decode.policy));
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

void plan_prefetch(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_foreign(options, scenario);
  const results::PrefetchOutcome outcome{scenario, planner::plan_prefetch(scenario)};
  std::vector<PlanFile> files;
  if (const auto& crossover = outcome.plan.crossover; crossover && !options.out.empty()) {
    files.emplace_back("crossover.csv", results::crossover_csv(*crossover));
    files.emplace_back("crossover.svg", results::crossover_svg(outcome, *crossover));
  }
  deliver_plan(console, options, results::prefetch_document(outcome), {results::prefetch_page(outcome)}, files);
}

}  // namespace kvsim::cli
