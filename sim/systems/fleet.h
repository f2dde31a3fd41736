// The ordinary serving system: identical replicas with host memory, and a router before them.
#pragma once

#include <memory>

#include "sim/serving/prompt_store.h"
#include "sim/serving/simulation.h"

namespace kvsim::systems {

/// `prompts`: where prompts are stored and found again; null: nowhere.
std::unique_ptr<serving::ServingSystem> make_fleet(const serving::RunEnvironment& environment,
                                                   std::unique_ptr<serving::PromptStore> prompts = nullptr);

}  // namespace kvsim::systems
