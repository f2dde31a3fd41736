// Checks of configurations whose prompts are stored in tiers of memory and found again.
#include <fmt/format.h>

#include <algorithm>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "sim/cache/placement/placements.h"
#include "sim/cache/prompt_cache.h"
#include "sim/serving/configuration_error.h"
#include "sim/systems/checks.h"

namespace kvsim::systems {
namespace {

using cache::StoreTier;
using cache::tiers_of;
using serving::ConfigurationError;
using serving::ServingConfig;

void check_tiers(const ServingConfig& config) {
  const auto& storage = config.cluster.storage;
  const auto& pools = config.cluster.pools;
  if (pools && !pools->storage.capacity_bytes && !storage.empty()) {
    throw ConfigurationError("cluster.pools.storage.capacity",
                             fmt::format("the storage node's memory has no end, and nothing would ever reach {} below "
                                         "it: give it a capacity",
                                         storage.front().name));
  }
  for (std::size_t i = 0; i < storage.size(); ++i) {
    const std::string key = fmt::format("cluster.storage.{}", i);
    const std::string& name = storage[i].name;
    const auto same = [&](const serving::StorageTierConfig& t) { return t.name == name; };
    if (name == (pools ? "storage" : "host") || name == "gpu" ||
        std::find_if(storage.begin(), storage.end(), same) != storage.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw ConfigurationError(key + ".name",
                               fmt::format("another tier has the name {}: choose a different one", name));
    }
    if (!storage[i].capacity_bytes && i + 1 < storage.size()) {
      throw ConfigurationError(key + ".capacity",
                               fmt::format("{} has no end, and nothing would ever reach {} below it: "
                                           "give it a capacity",
                                           name, storage[i + 1].name));
    }
    const bool shared_above = i > 0 ? storage[i - 1].shared
                                    : config.cluster.host_shared && config.cluster.groups.front().host_memory_bytes > 0;
    if (!pools && shared_above && !storage[i].shared) {
      throw ConfigurationError(key + ".shared", fmt::format("the tier above {} is shared by all replicas, and below it "
                                                            "all are: use shared: true",
                                                            name));
    }
  }
}

/// Drafts on what is stored compressed, verified against what is kept whole.
void check_verification(const ServingConfig& config, const models::OptionPool& pool) {
  const std::string& policy = config.decode.policy;
  if (pool.size() == 1) {
    throw ConfigurationError("decode.policy",
                             fmt::format("over placement {} drafts on what is stored compressed, and {} stores prompts "
                                         "whole (compressing them for drafts while tiers keep the whole ones is not "
                                         "simulated): give placement.compressor, use utility, full_kv or sparse_self",
                                         policy, config.placement->policy));
  }
  const std::vector<StoreTier> tiers = tiers_of(config);
  if (tiers.empty() || tiers.back().capacity_bytes) {
    throw ConfigurationError("cluster.storage",
                             "what is verified against is kept whole in the last tier, which must be without end: "
                             "give a device without capacity");
  }
  if (config.placement->profiling.online) {
    throw ConfigurationError("placement.profiling.online",
                             "verified requests lose no quality that could be profiled: leave it out");
  }
  if (config.decode.acceptance.kind != models::AcceptanceKind::compressor) return;
  for (const models::StorageOption& option : pool.all()) {
    if (option.step_kl == option.step_kl) continue;
    throw ConfigurationError("decode.acceptance",
                             fmt::format("nothing is known of how drafts on \"{}\" agree with the whole KV: give "
                                         "decode.acceptance, or other options",
                                         option.name));
  }
}

/// Checks what may be done with prompts that are continued from what was loaded.
void check_decode(const ServingConfig& config) {
  const serving::DecodePolicy& decode = *serving::find_decode_policy(config.decode.policy);
  const models::OptionPool pool = models::option_pool(*config.placement);
  const bool whole = pool.size() == 1;
  if (decode.fetch != serving::Fetch::none || decode.low_bit_copy) {
    const bool pools = config.cluster.pools.has_value();
    throw ConfigurationError(
        "decode.policy",
        fmt::format("{} keeps running requests' KV in {}, which is a tier for stored prompts here: use {}", decode.name,
                    pools ? "the storage node's memory" : "host memory",
                    pools ? "full_kv or drafter" : "full_kv, drafter, sparse_self or draft_verify"));
  }
  if (decode.keeps_full && !whole) {
    throw ConfigurationError("decode.policy",
                             fmt::format("{} verifies against the full KV in GPU memory, and of what placement stores "
                                         "compressed only a part comes there: use draft_verify, or store prompts whole",
                                         decode.name));
  }
  if (decode.reads_compressed && !decode.verifies && !whole) {
    throw ConfigurationError("decode.policy",
                             fmt::format("placement compresses prompts, and {} would compress them again: use full_kv, "
                                         "which decodes with them as they are stored",
                                         decode.name));
  }
  if (decode.verifies && !decode.keeps_full) check_verification(config, pool);
}

/// Checks that stored forms are smaller than the whole: a compressor that only reads a part stores nothing.
void check_stored_forms(const models::PlacementSpec& spec) {
  const auto check = [](const std::string& key, const models::CompressorSpec& c) {
    if (!c.reads_only) return;
    throw ConfigurationError(key, fmt::format("{} chooses anew what to read out of the whole KV, and nothing smaller "
                                              "can be stored: use a compressor",
                                              c.name));
  };
  if (spec.compressor) check("placement.compressor", *spec.compressor);
  for (std::size_t i = 0; i < spec.options.methods.size(); ++i) {
    check(fmt::format("placement.options.methods.{}", i), spec.options.methods[i]);
  }
}

void check_placement(const ServingConfig& config) {
  const models::PlacementSpec& spec = *config.placement;
  if (!cache::find_placement(spec.policy)) {
    throw ConfigurationError("placement.policy", fmt::format("unknown placement policy {}", spec.policy));
  }
  check_stored_forms(spec);
  const bool by_chunk = serving::reuses_chunks(config.prefill);
  if (config.prefill != serving::PrefillKind::prefix_cache && !by_chunk) {
    throw ConfigurationError("placement",
                             "says what becomes of prompts that are stored and found again: use prefill: prefix_cache, "
                             "or one that reuses chunks (selective, cacheblend, epic, full_reuse)");
  }
  if (by_chunk != (spec.granularity == models::Granularity::chunks)) {
    throw ConfigurationError("placement.granularity",
                             by_chunk ? "this prefill policy puts prompts together from chunks: use chunks"
                                      : "a prefix is a chain, and chunks are no part of one: use blocks, or a prefill "
                                        "policy that reuses chunks (selective, cacheblend, epic, full_reuse)");
  }
  (void)config.cluster.uniform();  // recomputing a prompt has one cost
  if (tiers_of(config).empty()) {
    throw ConfigurationError("cluster.host.memory",
                             "there is no tier to store prompts in: give cluster.host.memory, "
                             "cluster.storage or placement.gpu_memory");
  }
  const auto sequences = spec.profiling.queries * static_cast<std::int64_t>(models::option_pool(spec).size());
  if (spec.profiling.online && sequences > config.schedule.max_requests) {
    throw ConfigurationError(
        "placement.profiling.queries",
        fmt::format("profiling decodes every query with every representation, {} sequences at once, "
                    "and schedule.max_requests allows {}: use fewer queries or options",
                    sequences, config.schedule.max_requests));
  }
  if (spec.profiling.online && spec.granularity != models::Granularity::contexts) {
    throw ConfigurationError(
        "placement.profiling.online",
        "a block or chunk belongs to many contexts, and nobody profiles it alone: use granularity: contexts");
  }
}

}  // namespace

void check_tiered_replicas(const ServingConfig& config) {
  if (!serving::reuses_chunks(config.prefill))
    check_decode(config);  // what does not go together, before what is missing
  check_serving(config);
  check_tiers(config);
  check_placement(config);
}

void check_tiered_pools(const ServingConfig& config) {
  const models::PlacementSpec& spec = *config.placement;
  if (serving::find_decode_policy(config.decode.policy)->verifies) {
    throw ConfigurationError(
        "decode.policy", fmt::format("between pools {} loads what it drafts on and what it verifies against from the "
                                     "storage node apart, and a placement stores one form of each prompt: use "
                                     "full_kv or drafter, or remove placement",
                                     config.decode.policy));
  }
  if (spec.gpu_memory_bytes > 0) {
    throw ConfigurationError("placement.gpu_memory",
                             "requests choose their node when there is room, whatever lies in its memory: remove this "
                             "key, or use replicas");
  }
  if (spec.profiling.online) {
    throw ConfigurationError("placement.profiling.online",
                             "nodes of pools profile no contexts: leave it out, or use replicas");
  }
  check_decode(config);
  check_tiers(config);
  check_placement(config);
}

}  // namespace kvsim::systems
