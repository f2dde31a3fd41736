// Placement policies of a scenario whose prompts are stored in tiers, for comparisons.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario under another placement policy, words after colons saying more of it:
///   "lru", "sieve", "none"     everything whole, whatever compressor the scenario has
///   "lru:keydiff:0.3"          compressor and keep ratio of every object; a quantiser has none: "lru:kivi-4bit"
///   "utility"                  as the scenario says of it, else with the defaults
///   "utility:least_drop_for_need"             another variant of it
///   "importance_chunks", "importance_chunks:0.5"   the share of the tokens that counts as important
/// What the policy does not look at becomes what it is where nothing is said. Precondition: scenario.serving.placement.
/// Throws schema::InputError for unknown names, ratios out of range, and a policy that needs all requests beforehand
/// where they never end.
scenario::Scenario with_placement_policy(const scenario::Scenario& scenario, const std::string& policy);

/// What `kvsim compare` compares where nothing else is asked for. Nothing stored is the baseline.
std::vector<std::string> default_placement_policies();

/// The placement of a scenario in the words of with_placement_policy: "lru:kvzip:0.25".
std::string placement_words(const models::PlacementSpec& placement);

}  // namespace kvsim::planner
