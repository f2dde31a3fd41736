// Which path each request takes, and on which nodes. A dispatcher sees the pools through a narrow view and decides; the
// nodes reserve memory, move bytes and compute.
//
// To add one: a file in dispatchers/ with a class and a factory, and one line in the table of dispatcher.cpp.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "sim/serving/config.h"

namespace kvsim::pools {

class Dispatcher;

struct DispatcherEntry {
  std::string_view name;
  std::string_view description;
  bool needs_weights = false;  ///< DispatchConfig::weights
  std::unique_ptr<Dispatcher> (*make)(const serving::ServingConfig& config) = nullptr;
};

/// All registered dispatchers, in the order in which they are listed to users.
std::span<const DispatcherEntry> dispatchers();

/// The entry of this name, or null.
const DispatcherEntry* find_dispatcher(std::string_view name);

}  // namespace kvsim::pools
