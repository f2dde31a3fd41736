// How much KV a replica holds: computed once, enforced by the memory pool, printed in every result.
#pragma once

#include <cstdint>

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

/// The KV of the configured model under the configured decode policy, as a replica holds it.
KvGeometry replica_geometry(const ServingConfig& config);

/// What a step fetches for a next one of so many proposals of an auxiliary drafter: one speculative token more for
/// each.
models::PrefetchSpec step_prefetch(const ServingConfig& config, std::int64_t proposals);

/// The same for the most proposals that the policy makes, if any.
models::PrefetchSpec replica_prefetch(const ServingConfig& config, const DecodePolicy& decode);

/// Bytes of weights that a replica's GPUs hold: the model's, those of an auxiliary drafter, and those of a small model
/// that scores on them.
std::int64_t replica_weights(const ServingConfig& config);

/// What becomes of the GPU memory of a tensor-parallel group, bytes; the parts add up to `gpu`.
struct MemorySplit {
  std::int64_t gpu = 0;          ///< of all its GPUs
  std::int64_t kept_free = 0;    ///< beyond cluster.gpu.memory_fraction
  std::int64_t weights = 0;      ///< the model's
  std::int64_t activations = 0;  ///< kept for them
  std::int64_t other = 0;        ///< other weights, the framework's workspace, stored prompts, less than a block
  std::int64_t kv = 0;           ///< KV capacity
};
MemorySplit memory_split(const ServingConfig& config, const KvGeometry& geometry);

/// Bytes of GPU memory left for KV in the whole tensor-parallel group, in whole blocks:
/// n (memory fraction - activations - the framework's workspace) - weights - what placement keeps for prompts. Negative
/// where the model does not fit.
std::int64_t kv_capacity_bytes(const ServingConfig& config, const KvGeometry& geometry);

/// Most positions that a request may draft in one round: as configured, else twice the longest draft length that its
/// policy chooses; never less than that length itself.
std::int64_t draft_limit(const DecodeConfig& decode);

/// Most tokens that an auxiliary drafter proposes for a request before a step; 0 where the policy has none.
std::int64_t most_proposed(const DecodeConfig& config, const DecodePolicy& decode);

/// Tokens beyond the context that a request's next step or round may bring.
std::int64_t draft_room(const DecodeConfig& config, const DecodePolicy& decode);

/// GPU memory that a decoding request holds which does not verify, whole blocks.
std::int64_t decoding_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                                  std::int64_t prompt, std::int64_t generated);

/// Host memory that a request holds from admission to end, where contexts are stored or the policy offloads.
std::int64_t host_reservation(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                              std::int64_t prompt, std::int64_t output);

}  // namespace kvsim::serving
