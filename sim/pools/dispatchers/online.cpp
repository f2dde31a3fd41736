// Takes, of the paths on which a request can start now, the one that costs least: the time until it is expected to
// finish, and the link time that it takes from others, at a price that is the time queued for that link. Prices that
// follow queues keep any load in check that some other choice of paths could carry (max-weight: L. Tassiulas and A.
// Ephremides, IEEE Trans. Automatic Control 37(12), 1992).
#include <algorithm>

#include "sim/pools/dispatcher.h"

namespace kvsim::pools {
namespace {

class Online final : public Dispatcher {
 public:
  explicit Online(std::span<const models::Path> paths) {
    for (const models::Path path : {models::Path::P2_stateless, models::Path::P1_stateless}) {
      if (std::find(paths.begin(), paths.end(), path) != paths.end()) stateless_ = path;
    }
  }

  std::optional<models::Path> on_arrival(const PoolRequest&, const PoolsView&) override { return std::nullopt; }

  std::optional<Assignment> assign(const PoolRequest& request, const PoolsView& view) override {
    std::optional<Assignment> best;
    double least = 0;
    for (const models::Path path : view.paths()) {
      const std::optional<Assignment> candidate = view.room(request, path);
      if (!candidate || overloads_local_link(request, *candidate, view)) continue;
      const double c = cost(request, *candidate, view);
      if (best && c >= least) continue;
      best = candidate;
      least = c;
    }
    return best;
  }

  /// Where drafting is cheaper than loading the full KV into the remote pool. While that has no room for either, as it
  /// was when it had.
  bool wants_reload_room(const PoolRequest& request, const PoolsView& view) override {
    const std::optional<Assignment> loading = view.room(request, models::Path::B2);
    if (!loading) return drafting_is_cheaper_;
    const Assignment drafting{stateless_, view.local_for_reloads(), loading->remote};
    drafting_is_cheaper_ = cost(request, drafting, view) < cost(request, *loading, view);
    return drafting_is_cheaper_;
  }

 private:
  static double cost(const PoolRequest& request, const Assignment& p, const PoolsView& view) {
    return view.expected_s(request, p) + link_cost(request, p, view);
  }

  /// Seconds of link time, each times the seconds queued for it.
  static double link_cost(const PoolRequest& request, const Assignment& p, const PoolsView& view) {
    const models::PathTraits& t = models::traits(p.path);
    double sum = 0;
    if (p.remote != nullptr) sum += view.first_load_s(request, p) * view.backlog_s(*p.remote);
    if (p.local != nullptr) {
      const bool anew = t.drafts && !t.cached;
      const double loads = anew ? view.expected_rounds(request, p.path) : 1;
      const double queued_s = view.backlog_s(*p.local) + view.late_reloads_s(request, *p.local);
      sum += loads * view.reload_s(request, *p.local) * queued_s;
    }
    return sum;
  }

  models::Path stateless_ = models::Path::P1_stateless;
  bool drafting_is_cheaper_ = true;
};

}  // namespace

DispatcherEntry dispatcher_online() {
  return {
      .name = "online",
      .description = "each request takes the path on which it is expected to finish first",
      .place = 1,
      .make = [](const serving::ServingConfig&, std::span<const models::Path> paths) -> std::unique_ptr<Dispatcher> {
        return std::make_unique<Online>(paths);
      }};
}

}  // namespace kvsim::pools
