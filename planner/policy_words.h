// The words of --policies: what a scenario may be compared under, and the scenario under one of them.
#pragma once

#include <string>
#include <vector>

#include "models/paths/path.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// The scenario of a file under another policy: a list of overrides of the file, as --set takes them. Which words there
/// are depends on what it simulates.
///
/// On replicas, a decode policy: "lossy", or with the schedule, "draft_verify:lock_step". Alone it keeps the
/// scenario's schedule where both verify; one that does not gets fcfs, one that does, over one that does not,
/// staggered.
///
/// Between pools, what decodes and by which paths: "full_kv:local" (path B1), "full_kv:remote" (B2), "full_kv" and
/// "full_kv:mix" (both); "draft_verify" and "draft_verify:mix" (all that the scenario allows),
/// "draft_verify:P1_stateless" (one, by name). Weights of a dispatcher "weighted" mean nothing for another set of
/// paths: where that changes it becomes "planned", or "online" where contexts are not stored.
///
/// Where prompts are stored in tiers, a placement policy. What it does not look at becomes what it is where nothing is
/// said:
///   "lru", "sieve", "none"     everything whole, whatever compressor the scenario has
///   "lru:keydiff:0.3"          compressor and keep ratio of every object; a quantiser has none: "lru:kivi-4bit"
///   "utility"                  as the scenario says of it, else with the defaults
///   "utility:least_drop_for_need"             another variant of it
///   "importance_chunks", "importance_chunks:0.5"   the share of the tokens that counts as important
///
/// Where prompts are made of chunks, a placement policy or a prefill policy, of which all but the first need the
/// scenario's placement:
///   "full_recompute" (or "recompute"), "prefix_cache", "full_reuse"
///   "selective", "cacheblend"         with the scenario's rho, or "selective:0.25"
///   "epic"                            with the scenario's link_tokens, or "epic:16"
///
/// Prompts that are stored may also be decoded otherwise: "draft_verify", "utility/draft_verify".
///
/// Throws schema::InputError for unknown words, with the nearest, and what is wrong with the file under those
/// overrides: numbers out of range, what the scenario lacks of what a policy needs.
scenario::Scenario with_policy(const scenario::ScenarioFile& file, const std::string& policy);

/// A scenario, and the policy that it is under.
struct UnderPolicy {
  std::string policy;
  scenario::Scenario scenario;
};

/// Word that says what decodes between pools, and by which paths.
struct PoolWord {
  std::string name;                 ///< "full_kv:local"
  std::string decode;               ///< policy
  std::vector<models::Path> paths;  ///< none: those that the scenario allows
};
std::vector<PoolWord> pool_words();

/// Whether words say which paths requests take.
bool takes_paths(const scenario::Scenario& scenario);

/// Whether words say how prompts are stored: they are made of chunks, or kept in tiers.
bool has_stored_prompts(const scenario::Scenario& scenario);

/// Policies that `kvsim compare` compares where nothing else is asked for, the baseline first.
std::vector<std::string> default_policies(const scenario::Scenario& scenario);

/// All that the scenario could be compared under, the baseline first: decode policies that verify under every schedule
/// that needs it. Some may not be able to run.
std::vector<std::string> all_policies(const scenario::Scenario& scenario);

/// The words of every scenario's kind, each once.
std::vector<std::string> policies_of_every_kind();

/// Name of a prefill policy of prompts made of chunks.
std::string reuse_policy_name(serving::PrefillKind prefill);

/// Changes that put a scenario whose prompts are made of chunks under this prefill policy (scenario::with).
std::vector<schema::Assignment> prefill_changes(serving::PrefillKind prefill);

}  // namespace kvsim::planner
