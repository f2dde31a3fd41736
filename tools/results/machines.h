// How results name the machines of a scenario: replicas, or nodes of two pools.
#pragma once

#include <string>
#include <string_view>

#include "sim/serving/config.h"

namespace kvsim::results {

/// "replica" or "node": one tensor-parallel group.
std::string_view group_word(const serving::ClusterConfig& cluster);

/// "2 replicas of 4 x h100-sxm", "1 local and 4 remote nodes of 2 x h100-nvl".
std::string machines_text(const serving::ClusterConfig& cluster);

/// "stored", ...: the word of the scenario's key.
std::string_view prefill_word(serving::PrefillKind prefill);

}  // namespace kvsim::results
