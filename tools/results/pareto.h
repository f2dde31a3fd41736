// The Pareto front of a plan as a table and as JSON.
#pragma once

#include "models/prices/price_table.h"
#include "planner/plan/scenario_plan.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// A front, and what its costs and energies rest on.
struct ParetoFront {
  std::vector<planner::Choice> choices;
  planner::GpuRates rates;
  std::string price;  ///< value, date and source of the GPU's price, or why there is none
  std::string power;  ///< the same of its board power
};

/// The front of a scenario under a price table.
ParetoFront pareto_front_of(const scenario::Scenario& scenario, const planner::PlanRequest& request,
                            const models::PriceTable& prices);

Json pareto_document(const ParetoFront& front);
Page pareto_page(const ParetoFront& front);

}  // namespace kvsim::results
