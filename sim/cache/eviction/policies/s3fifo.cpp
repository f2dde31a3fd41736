// S3-FIFO (J. Yang et al., "FIFO queues are all you need for cache eviction", SOSP'23, algorithm 1): new objects go
// through a small queue S of 10 % of the capacity; what was used more than once there moves to the main queue M, the
// rest leaves and is remembered in a ghost queue G. An object that comes back while G remembers it goes straight to M,
// where used objects get another round for each use, three at most. Queues are measured in bytes. 18 bytes an object.
#include <algorithm>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class S3Fifo final : public EvictionPolicy {
 public:
  explicit S3Fifo(const EvictionContext& context)
      : small_bytes_(static_cast<double>(context.capacity_bytes) * kSmallShare),
        main_bytes_(static_cast<double>(context.capacity_bytes) - small_bytes_) {}

  void insert(ObjectId id, std::int64_t bytes) override {
    State& state = states_.grown(id);
    nodes_.grown(id);
    const bool remembered = state.queue == Queue::ghost;
    if (remembered) ghost_.erase(nodes_, id);
    nodes_[id].bytes = bytes;
    state.uses = 0;
    push(id, remembered ? Queue::main : Queue::small);
  }

  void hit(ObjectId id) override {
    State& state = states_[id];
    state.uses = std::min<std::uint8_t>(static_cast<std::uint8_t>(state.uses + 1), kMostUses);
  }

  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    ObjectId victim = kNoObject;
    if (static_cast<double>(small_.bytes()) < small_bytes_) victim = evict_main(pins);
    if (victim == kNoObject) victim = evict_small(pins);
    if (victim == kNoObject) victim = evict_main(pins);  // all that S had to give may have moved there
    return victim;
  }

  void remove(ObjectId id) override { take(id); }

  [[nodiscard]] std::size_t size() const override { return small_.size() + main_.size(); }

 private:
  static constexpr double kSmallShare = 0.1;
  static constexpr std::uint8_t kMostUses = 3;    // two bits
  static constexpr std::uint8_t kUsesToStay = 2;  // in S: "accessed more than once"
  enum class Queue : std::uint8_t { none, small, main, ghost };
  struct State {
    Queue queue = Queue::none;
    std::uint8_t uses = 0;
  };

  ObjectList<SizedLinks>& list(Queue queue) {
    return queue == Queue::small ? small_ : queue == Queue::main ? main_ : ghost_;
  }

  void push(ObjectId id, Queue queue) {
    states_[id].queue = queue;
    list(queue).push_newest(nodes_, id);
  }

  void take(ObjectId id) {
    list(states_[id].queue).erase(nodes_, id);
    states_[id].queue = Queue::none;
  }

  void remember(ObjectId id) {
    push(id, Queue::ghost);
    while (ghost_.size() > 0 && static_cast<double>(ghost_.bytes()) > main_bytes_) take(ghost_.oldest());
  }

  ObjectId evict_small(const Pins& pins) {
    for (ObjectId id = small_.oldest(); id != kNoObject;) {
      const ObjectId next = nodes_[id].newer;
      if (!pins(id)) {
        take(id);
        if (states_[id].uses < kUsesToStay) {
          remember(id);
          return id;
        }
        states_[id].uses = 0;
        push(id, Queue::main);
        if (static_cast<double>(main_.bytes()) > main_bytes_) {
          if (const ObjectId victim = evict_main(pins); victim != kNoObject) return victim;
        }
      }
      id = next;
    }
    return kNoObject;
  }

  ObjectId evict_main(const Pins& pins) {
    // A used object comes round again at most three times: every round ends with a victim or fewer uses left.
    for (bool again = true; again;) {
      again = false;
      ObjectId id = main_.oldest();
      for (std::size_t left = main_.size(); left > 0; --left) {
        const ObjectId next = nodes_[id].newer;
        if (!pins(id)) {
          take(id);
          if (states_[id].uses == 0) return id;
          states_[id].uses = static_cast<std::uint8_t>(states_[id].uses - 1);
          push(id, Queue::main);
          again = true;
        }
        id = next;
      }
    }
    return kNoObject;
  }

  double small_bytes_;
  double main_bytes_;
  PerObject<SizedLinks> nodes_;
  PerObject<State> states_;  // apart from the links: hits stay within fewer cache lines
  ObjectList<SizedLinks> small_, main_, ghost_;
};

}  // namespace

EvictionPolicyEntry eviction_s3fifo() {
  return {.name = "s3fifo",
          .description = "three FIFO queues: new objects prove themselves in the small one",
          .place = 4,
          .make = [](const EvictionContext& context) -> std::unique_ptr<EvictionPolicy> {
            return std::make_unique<S3Fifo>(context);
          }};
}

}  // namespace kvsim::cache
