// Least recently used. 8 bytes an object.
#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Lru final : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override {
    links_.grown(id);
    used_.push_newest(links_, id);
  }

  void hit(ObjectId id) override {
    if (id == used_.newest()) return;
    used_.erase(links_, id);
    used_.push_newest(links_, id);
  }

  void touch(ObjectId id) override { hit(id); }

  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    const ObjectId victim = used_.oldest_free(links_, pins);
    if (victim != kNoObject) used_.erase(links_, victim);
    return victim;
  }

  void remove(ObjectId id) override { used_.erase(links_, id); }

  [[nodiscard]] std::size_t size() const override { return used_.size(); }

 private:
  PerObject<Links> links_;
  ObjectList<Links> used_;
};

}  // namespace

EvictionPolicyEntry eviction_lru() {
  return {.name = "lru",
          .description = "least recently used",
          .place = 1,
          .make = [](const EvictionContext&) -> std::unique_ptr<EvictionPolicy> { return std::make_unique<Lru>(); }};
}

}  // namespace kvsim::cache
