// The field tables of cluster.pools and dispatch, and what else a scenario with pools may say. Internal to the
// scenario.
#pragma once

#include <span>

#include "models/schema/object_schema.h"
#include "sim/scenario/scenario.h"

namespace kvsim::scenario {

const schema::ObjectSchema<serving::PoolsConfig>& pools_schema();
const schema::ObjectSchema<DispatchInput>& dispatch_schema();

/// A key of replicas with host memory, which would have no effect in a scenario with pools.
struct ReplicaKey {
  const char* key;
  const char* instead;  ///< what a user who wrote it wants to know
};
std::span<const ReplicaKey> replica_keys();

/// Refuses what a scenario with pools must not say; `report` is the whole document's.
void check_written_with_pools(const Scenario& scenario, const schema::Reporter& report);

}  // namespace kvsim::scenario
