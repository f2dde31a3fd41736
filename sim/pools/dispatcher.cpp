#include "sim/pools/dispatcher.h"

namespace kvsim::pools {

bool overloads_local_link(const PoolRequest& request, const Assignment& assignment, const PoolsView& view) {
  constexpr double kOversubscribed = 3;  // not all of them ask at the same time
  const models::PathTraits& t = models::traits(assignment.path);
  return t.drafts && !t.cached && view.reload_load(request, assignment) > kOversubscribed;
}

}  // namespace kvsim::pools
