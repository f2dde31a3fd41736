// Checks of a configuration as a whole, and the KV capacity that it leaves.
#include <cmath>

#include <fmt/format.h>

#include "sim/serving/capacity.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/router.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/simulation.h"

namespace kvsim::serving {
namespace {

using models::CompressionMode;

void check_compressor(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.reads_compressed) return;
  const models::CompressorSpec& c = config.decode.compressor;
  if (c.name.empty()) {
    throw ConfigurationError("decode", fmt::format("decode policy {} needs a compressor", decode.name));
  }
  if (!config.cluster.pools && !c.long_context) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("compressor {} cannot be used for decoding on one replica", c.name));
  }
  if (!config.cluster.pools && c.mode == CompressionMode::offline && config.prefill == PrefillKind::recompute) {
    throw ConfigurationError(
        "decode.compressor",
        fmt::format("compressor {} works offline, before a request arrives: use prefill {{policy: stored}}, or a "
                    "compressor whose mode is online",
                    c.name));
  }
  if (c.kind != models::CompressionKind::token_dropping && config.model.kv_bytes_per_element != 2.0) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("compressor {} quantises 16-bit KV, and {} has {:g} bytes per KV element",
                                         c.name, config.model.name, config.model.kv_bytes_per_element));
  }
  const double ratio = effective_ratio(c, config.decode.keep_ratio);
  if (decode.verifies && config.decode.acceptance.kind == models::AcceptanceKind::compressor &&
      !(c.agreement_at(ratio) > 0)) {
    throw ConfigurationError(
        "decode.compressor",
        fmt::format("compressor {} has no acceptance figures: give decode.acceptance explicitly", c.name));
  }
}

/// What only replicas with host memory have.
void check_replicas(const ServingConfig& config, const DecodePolicy& decode, const SchedulePolicyEntry& schedule) {
  if (schedule.needs_verification && !decode.verifies) {
    throw ConfigurationError("schedule.policy",
                             fmt::format("schedule {} orders verifications and decode policy {} has none: use fcfs",
                                         schedule.name, decode.name));
  }
  if ((decode.verifies || config.prefill == PrefillKind::stored) && config.cluster.host_memory_bytes == 0) {
    throw ConfigurationError("cluster.host",
                             "no host memory: stored contexts and full KV to verify against are kept "
                             "there; give cluster.host.memory");
  }
  if (config.prefill == PrefillKind::prefix_cache) {
    throw ConfigurationError(
        "prefill.policy",
        "prefix_cache is about what a storage node holds, and there is none: give cluster.pools, or "
        "use recompute or stored");
  }
}

}  // namespace

void check_configuration(const ServingConfig& config) {
  const DecodePolicy* decode = find_decode_policy(config.decode.policy);
  if (!decode) throw ConfigurationError("decode.policy", fmt::format("unknown decode policy {}", config.decode.policy));
  const SchedulePolicyEntry* schedule = find_schedule_policy(config.schedule.policy);
  if (!schedule)
    throw ConfigurationError("schedule.policy", fmt::format("unknown schedule policy {}", config.schedule.policy));
  if (!find_router(config.cluster.router)) {
    throw ConfigurationError("cluster.router", fmt::format("unknown router {}", config.cluster.router));
  }
  if (config.model.heads % config.cluster.tensor_parallel != 0) {
    throw ConfigurationError("cluster.gpu.tensor_parallel",
                             fmt::format("{} attention heads of {} cannot be sharded evenly over {} GPUs",
                                         config.model.heads, config.model.name, config.cluster.tensor_parallel));
  }
  check_compressor(config, *decode);
  if (!config.cluster.pools) check_replicas(config, *decode, *schedule);
  // A pool's drafts stop at their length; a replica's go on while the reload is late.
  const std::int64_t most_drafted = config.cluster.pools ? config.decode.draft_length : draft_limit(config.decode);
  if (decode->verifies && config.schedule.max_batched_tokens < most_drafted + 1) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("{} tokens are less than one verification of up to {} drafted tokens",
                                         config.schedule.max_batched_tokens, most_drafted));
  }
  kv_capacity(config);
}

KvCapacity kv_capacity(const ServingConfig& config) {
  const KvGeometry geometry(config.model, config.cluster.tensor_parallel, config.decode.compressor,
                            config.decode.keep_ratio, config.schedule.block_tokens);
  KvCapacity k;
  k.weights_bytes = config.model.weight_bytes();
  k.bytes = kv_capacity_bytes(config, geometry);
  k.block_tokens = config.schedule.block_tokens;
  if (k.bytes < geometry.block_bytes()) {
    const ClusterConfig& c = config.cluster;
    const double usable =
        static_cast<double>(c.tensor_parallel) *
        (static_cast<double>(c.gpu.memory_bytes.value) * c.memory_fraction - static_cast<double>(c.activation_bytes));
    throw ModelDoesNotFit(
        "cluster.gpu",
        fmt::format(
            "{} does not fit: {:.1f} GB of weights, {} x {} leaves {:.1f} GB at memory_fraction {:g} with {:.1f} GB of "
            "activations per GPU, and not one block of KV beside them",
            config.model.name, static_cast<double>(k.weights_bytes) * 1e-9, c.tensor_parallel, c.gpu.name,
            usable * 1e-9, c.memory_fraction, static_cast<double>(c.activation_bytes) * 1e-9));
  }
  k.blocks = k.bytes / geometry.block_bytes();
  k.tokens = k.blocks * geometry.block_tokens();
  return k;
}

}  // namespace kvsim::serving
