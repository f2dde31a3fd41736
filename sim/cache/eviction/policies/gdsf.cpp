// Greedy dual size frequency (L. Cherkasova, "Improving WWW proxies performance with greedy-dual-size-frequency caching
// policy", HP Labs HPL-98-69R1, 1998): an object's priority is L + frequency x cost / size with cost 1, which aims at
// the most hits. L is the priority of the last victim, so that what was once popular ages. 20 bytes an object, 16 more
// while it is in the tier.
#include <algorithm>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Gdsf final : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t bytes) override {
    State& state = states_.grown(id);
    unit_.see(bytes);
    state = {bytes, 1};
    objects_.push(id, priority(state));
  }

  void hit(ObjectId id) override {
    State& state = states_[id];
    state.frequency += 1;
    objects_.update(id, priority(state));
  }

  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    double priority_of_victim = aging_;
    const ObjectId victim = objects_.take_first_free(pins, &priority_of_victim);
    // An object that was pinned until now may have a lower priority: L must not fall.
    aging_ = std::max(aging_, priority_of_victim);
    return victim;
  }

  void remove(ObjectId id) override { objects_.erase(id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 private:
  struct State {
    std::int64_t bytes = 0;
    std::uint32_t frequency = 0;
  };

  [[nodiscard]] double priority(const State& state) const {
    constexpr double cost = 1;
    const double size = unit_.of(static_cast<double>(std::max<std::int64_t>(state.bytes, 1)));
    return aging_ + static_cast<double>(state.frequency) * cost / size;
  }

  SizeUnit unit_;
  PerObject<State> states_;
  ObjectHeap<double> objects_;
  double aging_ = 0;  // L
};

}  // namespace

EvictionPolicyEntry eviction_gdsf() {
  return {.name = "gdsf",
          .description = "small and often used objects stay, aged by what was evicted",
          .place = 6,
          .make = [](const EvictionContext&) -> std::unique_ptr<EvictionPolicy> { return std::make_unique<Gdsf>(); }};
}

}  // namespace kvsim::cache
