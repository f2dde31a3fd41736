// Checks of two pools of nodes around a storage node.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/pools/configuration.h"
#include "sim/pools/dispatcher.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/systems/checks.h"

namespace kvsim::systems {
namespace {

using pools::usable_paths;
using serving::ConfigurationError;
using serving::DispatchConfig;
using serving::PoolsConfig;
using serving::ServingConfig;

void check_decode_of_pools(const ServingConfig& config) {
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
  const pools::DispatcherEntry* entry = pools::find_dispatcher(dispatch.policy);
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
  if (entry->places_reloads && config.schedule.policy != "fcfs") {
    throw ConfigurationError("schedule.policy",
                             fmt::format("dispatcher {} says when full KV is read for verifications, "
                                         "and {} would, too: use fcfs, or another dispatcher",
                                         entry->name, config.schedule.policy));
  }
  if (usable_paths(config).empty()) {
    throw ConfigurationError("dispatch.paths",
                             fmt::format("none of these paths can be taken with {} local and {} remote nodes",
                                         config.cluster.with(&serving::Roles::verify).count,
                                         config.cluster.with(&serving::Roles::draft).count));
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

/// Checks that KV has the same bytes in both pools, as links and the storage node count one size.
void check_kv_sizes(const ServingConfig& config) {
  const serving::GroupConfig& local = config.cluster.with(&serving::Roles::verify);
  const serving::GroupConfig& remote = config.cluster.with(&serving::Roles::draft);
  if (local.kind == remote.kind) return;
  const auto bytes = [&config](const serving::GroupConfig& group) {
    const serving::KvGeometry kv = serving::configured_geometry(config, group);
    const std::int64_t longest = config.model.max_context;
    return std::array{kv.stored_transfer(1), kv.stored_transfer(longest), kv.compressed_transfer(longest, 0)};
  };
  if (bytes(local) == bytes(remote)) return;
  const serving::GroupConfig& own = remote.gpu_key == "cluster.gpu" ? local : remote;
  throw ConfigurationError(
      own.gpu_key + ".tensor_parallel",
      fmt::format("KV heads have as many copies as GPUs share them, and {} local and {} remote GPUs "
                  "of a node would store different bytes: use numbers that copy heads equally often",
                  local.parallel.tensor, remote.parallel.tensor));
}

}  // namespace

void check_pools(const ServingConfig& config) {
  check_serving(config);
  check_decode_of_pools(config);
  check_kv_sizes(config);
  check_storage(config, *config.cluster.pools);
  check_dispatch(config, *config.cluster.pools);
}

}  // namespace kvsim::systems
