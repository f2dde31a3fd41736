#include "planner/pool_policy.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/unknown_policy.h"
#include "sim/pools/simulation.h"

namespace kvsim::planner {
namespace {

using models::Path;
using Paths = std::vector<Path>;

const std::string kFullKv = "full_kv";
const std::string kDraftVerify = "draft_verify";

const char* const kBetween = " between pools";

Paths full_kv_paths(const std::string& word) {
  if (word == "local") return {Path::B1};
  if (word == "remote") return {Path::B2};
  if (word == "mix") return {Path::B1, Path::B2};
  unknown_policy("way to serve full_kv", word, kBetween, {"local", "remote", "mix"});
}

Paths draft_verify_paths(const scenario::Scenario& scenario, const std::string& word) {
  if (word == "mix") return scenario.serving.cluster.pools->dispatch.paths;
  std::vector<std::string> words{"mix"};
  for (const Path path : models::kAllPaths) {
    if (models::path_name(path) == word) return {path};
    words.emplace_back(models::path_name(path));
  }
  unknown_policy("path", word, kBetween, words);
}

bool can_be(const scenario::Scenario& scenario, const std::string& policy) {
  const serving::PoolsConfig& pools = *scenario.serving.cluster.pools;
  const bool local = pools.local.nodes > 0, remote = pools.remote.nodes > 0;
  if (policy == "full_kv:local") return local;
  if (policy == "full_kv:remote") return remote;
  if (!local || !remote) return false;
  if (policy == "full_kv:mix") return true;
  return !scenario.serving.decode.compressor.name.empty();
}

}  // namespace

scenario::Scenario with_pool_policy(const scenario::Scenario& scenario, const std::string& policy) {
  const std::size_t colon = policy.find(':');
  const std::string decode = policy.substr(0, colon);
  const std::string word = colon == std::string::npos ? "mix" : policy.substr(colon + 1);
  if (decode != kFullKv && decode != kDraftVerify)
    unknown_policy("decode policy", decode, kBetween, {kFullKv, kDraftVerify});

  scenario::Scenario changed = scenario;
  changed.serving.decode.policy = decode;
  serving::DispatchConfig& dispatch = changed.serving.cluster.pools->dispatch;
  dispatch.paths = decode == kFullKv ? full_kv_paths(word) : draft_verify_paths(scenario, word);
  if (dispatch.policy == "weighted" && pools::usable_paths(changed.serving) != pools::usable_paths(scenario.serving)) {
    // Only stored contexts can be planned for.
    dispatch.policy = changed.serving.prefill == serving::PrefillKind::stored ? "planned" : "online";
  }
  try {
    pools::check_configuration(changed.serving);
  } catch (const serving::ConfigurationError& e) {
    throw schema::InputError(fmt::format("--policies {}: {}", policy, e.what()));
  }
  return changed;
}

std::vector<std::string> default_pool_policies(const scenario::Scenario& scenario) {
  std::vector<std::string> policies;
  for (const char* policy : {"full_kv:mix", "full_kv:local", "full_kv:remote", "draft_verify:mix"}) {
    if (can_be(scenario, policy)) policies.emplace_back(policy);
  }
  return policies;
}

}  // namespace kvsim::planner
