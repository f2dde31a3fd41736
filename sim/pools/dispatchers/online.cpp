// Takes, of the paths on which a request can start now, the one that costs least: the time until it is expected to
// finish, and the link time that it takes from others, at a price that is the time queued for that link. Prices that
// follow queues keep any load in check that some other choice of paths could carry (max-weight: L. Tassiulas and A.
// Ephremides, IEEE Trans. Automatic Control 37(12), 1992).
#include "sim/pools/dispatchers/dispatchers.h"

namespace kvsim::pools {
namespace {

class Online final : public Dispatcher {
 public:
  std::optional<models::Path> on_arrival(const PoolRequest&, const PoolsView&) override { return std::nullopt; }

  std::optional<Placement> place(const PoolRequest& request, const PoolsView& view) override {
    std::optional<Placement> best;
    double least = 0;
    for (const models::Path path : view.paths()) {
      const std::optional<Placement> candidate = view.room(request, path);
      if (!candidate || overloads_local_link(request, *candidate, view)) continue;
      const double cost = view.expected_s(request, *candidate) + link_cost(request, *candidate, view);
      if (best && cost >= least) continue;
      best = candidate;
      least = cost;
    }
    return best;
  }

 private:
  /// Seconds of link time, each times the seconds queued for it.
  static double link_cost(const PoolRequest& request, const Placement& p, const PoolsView& view) {
    const models::PathTraits& t = models::traits(p.path);
    double cost = 0;
    if (p.remote != nullptr) cost += view.first_load_s(request, p) * view.backlog_s(*p.remote);
    if (p.local != nullptr) {
      const bool anew = t.drafts && !t.cached;
      const double loads = anew ? view.expected_rounds(request, p.path) : 1;
      const double queued_s = view.backlog_s(*p.local) + view.late_reloads_s(request, *p.local);
      cost += loads * view.reload_s(request, *p.local) * queued_s;
    }
    return cost;
  }
};

}  // namespace

std::unique_ptr<Dispatcher> make_online(const serving::ServingConfig&, std::span<const models::Path>) {
  return std::make_unique<Online>();
}

}  // namespace kvsim::pools
