// Which instance each arriving request goes to. A router sees the instances as values, never the instances themselves,
// and returns an index.
//
// To add one: a file in routers/ with a class and `RouterEntry router_NAME()`. The build finds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "models/schema/own_keys.h"
#include "models/schema/registry.h"
#include "models/workload/request_source.h"

namespace kvsim::routing {

/// The load of one instance when a request arrives.
struct InstanceSnapshot {
  std::int64_t outstanding_tokens = 0;  ///< left to prefill and to generate, of all requests sent there
  std::int64_t running = 0;             ///< requests that hold KV memory
  std::int64_t waiting = 0;             ///< requests that wait to be admitted
};

class Router {
 public:
  virtual ~Router() = default;
  /// Index of the instance for the next request, of which the workload says `spec`. There is at least one instance.
  virtual std::size_t choose(std::span<const InstanceSnapshot> instances, const models::RequestSpec& spec) = 0;
};

struct RouterEntry {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;  ///< in lists
  schema::KeyFragment keys{};       ///< that it reads of what make() is given
  std::unique_ptr<Router> (*make)(const schema::OwnKeys& keys) = nullptr;
};

/// The router that keeps the turns of a session on one instance.
inline constexpr std::string_view session_router = "session";
/// The router of requests that belong to no session, unless a scenario names another.
inline constexpr std::string_view default_router = "least_loaded";

/// All registered routers, in the order in which they are listed to users.
std::span<const RouterEntry> routers();

/// The router of this name, or null.
inline const RouterEntry* find_router(std::string_view name) {
  return schema::find_named(routers(), name);
}

}  // namespace kvsim::routing
