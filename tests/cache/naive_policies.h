// Eviction policies in the most straightforward way, to compare the real ones with: lists that are searched from end to
// end, maps, no ids as indices. The front of a list is its newest object.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "sim/cache/eviction/eviction_policy.h"

namespace kvsim::cache::naive {

using List = std::list<ObjectId>;

inline bool has(const List& list, ObjectId id) {
  return std::find(list.begin(), list.end(), id) != list.end();
}

/// The oldest that is not pinned, taken out; kNoObject where there is none.
inline ObjectId take_oldest(List& list, const Pins& pins) {
  for (auto it = list.rbegin(); it != list.rend(); ++it) {
    if (pins(*it)) continue;
    const ObjectId id = *it;
    list.remove(id);
    return id;
  }
  return kNoObject;
}

class Lru : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override { list_.push_front(id); }
  void hit(ObjectId id) override {
    list_.remove(id);
    list_.push_front(id);
  }
  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override { return take_oldest(list_, pins); }
  void remove(ObjectId id) override { list_.remove(id); }
  [[nodiscard]] std::size_t size() const override { return list_.size(); }

 private:
  List list_;
};

/// The object with the least rank leaves; `Rank` makes an object's rank from its uses, size and so on.
class Ranked : public EvictionPolicy {
 public:
  struct Object {
    std::int64_t bytes = 0;
    std::int64_t uses = 0;
    std::int64_t last_use = 0;
    double priority = 0;
  };

  void insert(ObjectId id, std::int64_t bytes) override {
    objects_[id] = {bytes, 0, 0, 0};
    hit(id);
  }
  void hit(ObjectId id) override {
    Object& o = objects_[id];
    o.uses += 1;
    o.last_use = ++now_;
    used(id, o);
  }
  ObjectId evict(const Pins& pins, ObjectId incoming) override {
    auto least = objects_.end();
    for (auto it = objects_.begin(); it != objects_.end(); ++it) {
      if (!pins(it->first) && (least == objects_.end() || before(it->second, least->second))) least = it;
    }
    if (least == objects_.end()) return kNoObject;
    if (incoming != kNoObject && stays_outside(incoming, least->second)) return incoming;
    const ObjectId id = least->first;
    leaves(least->second);
    objects_.erase(least);
    return id;
  }
  void remove(ObjectId id) override { objects_.erase(id); }
  [[nodiscard]] std::size_t size() const override { return objects_.size(); }

 protected:
  virtual void used(ObjectId /*id*/, Object& /*object*/) {}
  [[nodiscard]] virtual bool before(const Object& a, const Object& b) const = 0;
  virtual void leaves(const Object& /*object*/) {}
  [[nodiscard]] virtual bool stays_outside(ObjectId /*incoming*/, const Object& /*victim*/) const { return false; }

 private:
  std::map<ObjectId, Object> objects_;
  std::int64_t now_ = 0;
};

class Lfu : public Ranked {
  [[nodiscard]] bool before(const Object& a, const Object& b) const override {
    return std::pair(a.uses, a.last_use) < std::pair(b.uses, b.last_use);
  }
};

class Gdsf : public Ranked {
  void used(ObjectId /*id*/, Object& o) override {
    const auto size = static_cast<double>(std::max<std::int64_t>(o.bytes, 1));
    if (unit_ == 0) unit_ = size;
    o.priority = aging_ + static_cast<double>(o.uses) / (size / unit_);
  }
  [[nodiscard]] bool before(const Object& a, const Object& b) const override { return a.priority < b.priority; }
  void leaves(const Object& o) override { aging_ = std::max(aging_, o.priority); }

  double aging_ = 0, unit_ = 0;  // the first size
};

/// Ranks by next use, told as minus it; of equals the least recently used goes first.
class Belady : public Ranked {
 public:
  explicit Belady(NextUse next_use) : next_use_(std::move(next_use)) {}

