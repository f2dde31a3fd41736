// Plans for people and as JSON documents, the decision first, then what it rests on: of replicas, with their
// explanation, their Pareto front and tables of draft lengths, of policies that fetch KV, and for prompts made of
// chunks.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/prices/price_table.h"
#include "planner/closed_form/symbols.h"
#include "planner/draft_table/draft_table.h"
#include "planner/explain/explain.h"
#include "planner/plan/scenario_plan.h"
#include "planner/prefetch/prefetch_plan.h"
#include "planner/reuse/reuse_plan.h"
#include "planner/simulated/simulated_search.h"
#include "tools/results/fields.h"

namespace kvsim::results {

/// A plan from raw symbols, with the optimum of each of the three models.
struct SymbolsOutcome {
  planner::SymbolsProblem problem;
  planner::SymbolsPlan plan;
  std::vector<std::pair<planner::TransferModel, planner::OperatingPoint>> by_model;
  double wall_s = 0;
};

/// A front, and what its costs and energies rest on.
struct ParetoFront {
  std::vector<planner::Choice> choices;
  planner::GpuRates rates;
  std::string price;  ///< value, date and source of the GPU's price, or why there is none
  std::string power;  ///< the same of its board power
};

/// A plan for a scenario, and what was asked for beside it.
struct PlanOutcome {
  scenario::Scenario scenario;
  planner::ScenarioPlan plan;
  double wall_s = 0;
  std::optional<planner::SimulatedPlan> simulated;
  std::optional<planner::Explanation> explanation;
  std::optional<ParetoFront> pareto;
};

/// x, c, B_c, B_g, l, throughput and times.
Fields<planner::OperatingPoint> operating_point_fields();
Fields<planner::Explanation> explanation_fields();
Fields<ParetoFront> pareto_fields();

/// "0.25": a keep ratio.
std::string keep_ratio_text(double ratio);

/// The keys of "optimum", "full_kv", "speedup", "candidates_evaluated" and "wall_s" are fixed; the rest is under
/// "details". `timing`: wall_s is this machine's; else null, as equal inputs give equal bytes.
Json plan_document(const SymbolsOutcome& outcome, bool timing);
Json plan_document(const PlanOutcome& outcome, bool timing);
KeyList symbols_plan_keys();
KeyList plan_keys();

Page plan_page(const SymbolsOutcome& outcome);
Page plan_page(const PlanOutcome& outcome);

/// The decision in one sentence: "HBM capacity binds: +10 % of it gives +8.0 % tokens/s; link bandwidth +1.0 %, ...".
std::string explain_sentence(const planner::Explanation& explanation);

Page explain_page(const planner::Explanation& explanation);

/// The front of a scenario under a price table.
ParetoFront pareto_front_of(const scenario::Scenario& scenario, const planner::PlanRequest& request,
                            const models::PriceTable& prices);

Page pareto_page(const ParetoFront& front);

struct DraftTableOutcome {
  scenario::Scenario scenario;
  planner::DraftTable table;
};

Page draft_table_page(const DraftTableOutcome& outcome);

Json draft_table_document(const DraftTableOutcome& outcome);
KeyList draft_table_keys();

// Common parts of the files of a plan of replicas.

using Baseline = std::optional<planner::OperatingPoint>;  ///< with the full KV; none: not even one fits

/// Fields of a plan from raw symbols: with d_e where there is a drafter.
Fields<planner::OperatingPoint> symbols_point_fields();

double speedup(const planner::OperatingPoint& point, const Baseline& full_kv);

/// "draft 35 tokens on KV kept to 0.20, 12 requests offloaded, 0 resident", or "decode with the full KV, 3 requests".
std::string in_words(const planner::OperatingPoint& point);

// Results of the search with the simulator in the loop.
Fields<planner::SimulatedPlan> simulated_fields();
std::string simulated_verdict(const planner::SimulatedPlan& found);
Table simulated_table(const planner::SimulatedPlan& found);

// Plans of policies that fetch KV, with files for other tools.

struct PrefetchOutcome {
  scenario::Scenario scenario;
  planner::PrefetchPlan plan;
};

Page prefetch_page(const PrefetchOutcome& outcome);

Json prefetch_document(const PrefetchOutcome& outcome);
KeyList prefetch_keys();

/// k against what its fetch needs of the link: a header and a line for each point. Empty fields where no rate suffices.
std::string crossover_csv(const planner::Crossover& crossover);

/// The crossover as a picture, with the catalogue's host links and the scenario in it.
std::string crossover_svg(const PrefetchOutcome& outcome, const planner::Crossover& crossover);

// Plans for prompts made of chunks, with files for other tools.

struct ReusePlanOutcome {
  scenario::Scenario scenario;
  planner::ReusePlan plan;
};

Page reuse_plan_page(const ReusePlanOutcome& outcome);

Json reuse_plan_document(const ReusePlanOutcome& outcome);
KeyList reuse_plan_keys();

/// Context against the bandwidth at which each method is as fast as recomputing: a header and a line for each point.
/// Empty fields where no bandwidth suffices.
std::string break_even_csv(const planner::ReusePlan& plan);

/// The break-even as a picture, with the catalogue's host links and the scenario in it.
std::string break_even_svg(const ReusePlanOutcome& outcome);

}  // namespace kvsim::results
