// The ordinary serving system: identical replicas with host memory, and a router before them.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/serving/prompt_store.h"
#include "sim/serving/replica.h"
#include "sim/serving/simulation.h"

namespace kvsim::serving {

// Which replica an arriving request goes to.

class Router {
 public:
  virtual ~Router() = default;
  /// Index of the replica for the next request, of which the workload says `spec`. `replicas` is never empty.
  virtual std::size_t choose(const std::vector<std::unique_ptr<Replica>>& replicas,
                             const models::RequestSpec& spec) = 0;
};

struct RouterEntry {
  std::string_view name;
  std::string_view description;
  std::unique_ptr<Router> (*make)() = nullptr;
};

/// The router that keeps the turns of a session on one replica.
inline constexpr std::string_view session_router = "session";
/// The router of requests that belong to no session, unless a scenario names another.
inline constexpr std::string_view default_router = "least_loaded";

/// All registered routers.
std::span<const RouterEntry> routers();
const RouterEntry* find_router(std::string_view name);

/// `prompts`: where prompts are stored and found again; null: nowhere.
std::unique_ptr<ServingSystem> make_replica_fleet(const RunEnvironment& environment,
                                                  std::unique_ptr<PromptStore> prompts = nullptr);

}  // namespace kvsim::serving
