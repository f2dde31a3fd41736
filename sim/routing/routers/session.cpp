// All turns of a session on one instance, as routers that hash the session of a request: sessions are spread over
// instances, whatever their load. Requests without a session go to the least loaded one.
#include "models/workload/shared_prefixes.h"
#include "sim/routing/router.h"

namespace kvsim::routing {
namespace {

class BySession final : public Router {
 public:
  std::size_t choose(std::span<const InstanceSnapshot> instances, const models::RequestSpec& spec) override {
    if (spec.session < 0) return others_->choose(instances, spec);
    return models::mixed_hash(static_cast<std::uint64_t>(spec.session)) % instances.size();
  }

 private:
  std::unique_ptr<Router> others_ = find_router(default_router)->make({});
};

}  // namespace

RouterEntry router_session() {
  return {.name = session_router,
          .description = "all turns of a session to one replica, by a hash of its number; others to the least loaded",
          .make = [](const schema::OwnKeys&) -> std::unique_ptr<Router> { return std::make_unique<BySession>(); }};
}

}  // namespace kvsim::routing
