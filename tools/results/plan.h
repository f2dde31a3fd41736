// Plans of replicas, for people and as JSON documents: the decision first, then what it rests on.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "planner/closed_form/symbols.h"
#include "planner/plan/scenario_plan.h"
#include "planner/simulated/simulated_search.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

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

/// "0.25": a keep ratio.
std::string keep_ratio_text(double ratio);

/// The keys of "optimum", "full_kv", "speedup", "candidates_evaluated" and "wall_s" are fixed; the rest is under
/// "details". `timing`: wall_s is this machine's; else null, as equal inputs give equal bytes.
Json plan_document(const SymbolsOutcome& outcome, bool timing);
Json plan_document(const PlanOutcome& outcome, bool timing);

Page plan_page(const SymbolsOutcome& outcome);
Page plan_page(const PlanOutcome& outcome);

}  // namespace kvsim::results
