#include "sim/serving/router.h"

#include <algorithm>
#include <array>

namespace kvsim::serving {
namespace {

class RoundRobin final : public Router {
 public:
  std::size_t choose(const std::vector<std::unique_ptr<Replica>>& replicas) override {
    return next_++ % replicas.size();
  }

 private:
  std::size_t next_ = 0;
};

class LeastLoaded final : public Router {
 public:
  std::size_t choose(const std::vector<std::unique_ptr<Replica>>& replicas) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < replicas.size(); ++i) {
      if (replicas[i]->outstanding_tokens() < replicas[best]->outstanding_tokens()) best = i;
    }
    return best;
  }
};

constexpr std::array kRouters{
    RouterEntry{"least_loaded", "the replica with the fewest tokens left to prefill and generate",
                []() -> std::unique_ptr<Router> { return std::make_unique<LeastLoaded>(); }},
    RouterEntry{"round_robin", "replicas in turn",
                []() -> std::unique_ptr<Router> { return std::make_unique<RoundRobin>(); }},
};

}  // namespace

std::span<const RouterEntry> routers() {
  return kRouters;
}

const RouterEntry* find_router(std::string_view name) {
  const auto it =
      std::find_if(kRouters.begin(), kRouters.end(), [name](const RouterEntry& r) { return r.name == name; });
  return it == kRouters.end() ? nullptr : &*it;
}

}  // namespace kvsim::serving
