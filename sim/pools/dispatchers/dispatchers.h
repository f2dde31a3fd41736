// Factories of the registered dispatchers.
#pragma once

#include <memory>
#include <span>

#include "sim/pools/dispatcher.h"

namespace kvsim::pools {

std::unique_ptr<Dispatcher> make_online(const serving::ServingConfig& config, std::span<const models::Path> paths);
std::unique_ptr<Dispatcher> make_weighted(const serving::ServingConfig& config, std::span<const models::Path> paths);
std::unique_ptr<Dispatcher> make_admit(const serving::ServingConfig& config, std::span<const models::Path> paths);

}  // namespace kvsim::pools
