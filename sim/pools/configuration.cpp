// What a configuration with pools must be like as a whole.
#include "sim/pools/configuration.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/pools/dispatcher.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/simulation.h"

namespace kvsim::pools {
namespace {

using serving::ConfigurationError;
using serving::DispatchConfig;
using serving::PoolsConfig;
using serving::ServingConfig;

void check_decode(const ServingConfig& config) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  if (decode.keeps_full) {
    throw ConfigurationError("decode.policy",
                             fmt::format("{} drafts where the full KV is and verifies there, too, so that no path "
                                         "between pools is its: use full_kv or draft_verify, with a drafter if wanted",
                                         decode.name));
  }
  if (decode.reads_compressed && !config.decode.compressor.name.empty() && !config.decode.compressor.remote_prefix) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("compressor {} cannot be used between pools (remote_prefix: false)",
                                         config.decode.compressor.name));
  }
}

void check_dispatch(const ServingConfig& config, const PoolsConfig& pools) {
  const DispatchConfig& dispatch = pools.dispatch;
  const DispatcherEntry* entry = find_dispatcher(dispatch.policy);
  if (!entry) throw ConfigurationError("dispatch.policy", fmt::format("unknown dispatcher {}", dispatch.policy));
  const bool verifies = serving::find_decode_policy(config.decode.policy)->verifies;
  for (const models::Path path : dispatch.paths) {
    const models::PathTraits& t = models::traits(path);
    if (t.drafts && !verifies) {
      throw ConfigurationError(
          "dispatch.paths",
          fmt::format("{} drafts, and decode policy {} does not: use draft_verify", t.name, config.decode.policy));
    }
  }
  if (usable_paths(config).empty()) {
    throw ConfigurationError("dispatch.paths",
                             fmt::format("none of these paths can be taken with {} local and {} remote nodes",
                                         pools.local.nodes, pools.remote.nodes));
  }
  if (entry->name == "planned" && serving::find_decode_policy(config.decode.policy)->drafter) {
    throw ConfigurationError(
        "dispatch.policy", fmt::format("the path LP knows no auxiliary drafter, and {} has one: use online, or weights "
                                       "of your own",
                                       config.decode.policy));
  }
  if (entry->name == "planned" && !serving::find_decode_policy(config.decode.policy)->lossless()) {
    throw ConfigurationError(
        "dispatch.policy", fmt::format("the path LP plans the full KV, or drafts that are verified against it, and {} "
                                       "does neither: use online, or weights of your own",
                                       config.decode.policy));
  }
  if (entry->name == "planned" && serving::find_decode_policy(config.decode.policy)->fetches()) {
    throw ConfigurationError("dispatch.policy", fmt::format("the path LP plans KV that is on nodes, and {} fetches it "
                                                            "step by step: use online, or weights of your own",
                                                            config.decode.policy));
  }
  if (entry->name == "planned" && config.prefill != serving::PrefillKind::stored) {
    throw ConfigurationError(
        "dispatch.policy",
        "the path LP plans for stored contexts and knows nothing of prefilling: use online, or weights "
        "of your own, or prefill: stored");
  }
  if (!entry->needs_weights || entry->name == "planned") return;
  const std::vector<models::Path> usable = usable_paths(config);
  if (std::none_of(usable.begin(), usable.end(),
                   [&](models::Path path) { return dispatch.weights[models::index_of(path)] > 0; })) {
    throw ConfigurationError("dispatch.weights", "no path that can be taken has a weight above 0");
  }
}

void check_storage(const ServingConfig& config, const PoolsConfig& pools) {
  if (pools.storage.capacity_bytes && config.prefill != serving::PrefillKind::prefix_cache) {
    throw ConfigurationError("cluster.pools.storage.capacity",
                             "only prefill: prefix_cache fills the storage node, otherwise it has everything from the "
                             "start: remove this key, or use prefix_cache");
  }
}

}  // namespace

std::vector<models::Path> usable_paths(const ServingConfig& config) {
  const PoolsConfig& pools = *config.cluster.pools;
  const bool verifies = serving::find_decode_policy(config.decode.policy)->verifies;
  std::vector<models::Path> usable;
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const auto& listed = pools.dispatch.paths;
    const bool allowed = listed.empty() || std::find(listed.begin(), listed.end(), path) != listed.end();
    const bool there = (!t.on_local || pools.local.nodes > 0) && (!t.on_remote || pools.remote.nodes > 0);
    if (allowed && there && (verifies || !t.drafts)) usable.push_back(path);
  }
  return usable;
}

void check_configuration(const ServingConfig& config) {
  serving::check_configuration(config);
  check_decode(config);
  check_storage(config, *config.cluster.pools);
  check_dispatch(config, *config.cluster.pools);
}

}  // namespace kvsim::pools
