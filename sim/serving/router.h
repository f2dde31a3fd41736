// Which replica an arriving request goes to.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/serving/replica.h"

namespace kvsim::serving {

class Router {
 public:
  virtual ~Router() = default;
  /// Index of the replica for the next request. `replicas` is never empty.
  virtual std::size_t choose(const std::vector<std::unique_ptr<Replica>>& replicas) = 0;
};

struct RouterEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Router> (*make)() = nullptr;
};

/// All registered routers.
std::span<const RouterEntry> routers();
const RouterEntry* find_router(std::string_view name);

}  // namespace kvsim::serving
