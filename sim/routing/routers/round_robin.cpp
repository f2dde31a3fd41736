// Instances in turn, whatever their load.
#include "sim/routing/router.h"

namespace kvsim::routing {
namespace {

class RoundRobin final : public Router {
 public:
  std::size_t choose(std::span<const InstanceSnapshot> instances, const models::RequestSpec&) override {
    return next_++ % instances.size();
  }

 private:
  std::size_t next_ = 0;
};

}  // namespace

RouterEntry router_round_robin() {
  return {.name = "round_robin",
          .description = "replicas in turn",
          .make = [](const schema::OwnKeys&) -> std::unique_ptr<Router> { return std::make_unique<RoundRobin>(); }};
}

}  // namespace kvsim::routing
