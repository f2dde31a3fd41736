// Plans as JSON documents. The keys of "optimum", "full_kv", "speedup", "candidates_evaluated" and "wall_s" are fixed;
// the rest is under "details".
#pragma once

#include "planner/closed_form/symbols.h"
#include "planner/plan/scenario_plan.h"
#include "planner/simulated/simulated_search.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// A plan from raw symbols, with the optimum of each of the three models.
struct SymbolsOutcome {
  planner::SymbolsProblem problem;
  planner::SymbolsPlan plan;
  std::vector<std::pair<planner::TransferModel, planner::OperatingPoint>> by_model;
  double wall_s = 0;
};

/// A plan for a scenario.
struct PlanOutcome {
  scenario::Scenario scenario;
  planner::ScenarioPlan plan;
  double wall_s = 0;
  std::optional<planner::SimulatedPlan> simulated;
};

/// x, c, B_c, B_g, l, throughput and times; d_e where there is a drafter.
Json operating_point(const planner::OperatingPoint& point);

/// Tokens/s over those of the full KV; NaN where that does not fit.
double plan_speedup(const planner::OperatingPoint& point, const std::optional<planner::OperatingPoint>& full_kv);

/// `timing`: wall_s is this machine's; else null, as equal inputs give equal bytes.
Json plan_document(const SymbolsOutcome& outcome, bool timing);
Json plan_document(const PlanOutcome& outcome, bool timing);

}  // namespace kvsim::results
