// kvsim plan: the best draft length, keep ratio and batch, by the closed forms.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "planner/command_keys.h"
#include "planner/infeasible.h"
#include "planner/policy_words.h"
#include "planner/prefetch/prefetch_plan.h"
#include "planner/reuse/reuse_plan.h"
#include "tools/cli/command.h"
#include "tools/cli/plan/plan.h"

namespace kvsim::cli {
namespace plan_internal {
namespace {

using schema::InputError;

/// Without --out, the one export is all that is printed.
void check_exports(const PlanOptions& options) {
  if (options.engines.empty() || !options.out.empty()) return;
  if (options.engines.size() > 1) throw InputError("plan: several --export need a folder: --out DIR");
  if (options.json || options.explain) {
    throw InputError(
        "plan: --export without --out prints the configuration alone: give --out DIR, or leave out --json "
        "and --explain");
  }
}

/// The scenario; where its model does not fit into the GPUs, that is a plan that cannot be.
scenario::Scenario feasible_scenario(const PlanOptions& options) {
  try {
    return scenario_file(options.scenario, options).load();
  } catch (const scenario::UnworkableScenario& e) {
    if (!e.does_not_fit()) throw;
    throw planner::Infeasible(
        fmt::format("no plan: {}; a larger tensor-parallel group or memory_fraction would make room", e.what()));
  }
}

/// The kind of plan that a scenario asks for.
PlanMode mode_of(const PlanOptions& options, const scenario::Scenario& scenario) {
  if (options.draft_table) return PlanMode::draft_table;
  if (planner::takes_paths(scenario)) return PlanMode::pools;
  if (planner::plans_reuse(scenario)) return PlanMode::reuse;
  return planner::plans_prefetch(scenario) ? PlanMode::prefetch : PlanMode::verification;
}

/// Whether the file says this key, and no option does.
bool of_file(const scenario::Scenario& scenario, std::string_view key) {
  const schema::ConfigNode* node = scenario.document ? scenario.document->find_path(key) : nullptr;
  return node != nullptr && node->origin().line() > 0;
}

void plan_scenario(Console& console, PlanOptions options) {
  check_exports(options);
  scenario::Scenario scenario = feasible_scenario(options);
  const PlanMode mode = mode_of(options, scenario);
  scenario::Scenario planned = scenario;  // whatever its policies, plans are of those that draft or load chunks
  if (mode == PlanMode::verification) planned.serving.decode.policy = "draft_verify";
  if (mode == PlanMode::reuse) {
    planned = scenario::with(scenario, planner::prefill_changes(serving::PrefillKind::selective));
  }
  remark_on_keys({&scenario, &planned});
  if (mode == PlanMode::verification) {
    planner::refuse_unread_by("plan", scenario);
    if (!options.simulate && of_file(scenario, "decode.compressor")) {
      planner::refuse_unread_by("plan without --simulate, of the file's compressor", scenario);
    }
    if (!options.simulate) planner::refuse_unread_by("plan without --simulate", scenario);
    if (!options.simulate && !options.explain) planner::refuse_unread_by("plan by closed forms", scenario);
  }
  for (std::string& file : files_read(scenario.file, scenario)) options.inputs.push_back(std::move(file));
  open_output(options);
  switch (mode) {
    case PlanMode::draft_table:
      return plan_draft_table(console, options, scenario);
    case PlanMode::reuse:
      return plan_reuse(console, options, scenario);
    case PlanMode::pools:
      return plan_pools(console, options, scenario);
    case PlanMode::prefetch:
      return plan_prefetch(console, options, scenario);
    default:
      plan_verification(console, options, scenario);
  }
}

void plan(Console& console, PlanOptions options) {
  const int given =
      (options.scenario.empty() ? 0 : 1) + (options.symbols.empty() ? 0 : 1) + (options.paths.empty() ? 0 : 1);
  if (given != 1) {
    throw InputError("plan: expected one of SCENARIO, --symbols FILE and --paths FILE (kvsim plan --help)");
  }
  options.inputs = {options.scenario, options.symbols, options.paths, options.prices};
  refuse_plan_inputs(options);
  if (options.paths.empty()) refuse_lone_options(options);
  if (!options.scenario.empty()) return plan_scenario(console, options);
  open_output(options);
  if (!options.paths.empty()) return plan_paths(console, options);
  plan_symbols(console, options);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto options = std::make_shared<PlanOptions>();
  declare_plan_options(app, *options);
  return [options](Console& console) { plan(console, *options); };
}

}  // namespace
}  // namespace plan_internal

extern const Command plan_command;
const Command plan_command{"plan", "Find the best draft length, keep ratio and batch",
                           "kvsim plan scenarios/long_context/headline.yaml --keep-ratio 0.1,0.2,0.4",
                           plan_internal::declare};

}  // namespace kvsim::cli
