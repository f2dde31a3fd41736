// Least frequently used: uses since the object came in, its arrival the first; among equals the least recently used.
// 4 bytes an object, 24 more while it is in the tier.
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Lfu final : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override { objects_.push(id, {1, ++now_}); }
  void hit(ObjectId id) override { objects_.update(id, {objects_.key(id).uses + 1, ++now_}); }
  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override { return objects_.take_first_free(pins); }
  void remove(ObjectId id) override { objects_.erase(id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 private:
  struct Key {
    std::uint64_t uses;
    std::uint64_t last_use;

    bool operator<(const Key& other) const {
      return uses != other.uses ? uses < other.uses : last_use < other.last_use;
    }
  };

  ObjectHeap<Key> objects_;
  std::uint64_t now_ = 0;
};

}  // namespace

EvictionPolicyEntry eviction_lfu() {
  return {.name = "lfu",
          .description = "least often used since it came in; of those, the least recently used",
          .place = 2,
          .make = [](const EvictionContext&) -> std::unique_ptr<EvictionPolicy> { return std::make_unique<Lfu>(); }};
}

}  // namespace kvsim::cache