 private:
  void used(ObjectId id, Object& o) override { o.priority = -static_cast<double>(next_use_(id)); }
  [[nodiscard]] bool before(const Object& a, const Object& b) const override {
    return std::pair(a.priority, a.last_use) < std::pair(b.priority, b.last_use);
  }
  [[nodiscard]] bool stays_outside(ObjectId incoming, const Object& victim) const override {
    return -static_cast<double>(next_use_(incoming)) <= victim.priority;
  }

  NextUse next_use_;
};

/// The queue is a vector in disguise: positions from the oldest; the hand is the id it stands at.
class Sieve : public EvictionPolicy {
 public:
  void insert(ObjectId id, std::int64_t /*bytes*/) override { queue_.push_front(id); }
  void hit(ObjectId id) override { visited_.insert(id); }
  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    if (std::all_of(queue_.begin(), queue_.end(), [&](ObjectId id) { return pins(id); })) return kNoObject;
    while (true) {
      if (hand_ == kNoObject) hand_ = queue_.back();
      const ObjectId id = hand_;
      if (!pins(id) && visited_.count(id) == 0) {
        remove(id);
        return id;
      }
      if (!pins(id)) visited_.erase(id);
      hand_ = newer(id);
    }
  }
  void remove(ObjectId id) override {
    if (hand_ == id) hand_ = newer(id);
    queue_.remove(id);
    visited_.erase(id);
  }
  [[nodiscard]] std::size_t size() const override { return queue_.size(); }

 private:
  [[nodiscard]] ObjectId newer(ObjectId id) const {
    const auto it = std::find(queue_.begin(), queue_.end(), id);
    return it == queue_.begin() ? kNoObject : *std::prev(it);
  }

  List queue_;
  std::set<ObjectId> visited_;
  ObjectId hand_ = kNoObject;
};

/// Sizes of what is in lists, summed anew each time.
class Sized : public EvictionPolicy {
 protected:
  [[nodiscard]] double bytes(const List& list) const {
    double sum = 0;
    for (const ObjectId id : list) sum += static_cast<double>(sizes_.at(id));
    return sum;
  }

  std::map<ObjectId, std::int64_t> sizes_;
};

class S3Fifo : public Sized {
 public:
  explicit S3Fifo(std::int64_t capacity) : capacity_(static_cast<double>(capacity)) {}

  void insert(ObjectId id, std::int64_t size) override {
    const bool remembered = has(ghost_, id);
    ghost_.remove(id);
    sizes_[id] = size;
    uses_[id] = 0;
    (remembered ? main_ : small_).push_front(id);
  }
  void hit(ObjectId id) override { uses_[id] = std::min(uses_[id] + 1, 3); }
  ObjectId evict(const Pins& pins, ObjectId /*incoming*/) override {
    ObjectId victim = kNoObject;
    if (bytes(small_) < 0.1 * capacity_) victim = evict_main(pins);
    if (victim == kNoObject) victim = evict_small(pins);
    if (victim == kNoObject) victim = evict_main(pins);
    return victim;
  }
  void remove(ObjectId id) override {
    small_.remove(id);
    main_.remove(id);
  }
  [[nodiscard]] std::size_t size() const override { return small_.size() + main_.size(); }

 private:
  [[nodiscard]] double main_share() const { return capacity_ - 0.1 * capacity_; }

  ObjectId evict_small(const Pins& pins) {
    while (true) {
      const ObjectId id = take_oldest(small_, pins);
      if (id == kNoObject) return kNoObject;
      if (uses_[id] <= 1) {
        ghost_.push_front(id);
        while (bytes(ghost_) > main_share()) ghost_.pop_back();
        return id;
      }
      uses_[id] = 0;
      main_.push_front(id);
      if (bytes(main_) <= main_share()) continue;
      if (const ObjectId victim = evict_main(pins); victim != kNoObject) return victim;
    }
  }

