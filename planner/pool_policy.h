// Policies of a scenario with two pools, for comparisons: which paths its requests may take.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// "full_kv:local" (path B1), "full_kv:remote" (B2), "full_kv" and "full_kv:mix" (both); "draft_verify" and
/// "draft_verify:mix" (all that the scenario allows), "draft_verify:P1_stateless" (one path, by name). Weights of a
/// dispatcher "weighted" mean nothing for another set of paths: where that changes it becomes "planned", or "online"
/// where contexts are not stored. Throws schema::InputError for unknown names, and for what has no nodes. Precondition:
/// scenario.serving.cluster.pools.
scenario::Scenario with_pool_policy(const scenario::Scenario& scenario, const std::string& policy);

/// What `kvsim compare` compares where nothing else is asked for: full_kv:mix (the baseline), full_kv:local,
/// full_kv:remote and draft_verify:mix, as far as there are nodes, and a compressor to draft with. Precondition as
/// above.
std::vector<std::string> default_pool_policies(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
