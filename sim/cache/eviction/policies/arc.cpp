// ARC (N. Megiddo, D. S. Modha, "ARC: a self-tuning, low overhead replacement cache", FAST'03, figure 4), in bytes.
// T1 holds what was used once, T2 what was used again; B1 and B2 remember what left them. A use of what B1 remembers
// says that T1 was too small, and raises its target p; B2 lowers it. |T1| + |B1| <= c and all four <= 2 c.
// 17 bytes an object.
#include <algorithm>
#include <array>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/cache/eviction/policies/object_order.h"

namespace kvsim::cache {
namespace {

class Arc final : public EvictionPolicy {
 public:
  explicit Arc(const EvictionContext& context) : c_(static_cast<double>(context.capacity_bytes)) {}

  void insert(ObjectId id, std::int64_t bytes) override {
    nodes_.grown(id);
    unit_.see(bytes);
    const Where before = where_.grown(id);
    p_ = target_for(id);
    decided_for_ = kNoObject;
    if (before != none) take(id);
    nodes_[id].bytes = bytes;
    push(id, before == none ? t1 : t2);
    // The published order deletes before the victim is remembered; what remains is the same.
    while (lists_[b1].size() > 0 && bytes_of(t1) + bytes_of(b1) > unit_.of(c_)) take(lists_[b1].oldest());
    while (lists_[b2].size() > 0 && bytes_of(t1) + bytes_of(b1) + bytes_of(t2) + bytes_of(b2) > 2 * unit_.of(c_)) {
      take(lists_[b2].oldest());
    }
  }

  void hit(ObjectId id) override {
    if (id == lists_[t2].newest()) return;
    take(id);
    push(id, t2);
  }

  ObjectId evict(const Pins& pins, ObjectId incoming) override {
    const double target = target_for(incoming);
    const bool came_from_b2 = where_.contains(incoming) && where_[incoming] == b2;
    const bool from_t1 = bytes_of(t1) > target || (came_from_b2 && bytes_of(t1) == target);
    Where from = from_t1 ? t1 : t2;
    ObjectId victim = lists_[from].oldest_free(nodes_, pins);
    if (victim == kNoObject) {
      from = from_t1 ? t2 : t1;
      victim = lists_[from].oldest_free(nodes_, pins);
    }
    if (victim == kNoObject) return victim;
    // Further victims for the same object keep to the target that the first was chosen by.
    decided_for_ = incoming;
    decided_ = target;
    take(victim);
    push(victim, from == t1 ? b1 : b2);
    return victim;
  }

  void remove(ObjectId id) override { take(id); }

  [[nodiscard]] std::size_t size() const override { return lists_[t1].size() + lists_[t2].size(); }

 private:
  enum Where : std::uint8_t { none, t1, t2, b1, b2 };

  /// In units, as is the target.
  [[nodiscard]] double bytes_of(Where list) const { return unit_.of(static_cast<double>(lists_[list].bytes())); }

  void push(ObjectId id, Where list) {
    where_[id] = list;
    lists_[list].push_newest(nodes_, id);
  }

  void take(ObjectId id) {
    lists_[where_[id]].erase(nodes_, id);
    where_[id] = none;
  }

  /// p with which this object comes in: cases II and III of the published algorithm, a byte of the object counting as
  /// one of its pages.
  [[nodiscard]] double target_for(ObjectId id) const {
    if (id == decided_for_ && id != kNoObject) return decided_;
    if (!where_.contains(id)) return p_;
    const auto step = [&](Where mine, Where other) {
      const double size = unit_.of(static_cast<double>(nodes_[id].bytes));
      return size * std::max(1.0, bytes_of(mine) > 0 ? bytes_of(other) / bytes_of(mine) : 1.0);
    };
    if (where_[id] == b1) return std::min(unit_.of(c_), p_ + step(b1, b2));
    if (where_[id] == b2) return std::max(0.0, p_ - step(b2, b1));
    return p_;
  }

  double c_;  // bytes
  SizeUnit unit_;
  double p_ = 0;
  ObjectId decided_for_ = kNoObject;  // room is being made for it, with p as decided_
  double decided_ = 0;
  PerObject<SizedLinks> nodes_;
  PerObject<Where> where_;
  std::array<ObjectList<SizedLinks>, 5> lists_;  // by Where; the first stays empty
};

}  // namespace

EvictionPolicyEntry eviction_arc() {
  return {.name = "arc",
          .description = "recency and frequency, their shares adapted by what was evicted too early",
          .place = 3,
          .make = [](const EvictionContext& context) -> std::unique_ptr<EvictionPolicy> {
            return std::make_unique<Arc>(context);
          }};
}

}  // namespace kvsim::cache
