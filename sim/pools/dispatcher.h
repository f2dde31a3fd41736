// Which path each request takes, and on which nodes. A dispatcher sees the pools through a narrow view and decides; the
// system reserves memory, moves bytes and computes.
//
// To add one: a file in dispatchers/ with a class and `DispatcherEntry dispatcher_NAME()`. The build finds it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/paths/path.h"
#include "models/schema/own_keys.h"
#include "models/schema/registry.h"
#include "sim/engine/time.h"
#include "sim/pools/pool_request.h"
#include "sim/pools/site.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/config.h"

namespace kvsim::pools {

/// A path, and the nodes that it needs.
struct Assignment {
  models::Path path = models::Path::B1;
  Site* local = nullptr;
  Site* remote = nullptr;
};

/// View of the pools that a dispatcher has.
class PoolsView {
 public:
  virtual ~PoolsView() = default;

  [[nodiscard]] virtual engine::SimTime now() const = 0;
  /// Paths that requests can take in this configuration.
  [[nodiscard]] virtual std::span<const models::Path> paths() const = 0;
  /// The nodes on which `request` could start on `path` now, and be done first; nothing if memory, or the number of
  /// requests at once, leaves no room.
  [[nodiscard]] virtual std::optional<Assignment> room(const PoolRequest& request, models::Path path) const = 0;
  /// The local node that the fewest stateless requests are verified on; null where there is none.
  [[nodiscard]] virtual Site* local_for_reloads() const = 0;
  /// Expected seconds from now to its last token if it starts there now.
  [[nodiscard]] virtual double expected_s(const PoolRequest& request, const Assignment& assignment) const = 0;
  /// Seconds of link time: its first transfer, to the remote node where it takes one, else to the local one; and one
  /// reload of its full KV to a local node.
  [[nodiscard]] virtual double first_load_s(const PoolRequest& request, const Assignment& assignment) const = 0;
  [[nodiscard]] virtual double reload_s(const PoolRequest& request, const Site& local) const = 0;
  /// Seconds that the transfers queued or under way to a node still take; and, beside those, reloads that are late.
  [[nodiscard]] virtual double backlog_s(const Site& node) const = 0;
  [[nodiscard]] virtual double late_reloads_s(const PoolRequest& request, const Site& local) const = 0;
  /// Share of the time of a local node's link that its drafting stateless requests and this one take with a reload a
  /// round, as fast as they can draft; above 1, the link is what they wait for. 0 where nobody drafts.
  [[nodiscard]] virtual double reload_load(const PoolRequest& request, const Assignment& assignment) const = 0;
  /// Rounds that it is expected to draft and verify on a path from now on.
  [[nodiscard]] virtual double expected_rounds(const PoolRequest& request, models::Path path) const = 0;
  /// Seconds of drafting of a round on that node, as long as rounds lately began.
  [[nodiscard]] virtual double drafting_s(const Site& remote) const = 0;
  /// Bytes of memory that a reload takes, and that `node` has for reloads beside what is held for good.
  [[nodiscard]] virtual double reload_bytes(const PoolRequest& request) const = 0;
  [[nodiscard]] virtual double reload_room(const Site& node) const = 0;
};

class Dispatcher {
 public:
  virtual ~Dispatcher() = default;

  /// The path of a request that arrives now, if that is decided at once; requests of each path then wait in order.
  /// None: it waits with all others of which none was decided, in order, until assign() finds one.
  virtual std::optional<models::Path> on_arrival(const PoolRequest& request, const PoolsView& view) = 0;

  /// Nodes where the request, first of those waiting with it, starts now; nothing: it waits on. The result is binding.
  virtual std::optional<Assignment> assign(const PoolRequest& request, const PoolsView& view) = 0;

  /// When the reload for the round that `request` begins now may start; `drafts_due` is when its drafts are expected to
  /// be there. By default just in time: nothing, and the system decides.
  virtual std::optional<engine::SimTime> reload_start(const PoolRequest& request, engine::SimTime drafts_due,
                                                      const PoolsView& view) {
    (void)request, (void)drafts_due, (void)view;
    return std::nullopt;
  }

  /// Whether room for a reload should be kept from requests that would hold it, for `request` or others like it to
  /// draft. Asked where the remote pool's links are what everybody waits for.
  virtual bool wants_reload_room(const PoolRequest& request, const PoolsView& view) {
    (void)request, (void)view;
    return true;
  }

  /// Whether waiting alone can make room: assign() is then asked again after this time. By default not.
  [[nodiscard]] virtual std::optional<engine::Duration> retry_after() const { return std::nullopt; }

  /// The request needs no more reloads; it has finished, or goes on alone.
  virtual void leaves(const PoolRequest& request) { (void)request; }
};

/// Whether another stateless request would be one too many for the local node's link: it would only hold memory of the
/// remote pool while it waits for reloads.
bool overloads_local_link(const PoolRequest& request, const Assignment& assignment, const PoolsView& view);

struct DispatcherEntry {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;  ///< in lists
  bool needs_weights = false;       ///< DispatchConfig::weights
  bool places_reloads = false;      ///< Dispatcher::reload_start(), which schedule policies other than fcfs do not ask
  schema::KeyFragment keys{};       ///< that it reads in DispatchConfig::own
  std::unique_ptr<Dispatcher> (*make)(const serving::ServingConfig& config,
                                      std::span<const models::Path> paths) = nullptr;
};

/// All registered dispatchers, in the order in which they are listed to users.
std::span<const DispatcherEntry> dispatchers();

/// The entry of this name, or null.
inline const DispatcherEntry* find_dispatcher(std::string_view name) {
  return schema::find_named(dispatchers(), name);
}

}  // namespace kvsim::pools
