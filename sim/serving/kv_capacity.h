// How much KV a group of GPUs holds: computed once, enforced by the memory pool, printed in every result.
#pragma once

#include <cstdint>
#include <string>

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_layout.h"

namespace kvsim::serving {

/// The KV of the configured model at a keep ratio, without what a decode policy holds beside it.
KvGeometry kv_at(const ServingConfig& config, const GroupConfig& group, double keep_ratio);

/// The KV of the configured model under the configured decode policy, as a replica or a node of a pool holds it.
KvGeometry configured_geometry(const ServingConfig& config, const GroupConfig& group);

/// Prefetch of a step for the most proposals that the policy makes, if any.
models::PrefetchSpec replica_prefetch(const ServingConfig& config, const DecodePolicy& decode);

/// Bytes of weights that a replica's GPUs hold: the model's, those of an auxiliary drafter, and those of a small model
/// that scores on them.
std::int64_t replica_weights(const ServingConfig& config, const GroupConfig& group);
/// Bytes of a model's weights on all GPUs together: ranks have copies of all but the routed experts.
[[nodiscard]] std::int64_t held_weights(const models::LlmSpec& model, const models::Parallelism& parallel);

/// The GPU memory of a tensor-parallel group by use, bytes; the parts add up to `gpu`.
struct MemorySplit {
  std::int64_t gpu = 0;          ///< of all its GPUs
  std::int64_t kept_free = 0;    ///< beyond cluster.gpu.memory_fraction; with stated KV all that is left
  std::int64_t weights = 0;      ///< the model's
  std::int64_t activations = 0;  ///< kept for them
  std::int64_t other = 0;        ///< other weights, the framework's workspace, stored prompts, less than a block
  std::int64_t kv = 0;           ///< KV capacity
};
MemorySplit memory_split(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry);

/// Whether a fast link joins the GPUs of a replica, as far as memory for collectives depends on it.
bool has_fast_peers(const GroupConfig& group);

/// Bytes of one GPU that neither weights nor KV have, out of memory_fraction x GPU memory: cluster.gpu.activations,
/// else what the engine takes (models::memory_beside_kv), of `model` on GPUs shared as `parallel` says; none under a
/// framework, whose profile has it.
std::int64_t memory_beside_kv(const ServingConfig& config, const GroupConfig& group, const models::LlmSpec& model,
                              const models::Parallelism& parallel);
/// memory_beside_kv() of the configured model.
std::int64_t memory_beside_kv(const ServingConfig& config, const GroupConfig& group);

/// Bytes of GPU memory for KV in the whole group, before any of it is set aside: as stated (StatedKv), else
/// n (memory fraction - memory_beside_kv - the framework's workspace) - weights - what placement keeps for prompts.
/// Negative where the model does not fit. The one place that decides how much KV fits.
std::int64_t kv_pool_bytes(const ServingConfig& config, const GroupConfig& group);

/// kv_pool_bytes() in whole blocks, without what an iteration writes in layers with a window.
std::int64_t kv_capacity_bytes(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry);

/// How the configured engine lays that out.
KvLayout kv_layout(const ServingConfig& config, const GroupConfig& group);

/// KV memory of one replica, as computed and enforced.
struct KvCapacity {
  std::int64_t bytes = 0;
  std::int64_t tokens = 0;          ///< in full, as engines state them (KvLayout::tokens)
  std::int64_t context_tokens = 0;  ///< of the longest single context that fits, at most the model's
  std::int64_t blocks = 0;          ///< of KvLayout
  std::int64_t block_tokens = 0;
  std::int64_t weights_bytes = 0;
  std::int64_t longest = 0;       ///< tokens of the longest request that the model allows
  double concurrency = 0;         ///< requests of that length that fit
  double stored_concurrency = 0;  ///< likewise, held as the decode policy holds them (compressed)
  std::string decided_by;         ///< the key, engine or profile that decided the bytes, in words
};

/// KV capacity of a replica. Throws ModelDoesNotFit.
KvCapacity kv_capacity(const ServingConfig& config, const GroupConfig& group);

}  // namespace kvsim::serving
