// Capacity of scenarios that store prompts in tiers: what people read of the sizes of memory and storage.
#pragma once

#include <string>
#include <vector>

#include "planner/capacity/capacity_plan.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// "h100-sxm, 80 GB DRAM, ssd 800 GB": machine and the sizes that are varied.
std::string sized_name(const planner::capacity::Configuration& c, const std::string& machine);

/// Rates and latencies; the first row is marked where the order is by price.
Table sized_rates_table(const planner::capacity::CapacityPlan& plan, const std::vector<std::string>& names,
                        const std::vector<std::string>& limits);
/// Where the prompts of each configuration were found at its rate.
Table found_table(const planner::capacity::CapacityPlan& plan, const std::vector<std::string>& names);
/// What an hour of one replica is made of.
Table price_table(const planner::capacity::CapacityPlan& plan, const std::vector<std::string>& names);

/// What buying less would lead to; empty where there is nothing to say.
std::string next_cheaper_sentence(const planner::capacity::CapacityPlan& plan, const std::vector<std::string>& names);

/// How warm tiers were, what is not priced, how to compare sizes.
std::vector<std::string> tier_remarks(const planner::capacity::CapacityPlan& plan,
                                      const std::vector<std::string>& names);

/// Whether the plan is of a scenario with placement.
bool with_placement(const planner::capacity::CapacityPlan& plan);

/// Adds sizes, tiers, mean TTFT, quality and the parts of the price to a configuration's section.
void add_tiers(Section& s, const planner::capacity::Configuration& c);

Json next_cheaper_json(const planner::capacity::CapacityPlan& plan);

}  // namespace kvsim::results
