// Takes, of the paths on which a request can start now, the one on which it is expected to finish first.
#include "sim/pools/dispatchers/dispatchers.h"

namespace kvsim::pools {
namespace {

class Online final : public Dispatcher {
 public:
  std::optional<models::Path> on_arrival(const PoolRequest&, const PoolsView&) override { return std::nullopt; }

  std::optional<Placement> place(const PoolRequest& request, const PoolsView& view) override {
    std::optional<Placement> best;
    double best_s = 0;
    for (const models::Path path : view.paths()) {
      const std::optional<Placement> candidate = view.room(request, path);
      if (!candidate) continue;
      const double s = view.expected_s(request, *candidate);
      if (best && s >= best_s) continue;
      best = candidate;
      best_s = s;
    }
    return best;
  }
};

}  // namespace

std::unique_ptr<Dispatcher> make_online(const serving::ServingConfig&, std::span<const models::Path>) {
  return std::make_unique<Online>();
}

}  // namespace kvsim::pools
