// Farthest next use first (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
// Systems Journal 5(2), 1966). An incoming object stays outside if its next use is the farthest. Among equals the least
// recently used goes first, which is the end of a chain: a block never leaves before those that follow it, as every
// request that uses them uses it too.
//
// No policy has more hits in one cache of objects of one size. That holds for blocks in chains, too: the objects that
// it keeps are those that would have the most hits if each counted alone, and none of them lacks its prefix. With
// objects of several sizes, and with tiers below, it is no bound. 4 bytes an object, 24 more while it is in the tier.
#include <stdexcept>
#include <utility>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Belady final : public EvictionPolicy {
 public:
  explicit Belady(NextUse next_use) : next_use_(std::move(next_use)) {
    if (!next_use_) throw std::invalid_argument("the eviction policy belady needs the next uses of objects");
  }

  void insert(ObjectId id, std::int64_t /*bytes*/) override { objects_.push(id, {next_use_(id), ++now_}); }
  void hit(ObjectId id) override { objects_.update(id, {next_use_(id), ++now_}); }
  void touch(ObjectId id) override { objects_.update(id, {objects_.key(id).next_use, ++now_}); }

  ObjectId evict(const Pins& pins, ObjectId incoming) override {
    Key key{};
    const ObjectId victim = objects_.take_first_free(pins, &key);
    if (victim == kNoObject || incoming == kNoObject || next_use_(incoming) < key.next_use) return victim;
    objects_.push(victim, key);
    return incoming;
  }

  void remove(ObjectId id) override { objects_.erase(id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 private:
  struct Key {
    std::uint64_t next_use;
    std::uint64_t last_use;

    bool operator<(const Key& other) const {
      return next_use != other.next_use ? next_use > other.next_use : last_use < other.last_use;
    }
  };

  NextUse next_use_;
  ObjectHeap<Key> objects_;
  std::uint64_t now_ = 0;
};

}  // namespace

EvictionPolicyEntry eviction_belady() {
  return {.name = "belady",
          .description = "farthest next use, which needs the future; the bound in one tier of objects of one size",
          .place = 7,
          .needs_future = true,
          .make = [](const EvictionContext& context) -> std::unique_ptr<EvictionPolicy> {
            return std::make_unique<Belady>(context.next_use);
          }};
}

}  // namespace kvsim::cache
