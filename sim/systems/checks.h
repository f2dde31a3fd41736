// Checks of what no single key shows, by part. Internal to sim/systems: check() is the way in. All throw
// serving::ConfigurationError.
#pragma once

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::systems {

/// Checks what decoding needs: compressor, drafter, draft lengths, fetched KV.
void check_decoding(const serving::ServingConfig& config, const serving::DecodePolicy& decode);

/// Checks what every system needs: a model that fits, and policies that go together.
void check_serving(const serving::ServingConfig& config);

/// check_serving() for replicas, and what a placement of prompts in tiers needs.
void check_tiered_replicas(const serving::ServingConfig& config);

/// Checks what a placement needs beside pools. check_pools() is apart.
void check_tiered_pools(const serving::ServingConfig& config);

/// check_tiered_replicas(), and what prompts made of chunks need.
void check_reuse(const serving::ServingConfig& config);

/// check_serving() for nodes of pools, and what dispatching between them needs.
void check_pools(const serving::ServingConfig& config);

}  // namespace kvsim::systems
