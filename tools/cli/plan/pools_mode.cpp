// kvsim plan SCENARIO where the scenario has two pools: rates by path.
#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/paths/planned_weights.h"
#include "tools/cli/experiments.h"
#include "tools/cli/plan/modes.h"
#include "tools/results/pools_plan.h"

namespace kvsim::cli {
namespace {

void refuse_beside_pools(const PlanOptions& options) {
  const auto refuse = [](const char* name, bool given, const char* why) {
    if (given) {
      throw schema::InputError(fmt::format("{}: {}, and this scenario has cluster.pools: leave it out", name, why));
    }
  };
  constexpr const char* kPaths = "what is planned between pools are requests/s by path";
  refuse("--model", !options.model.empty(), "it is about reloads on one replica");
  refuse("--draft-length", !options.draft_length.empty(), kPaths);
  refuse("--keep-ratio", !options.keep_ratio.empty(), kPaths);
  refuse("--without", !options.without.empty(), "refinements are those of one replica's plan");
  refuse("--export", !options.engines.empty(), "an engine's configuration is that of one replica");
  refuse("--explain", options.explain, "it says what binds one replica");
  refuse("--pareto", options.pareto, "its front is that of one replica");
  refuse("--timing", options.timing, "a plan between pools has no wall-clock figures");
}

void simulate(results::PoolsPlan& plan, const PlanOptions& options) {
  scenario::Scenario online = plan.scenario;
  online.serving.cluster.pools->dispatch.policy = "online";
  std::vector<Planned> runs{{planner::with_weights(plan.scenario, plan.paths.plan.n), "weighted", nullptr},
                            {std::move(online), "online", nullptr}};
  if (const auto full_kv = planner::with_full_kv_weights(plan.scenario)) runs.push_back({*full_kv, "full_kv", nullptr});
  std::vector<results::Outcome> outcomes = run_experiments(std::move(runs), options.jobs);
  plan.weighted = std::move(outcomes[0]);
  plan.online = std::move(outcomes[1]);
  if (outcomes.size() > 2) plan.full_kv = std::move(outcomes[2]);
}

}  // namespace

void plan_pools(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_beside_pools(options);
  if (scenario.serving.prefill != serving::PrefillKind::stored) {
    throw schema::InputError(fmt::format(
        "{}: plans by path are for stored contexts and know nothing of prefilling: use prefill: stored here, "
        "and dispatch: {{policy: online}} to simulate",
        scenario.file));
  }
  results::PoolsPlan plan = results::plan_pools(scenario);
  if (options.simulate) simulate(plan, options);
  const std::string dispatch = results::dispatch_yaml(plan);
  // In a folder the block is a file, on the terminal it follows the page.
  std::vector<PlanFile> files;
  if (!options.out.empty()) files.emplace_back("dispatch.yaml", dispatch);
  deliver_plan(console, options, results::pools_plan_document(plan), {results::pools_plan_page(plan)}, files);
  if (!options.json) console.print("\n" + dispatch);
  if (!plan.paths.plan.converged) {
    throw std::runtime_error(
        fmt::format("warning: not converged: steps of P2 are longer than the work in them "
                    "(residual {:.2g}); these figures are no plan",
                    plan.paths.plan.residual));
  }
}

}  // namespace kvsim::cli
