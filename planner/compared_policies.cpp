// Which policies a scenario is compared under, by what it simulates.
#include <algorithm>

#include <fmt/format.h>

#include "models/paths/path.h"
#include "planner/policy_words.h"
#include "sim/cache/placement/placements.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::planner {
namespace {

using scenario::Scenario;
using Names = std::vector<std::string>;

Names decode_words() {
  Names names;
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

Names default_decode_words(const Scenario& scenario) {
  const serving::DecodeConfig& decode = scenario.serving.decode;
  const serving::DecodePolicy& own = *serving::find_decode_policy(decode.policy);
  const serving::ScheduleConfig& schedule = scenario.serving.schedule;
  if (schedule.reserves_output() || schedule.prefix_caching) return {"full_kv"};
  // Only their steps are known for ranks and stages, and beside prompts that come first.
  const auto& groups = scenario.serving.cluster.groups;
  const auto is_cut = [](const serving::GroupConfig& group) { return !group.parallel.tensor_only(); };
  if (std::any_of(groups.begin(), groups.end(), is_cut) || schedule.prefill_first()) {
    return decode.compressor.name.empty() ? Names{"full_kv"} : Names{"full_kv", "lossy"};
  }
  if (own.fetch != serving::Fetch::none || own.low_bit_copy) {
    return {"full_kv", "quantised_only", "fetch_on_demand", "speculative_prefetch", "full_offload"};
  }
  if (!decode.drafter && !decode.sparse) {
    return {"full_kv", "lossy", "draft_verify:lock_step", "draft_verify:sequential_verify", "draft_verify:staggered"};
  }
  Names names = {"full_kv"};
  if (decode.sparse) names.emplace_back("sparse_self");
  if (decode.drafter) names.emplace_back("drafter");
  if (!decode.compressor.name.empty()) names.emplace_back("draft_verify");
  if (!decode.compressor.name.empty() && decode.drafter) names.emplace_back("draft_verify+drafter");
  return names;
}

/// Names of policies between pools. A policy that drafts has only paths on which it does.
Names pool_names() {
  Names names;
  for (const PoolWord& word : pool_words()) {
    const bool drafts = word.paths.size() != 1 || models::traits(word.paths.front()).drafts;
    if (drafts || !serving::find_decode_policy(word.decode)->verifies) names.push_back(word.name);
  }
  return names;
}

/// As far as there are nodes, and a compressor to draft with.
Names default_pool_words(const Scenario& scenario) {
  const serving::Topology topology = scenario.serving.cluster.topology();
  Names names;
  for (const serving::InstancePool& pool : topology.instances) {
    if (pool.group.count > 0) names.push_back(fmt::format("full_kv:{}", pool.group.name));
  }
  if (names.size() < 2) return names;
  names.insert(names.begin(), "full_kv:mix");
  if (!scenario.serving.decode.compressor.name.empty()) names.emplace_back("draft_verify:mix");
  return names;
}

Names placement_words() {
  Names names;
  for (const cache::PlacementEntry& entry : cache::placements()) names.emplace_back(entry.name);
  return names;
}

/// The placement of a scenario in the words of with_policy: "lru:kvzip:0.25".
std::string own_placement(const models::PlacementSpec& placement) {
  std::string words = placement.policy;
  if (placement.compressor) words += ":" + placement.compressor->name;
  if (placement.keep_ratio) words += fmt::format(":{}", *placement.keep_ratio);
  return words;
}

Names reuse_words() {
  return {"full_recompute", "prefix_cache", "full_reuse", "epic", "cacheblend", "selective"};
}

/// Where nothing can be stored, computing everything alone.
Names default_reuse_words(const Scenario& scenario) {
  return scenario.written->serving.placement ? reuse_words() : Names{reuse_words().front()};
}

/// A scenario that decodes stored prompts otherwise than with the full KV: each way of storing with full-KV decoding.
bool decodes_otherwise(const Scenario& scenario) {
  return has_stored_prompts(scenario) && scenario.serving.decode.policy != "full_kv";
}

Names decoded(const Names& names, const std::string& decode) {
  Names list;
  for (const std::string& name : names) list.push_back(name + "/" + decode);
  return list;
}

/// Ways of storing, each with full-KV decoding, and then `own`, which decodes as the scenario does.
Names with_own_decoding(const Scenario& scenario, Names stored, const Names& own) {
  if (!decodes_otherwise(scenario)) return stored;
  stored = decoded(stored, "full_kv");
  for (std::string& word : decoded(own, scenario.serving.decode.policy)) stored.push_back(std::move(word));
  return stored;
}

}  // namespace

std::vector<std::string> default_policies(const scenario::Scenario& scenario) {
  if (takes_paths(scenario)) return default_pool_words(scenario);
  if (scenario.workload.chunks) {
    return with_own_decoding(scenario, default_reuse_words(scenario), {reuse_policy_name(scenario.serving.prefill)});
  }
  if (!scenario.serving.placement) return default_decode_words(scenario);
  return with_own_decoding(scenario, {"none", "lru", "sieve", "lru:keydiff:0.3", "importance_chunks", "utility"},
                           {own_placement(*scenario.serving.placement)});
}

std::vector<std::string> all_policies(const scenario::Scenario& scenario) {
  if (takes_paths(scenario)) return pool_names();
  if (!has_stored_prompts(scenario)) return decode_words();
  const Names stored = scenario.workload.chunks ? reuse_words() : placement_words();
  return with_own_decoding(scenario, stored, stored);
}

std::vector<std::string> policies_of_every_kind() {
  Names names;
  for (const Names& kind : {decode_words(), pool_names(), placement_words(), reuse_words()}) {
    for (const std::string& name : kind) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return names;
}

}  // namespace kvsim::planner
