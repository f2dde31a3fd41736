#include "sim/pools/dispatcher.h"

#include <algorithm>
#include <array>

namespace kvsim::pools {
namespace {

constexpr std::array kDispatchers{
    DispatcherEntry{"online", "each request takes the path on which it is expected to finish first", false,
                    make_online},
    DispatcherEntry{"weighted", "paths in proportion to dispatch.weights", true, make_weighted},
    DispatcherEntry{"planned", "weighted, with the weights that the path LP finds for this scenario", true,
                    make_weighted},
    DispatcherEntry{"admit",
                    "drafts where ADMIT finds room in the rings of both pools' links and memories, else full KV", false,
                    make_admit},
};

}  // namespace

bool overloads_local_link(const PoolRequest& request, const Assignment& assignment, const PoolsView& view) {
  constexpr double kOversubscribed = 3;  // not all of them ask at the same time
  const models::PathTraits& t = models::traits(assignment.path);
  return t.drafts && !t.cached && view.reload_load(request, assignment) > kOversubscribed;
}

std::span<const DispatcherEntry> dispatchers() {
  return kDispatchers;
}

const DispatcherEntry* find_dispatcher(std::string_view name) {
  const auto it = std::find_if(kDispatchers.begin(), kDispatchers.end(),
                               [name](const DispatcherEntry& entry) { return entry.name == name; });
  return it == kDispatchers.end() ? nullptr : &*it;
}

}  // namespace kvsim::pools