  ObjectId evict_main(const Pins& pins) {
    while (true) {
      // Pinned objects stay where they are and are passed over; a round ends at what was the newest at its start.
      bool any = false;
      const List round = main_;
      for (auto it = round.rbegin(); it != round.rend(); ++it) {
        if (pins(*it)) continue;
        any = true;
        main_.remove(*it);
        if (uses_[*it] == 0) return *it;
        uses_[*it] -= 1;
        main_.push_front(*it);
      }
      if (!any) return kNoObject;
    }
  }

  double capacity_;
  List small_, main_, ghost_;
  std::map<ObjectId, int> uses_;
};

/// In multiples of the first size: where an object needs several victims, the target changes with the first of them.
/// (The published algorithm on single pages, word for word, is in eviction_paper_examples_test.cpp.)
class Arc : public Sized {
 public:
  explicit Arc(std::int64_t capacity) : c_(static_cast<double>(capacity)) {}

  void insert(ObjectId id, std::int64_t size) override {
    if (unit_ == 0) unit_ = static_cast<double>(size);
    adapt(id);
    adapted_ = kNoObject;
    p_ = next_p_;
    const bool known = has(b1_, id) || has(b2_, id);
    b1_.remove(id);
    b2_.remove(id);
    sizes_[id] = size;
    (known ? t2_ : t1_).push_front(id);
    while (!b1_.empty() && units(t1_) + units(b1_) > c_ / unit_) b1_.pop_back();
    while (!b2_.empty() && units(t1_) + units(b1_) + units(t2_) + units(b2_) > 2 * (c_ / unit_)) b2_.pop_back();
  }
  void hit(ObjectId id) override {
    t1_.remove(id);
    t2_.remove(id);
    t2_.push_front(id);
  }
  ObjectId evict(const Pins& pins, ObjectId incoming) override {
    const auto pinned = [&](ObjectId id) { return pins(id); };
    if (std::all_of(t1_.begin(), t1_.end(), pinned) && std::all_of(t2_.begin(), t2_.end(), pinned)) return kNoObject;
    adapt(incoming);
    const bool first_t1 = !t1_.empty() && (units(t1_) > next_p_ || (has(b2_, incoming) && units(t1_) == next_p_));
    for (const bool from_t1 : {first_t1, !first_t1}) {
      const ObjectId id = take_oldest(from_t1 ? t1_ : t2_, pins);
      if (id == kNoObject) continue;
      (from_t1 ? b1_ : b2_).push_front(id);
      return id;
    }
    return kNoObject;
  }
  void remove(ObjectId id) override {
    t1_.remove(id);
    t2_.remove(id);
  }
  [[nodiscard]] std::size_t size() const override { return t1_.size() + t2_.size(); }

 private:
  void adapt(ObjectId id) {
    if (id != kNoObject && id == adapted_) return;
    adapted_ = id;
    next_p_ = p_;
    const double one = units(b1_), two = units(b2_), size = static_cast<double>(sizes_[id]) / unit_;
    if (has(b1_, id)) next_p_ = std::min(c_ / unit_, p_ + size * std::max(1.0, two / one));
    if (has(b2_, id)) next_p_ = std::max(0.0, p_ - size * std::max(1.0, one / two));
  }
  [[nodiscard]] double units(const List& list) const { return bytes(list) / unit_; }

  double c_;
  double unit_ = 0;  // the first size
  double p_ = 0, next_p_ = 0;
  ObjectId adapted_ = kNoObject;
  List t1_, t2_, b1_, b2_;
};

inline std::unique_ptr<EvictionPolicy> make(std::string_view name, const EvictionContext& context) {
  if (name == "lru") return std::make_unique<Lru>();
  if (name == "lfu") return std::make_unique<Lfu>();
  if (name == "gdsf") return std::make_unique<Gdsf>();
  if (name == "belady") return std::make_unique<Belady>(context.next_use);
  if (name == "sieve") return std::make_unique<Sieve>();
  if (name == "s3fifo") return std::make_unique<S3Fifo>(context.capacity_bytes);
  if (name == "arc") return std::make_unique<Arc>(context.capacity_bytes);
  return nullptr;
}

}  // namespace kvsim::cache::naive
