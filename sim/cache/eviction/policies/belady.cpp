// Farthest next use first (L. A. Belady, "A study of replacement algorithms for a virtual-storage computer", IBM
// Systems Journal 5(2), 1966): the most hits that any policy can have on objects of one size, where what is missing
// must come in. 4 bytes an object, 16 more while it is in the tier.
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

  void insert(ObjectId id, std::int64_t /*bytes*/) override { objects_.push(id, ~next_use_(id)); }
  void hit(ObjectId id) override { objects_.update(id, ~next_use_(id)); }
  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override { return objects_.take_first_free(pins); }
  void remove(ObjectId id) override { objects_.erase(id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 private:
  NextUse next_use_;
  ObjectHeap<std::uint64_t> objects_;  // by the complement of the next use: the farthest is the smallest
};

}  // namespace

std::unique_ptr<EvictionPolicy> make_belady(const EvictionContext& context) {
  return std::make_unique<Belady>(context.next_use);
}

}  // namespace kvsim::cache
