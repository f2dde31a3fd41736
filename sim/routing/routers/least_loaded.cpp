// The instance with the fewest tokens left to prefill and generate. Instances of equal load take turns.
#include "sim/routing/router.h"

namespace kvsim::routing {
namespace {

class LeastLoaded final : public Router {
 public:
  std::size_t choose(std::span<const InstanceSnapshot> instances, const models::RequestSpec&) override {
    std::size_t best = next_ % instances.size();
    for (std::size_t i = 1; i < instances.size(); ++i) {
      const std::size_t other = (next_ + i) % instances.size();
      if (instances[other].outstanding_tokens < instances[best].outstanding_tokens) best = other;
    }
    next_ = best + 1;
    return best;
  }

 private:
  std::size_t next_ = 0;  // first to be considered, so that equals take turns
};

}  // namespace

RouterEntry router_least_loaded() {
  return {.name = default_router,
          .description = "the replica with the fewest tokens left to prefill and generate, of several in turn",
          .make = [](const schema::OwnKeys&) -> std::unique_ptr<Router> { return std::make_unique<LeastLoaded>(); }};
}

}  // namespace kvsim::routing
