// Gives paths in proportion to weights: at every arrival to the one that is furthest behind its share, so that any run
// of requests is within one of it.
#include <algorithm>
#include <array>
#include <vector>

#include "sim/pools/dispatcher.h"

namespace kvsim::pools {
namespace {

class Weighted final : public Dispatcher {
 public:
  Weighted(const serving::DispatchConfig& dispatch, std::span<const models::Path> paths) {
    double sum = 0;
    for (const models::Path path : paths) sum += dispatch.weights[models::index_of(path)];
    for (const models::Path path : paths) {
      const double weight = dispatch.weights[models::index_of(path)];
      if (weight > 0) shares_.push_back({path, weight / sum, 0});
    }
  }

  std::optional<models::Path> on_arrival(const PoolRequest&, const PoolsView&) override {
    for (Share& share : shares_) share.behind += share.weight;
    const auto most = std::max_element(shares_.begin(), shares_.end(),
                                       [](const Share& a, const Share& b) { return a.behind < b.behind; });
    most->behind -= 1;
    return most->path;
  }

  std::optional<Assignment> assign(const PoolRequest& request, const PoolsView& view) override {
    return view.room(request, request.path);
  }

 private:
  struct Share {
    models::Path path;
    double weight;  // they add up to 1
    double behind;  // requests that it should have had by now and has not
  };
  std::vector<Share> shares_;
};

}  // namespace

DispatcherEntry dispatcher_weighted() {
  return {.name = "weighted",
          .description = "paths in proportion to dispatch.weights",
          .place = 2,
          .needs_weights = true,
          .make = [](const serving::ServingConfig& config,
                     std::span<const models::Path> paths) -> std::unique_ptr<Dispatcher> {
            return std::make_unique<Weighted>(*config.cluster.topology().dispatcher, paths);
          }};
}

}  // namespace kvsim::pools
