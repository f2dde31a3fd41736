// The ordinary serving system: identical replicas with host memory, and a router before them.
#pragma once

#include <memory>

#include "sim/serving/prompt_store.h"
#include "sim/serving/simulation.h"

namespace kvsim::serving {

/// `prompts`: where prompts are stored and found again; null: nowhere.
std::unique_ptr<ServingSystem> make_replica_fleet(const RunEnvironment& environment,
                                                  std::unique_ptr<PromptStore> prompts = nullptr);

}  // namespace kvsim::serving
