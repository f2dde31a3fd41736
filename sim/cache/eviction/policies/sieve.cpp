// SIEVE (Y. Zhang et al., "SIEVE is simpler than LRU: an efficient turn-key eviction algorithm for web caches",
// NSDI'24): objects stay in the order in which they came; a hand goes from the oldest to the newest, clears the mark of
// what was used since it last passed and evicts the first object without one. A hit sets a mark and moves nothing.
// 9 bytes an object.
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Sieve final : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override {
    links_.grown(id);
    visited_.grown(id) = 0;
    queue_.push_newest(links_, id);
  }

  void hit(ObjectId id) override { visited_[id] = 1; }

  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    // The first round may clear marks, the second then finds an unmarked object unless every one is pinned.
    ObjectId id = hand_ == kNoObject ? queue_.oldest() : hand_;
    for (std::size_t passed = 0; passed < 2 * queue_.size(); ++passed) {
      if (!pins(id)) {
        if (visited_[id] == 0) {
          hand_ = id;
          remove(id);
          return id;
        }
        visited_[id] = 0;
      }
      id = links_[id].newer == kNoObject ? queue_.oldest() : links_[id].newer;
    }
    return kNoObject;
  }

  void remove(ObjectId id) override {
    if (id == hand_) hand_ = links_[id].newer;
    queue_.erase(links_, id);
  }

  [[nodiscard]] std::size_t size() const override { return queue_.size(); }

 private:
  PerObject<Links> links_;
  PerObject<std::uint8_t> visited_;  // apart from the links: hits stay within fewer cache lines
  ObjectList<Links> queue_;
  ObjectId hand_ = kNoObject;  // where the next search begins; none: at the oldest
};

}  // namespace

EvictionPolicyEntry eviction_sieve() {
  return {.name = "sieve",
          .description = "one FIFO queue and a hand that spares what was used",
          .place = 5,
          .make = [](const EvictionContext&) -> std::unique_ptr<EvictionPolicy> { return std::make_unique<Sieve>(); }};
}

}  // namespace kvsim::cache
