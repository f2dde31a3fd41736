#include "tools/cli/all_policies.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/paths/path.h"
#include "models/schema/error.h"
#include "planner/experiment.h"
#include "planner/placement_policy.h"
#include "planner/reuse_policy.h"
#include "sim/cache/placements.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::cli {
namespace {

using serving::PrefillKind;

std::vector<std::string> pool_policies() {
  std::vector<std::string> names{"full_kv:mix", "full_kv:local", "full_kv:remote", "draft_verify:mix"};
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& traits = models::traits(path);
    if (traits.drafts) names.push_back(fmt::format("draft_verify:{}", traits.name));
  }
  return names;
}

std::vector<std::string> reuse_policies() {
  std::vector<std::string> names;
  for (const PrefillKind prefill : {PrefillKind::recompute, PrefillKind::prefix_cache, PrefillKind::full_reuse,
                                    PrefillKind::epic, PrefillKind::cacheblend, PrefillKind::selective}) {
    names.push_back(planner::reuse_policy_name(prefill));
  }
  return names;
}

std::vector<std::string> decode_policies() {
  std::vector<std::string> names;
  for (const serving::DecodePolicy& policy : serving::decode_policies()) {
    if (!policy.verifies) names.emplace_back(policy.name);
    for (const serving::SchedulePolicyEntry& schedule : serving::schedule_policies()) {
      if (policy.verifies && schedule.needs_verification) {
        names.push_back(fmt::format("{}:{}", policy.name, schedule.name));
      }
    }
  }
  return names;
}

/// A scenario that decodes stored prompts otherwise than with the full KV: each way of storing with full-KV decoding.
bool decodes_otherwise(const scenario::Scenario& scenario) {
  return (scenario.workload.chunks || scenario.serving.placement) && scenario.serving.decode.policy != "full_kv";
}

std::vector<std::string> decoded(const std::vector<std::string>& names, const std::string& decode) {
  std::vector<std::string> list;
  for (const std::string& name : names) list.push_back(name + "/" + decode);
  return list;
}

std::vector<std::string> placement_policies() {
  std::vector<std::string> names;
  for (const cache::PlacementEntry& entry : cache::placements()) names.emplace_back(entry.name);
  return names;
}

std::vector<std::string> stored_policies(const scenario::Scenario& scenario) {
  return scenario.workload.chunks ? reuse_policies() : placement_policies();
}

/// What is wrong, without the option and the words that it begins with.
std::string reason(const std::string& what) {
  if (!what.starts_with("--policies ")) return what;
  const std::size_t end = what.find(": ");
  return end == std::string::npos ? what : what.substr(end + 2);
}

}  // namespace

std::vector<std::string> all_policies(const scenario::Scenario& scenario) {
  if (scenario.serving.cluster.pools) return pool_policies();
  if (!scenario.workload.chunks && !scenario.serving.placement) return decode_policies();
  const std::vector<std::string> stored = stored_policies(scenario);
  if (!decodes_otherwise(scenario)) return stored;
  std::vector<std::string> names = decoded(stored, "full_kv");
  for (std::string& own : decoded(stored, scenario.serving.decode.policy)) names.push_back(std::move(own));
  return names;
}

std::vector<std::string> policies_of_every_kind() {
  std::vector<std::string> names;
  for (const auto& kind : {decode_policies(), pool_policies(), placement_policies(), reuse_policies()}) {
    for (const std::string& name : kind) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> with_own_decoding(const scenario::Scenario& scenario, std::vector<std::string> names) {
  if (!decodes_otherwise(scenario)) return names;
  names = decoded(names, "full_kv");
  const std::string stored = scenario.workload.chunks ? planner::reuse_policy_name(scenario.serving.prefill)
                                                      : planner::placement_words(*scenario.serving.placement);
  names.push_back(stored + "/" + scenario.serving.decode.policy);
  return names;
}

Runnable runnable_policies(const scenario::Scenario& scenario) {
  Runnable runnable;
  for (const std::string& policy : all_policies(scenario)) {
    try {
      runnable.policies.push_back({policy, planner::with_policy(scenario, policy)});
    } catch (const schema::InputError& e) {
      runnable.left_out.push_back({policy, reason(e.what())});
    }
  }
  if (runnable.policies.empty()) {
    const results::LeftOut& first = runnable.left_out.front();
    throw schema::InputError(
        fmt::format("--policies all: no policy can run on this scenario, {} not: {}", first.policy, first.reason));
  }
  return runnable;
}

}  // namespace kvsim::cli
