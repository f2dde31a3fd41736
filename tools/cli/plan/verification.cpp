// kvsim plan SCENARIO where it drafts and verifies: draft length, keep ratio and batch, refined and explained on
// request.
#include <algorithm>
#include <chrono>
#include <mutex>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/units.h"
#include "planner/explain/explain.h"
#include "planner/export/engine_export.h"
#include "planner/sweep/axis.h"
#include "tools/cli/plan/plan.h"
#include "tools/cli/progress.h"
#include "tools/cli/signals.h"
#include "tools/results/numbers.h"
#include "tools/results/plan.h"

namespace kvsim::cli {
namespace {

using schema::InputError;

constexpr std::int64_t kMostDraftLength = 4096;
constexpr std::size_t kMostRatios = 10000;

/// "5:60"
void set_draft_lengths(const std::string& text, planner::PlanRequest& request) {
  const std::size_t colon = text.find(':');
  try {
    if (colon != std::string::npos) {
      request.least_draft_length = schema::parse_integer(std::string_view(text).substr(0, colon));
      request.most_draft_length = schema::parse_integer(std::string_view(text).substr(colon + 1));
      if (request.least_draft_length >= 1 && request.least_draft_length <= request.most_draft_length &&
          request.most_draft_length <= kMostDraftLength) {
        return;
      }
    }
  } catch (const schema::UnitError&) {  // said below
  }
  throw InputError(
      fmt::format("--draft-length {}: expected two whole numbers such as 1:60, from 1 to {}", text, kMostDraftLength));
}

/// "0.1,0.2,0.4" or "0.05:0.95:0.05", as a sweep's axis.
std::vector<double> keep_ratios(const std::string& text) {
  std::vector<double> ratios;
  try {
    for (const std::string& value : planner::sweep::parse_axis("decode.keep_ratio=" + text).axis.values) {
      ratios.push_back(schema::parse_number(value));
    }
  } catch (const InputError&) {
    ratios.clear();
  } catch (const schema::UnitError&) {
    ratios.clear();
  }
  const bool between = std::all_of(ratios.begin(), ratios.end(), [](double c) { return c > 0 && c < 1; });
  if (ratios.empty() || ratios.size() > kMostRatios || !between) {
    throw InputError(fmt::format(
        "--keep-ratio {}: expected ratios between 0 and 1, a list such as 0.1,0.2,0.4 or from:to:step such as "
        "0.05:0.95:0.05",
        text));
  }
  return ratios;
}

planner::PlanRequest request_of(const PlanOptions& options) {
  planner::PlanRequest request;
  if (!options.model.empty()) request.model = *planner::find_transfer_model(options.model);
  if (!options.draft_length.empty()) set_draft_lengths(options.draft_length, request);
  if (!options.keep_ratio.empty()) request.keep_ratios = keep_ratios(options.keep_ratio);
  for (const std::string& name : options.without) {
    request.refinements.*planner::find_refinement(name)->member = false;
  }
  return request;
}

std::vector<PlanFile> exported(const results::PlanOutcome& outcome, const PlanOptions& options) {
  std::vector<PlanFile> files;
  const planner::ExportedPlan plan = planner::exported_plan(outcome.plan, outcome.simulated);
  for (const std::string& name : options.engines) {
    const PlanFile file{planner::find_engine_export(name)->file, planner::export_plan(outcome.scenario, plan, name)};
    if (std::find(files.begin(), files.end(), file) == files.end()) files.push_back(file);
  }
  return files;
}

planner::Explanation explained(const results::PlanOutcome& outcome, const PlanOptions& options) {
  planner::ExplainOptions how;
  how.replications = options.replications;
  how.jobs = options.jobs;
  how.go_on = [] { return !interrupted(); };
  const StatusLine line("simulating what the plan rests on");
  planner::Explanation explanation = planner::explain(outcome.scenario, outcome.plan, how);
  if (explanation.interrupted) throw Interrupted();
  return explanation;
}

planner::SimulatedPlan simulated(const results::PlanOutcome& outcome, const PlanOptions& options) {
  planner::SimulatedSearchOptions search;
  search.jobs = options.jobs;
  if (options.replications) {
    search.seeds = *options.replications;
    search.first_seeds = std::min(search.first_seeds, search.seeds);
  }
  StatusLine line("simulating plans");
  std::mutex mutex;
  search.progress = [&](std::size_t done, std::size_t known) {
    const std::lock_guard lock(mutex);
    if (done > 0 && line.due()) {
      const double rate = static_cast<double>(done) / line.elapsed_s();
      line.show(fmt::format("{} of {} simulations known so far, {} a second", done, known, results::figure(rate)));
    }
    return !interrupted();
  };
  planner::SimulatedPlan found = planner::simulate_plans(outcome.scenario, outcome.plan, search);
  if (found.interrupted) throw Interrupted();
  return found;
}

}  // namespace

void plan_verification(Console& console, const PlanOptions& options, const scenario::Scenario& scenario) {
  refuse_options_beside(PlanMode::verification, options);
  results::PlanOutcome outcome;
  outcome.scenario = scenario;
  const planner::PlanRequest request = request_of(options);
  models::PriceTable prices = models::PriceTable::built_in();
  if (!options.prices.empty()) read_or_ended(options, [&] { prices.change_by_file(options.prices); });
  const auto begin = std::chrono::steady_clock::now();
  outcome.plan = planner::plan(outcome.scenario, request);
  outcome.wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (options.simulate) outcome.simulated = simulated(outcome, options);
  std::vector<results::Page> pages{results::plan_page(outcome)};
  if (options.explain) {
    outcome.explanation = explained(outcome, options);
    pages.push_back(results::explain_page(*outcome.explanation));
  }
  if (options.pareto) {
    outcome.pareto = results::pareto_front_of(outcome.scenario, request, prices);
    pages.push_back(results::pareto_page(*outcome.pareto));
  }
  deliver_plan(console, options, results::plan_document(outcome, options.timing), pages, exported(outcome, options));
}

}  // namespace kvsim::cli
