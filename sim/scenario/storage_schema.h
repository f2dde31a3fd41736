// How tiers of storage below host memory are written (cluster.storage).
#pragma once

#include "models/schema/object_schema.h"
#include "sim/serving/config.h"

namespace kvsim::scenario {

schema::ObjectSchema<serving::StorageTierConfig> storage_schema();

}  // namespace kvsim::scenario
