// The ordinary serving system: identical replicas with host memory, and a router before them.
#pragma once

#include <memory>

#include "sim/serving/system.h"

namespace kvsim::serving {

std::unique_ptr<ServingSystem> make_replica_fleet(const RunEnvironment& environment);

}  // namespace kvsim::serving
