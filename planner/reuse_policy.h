// Prefill policies of a scenario whose prompts are made of chunks, for comparisons.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario under another prefill policy, a number after a colon saying more of it:
///   "full_recompute" (or "recompute"), "prefix_cache", "full_reuse"
///   "selective", "cacheblend"         with the scenario's rho, or "selective:0.25"
///   "epic"                            with the scenario's link_tokens, or "epic:16"
/// All but full_recompute need the scenario's placement. Throws schema::InputError for unknown names, numbers out of
/// range, and where the scenario lacks what a policy needs. Precondition: scenario.workload.chunks.
scenario::Scenario with_reuse_policy(const scenario::Scenario& scenario, const std::string& policy);

/// What it is called there.
std::string reuse_policy_name(serving::PrefillKind prefill);

/// What `kvsim compare` compares where nothing else is asked for; the first, computing everything, is the baseline.
/// Where nothing can be stored, that alone.
std::vector<std::string> default_reuse_policies(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
