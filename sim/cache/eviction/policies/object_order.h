// Internal: what a policy knows of every object, indexed by its id.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/linked_order.h"
#include "sim/engine/page_allocator.h"

namespace kvsim::cache {

template <class T>
class PerObject {
 public:
  [[nodiscard]] T& operator[](ObjectId id) { return values_[id - first_]; }
  [[nodiscard]] const T& operator[](ObjectId id) const { return values_[id - first_]; }

  /// The object's entry, made if there is none.
  T& grown(ObjectId id) {
    if (id - first_ >= values_.size()) [[unlikely]]
      grow(id);
    return values_[id - first_];
  }

  [[nodiscard]] bool contains(ObjectId id) const { return id - first_ < values_.size(); }

 private:
  void grow(ObjectId id) {
    if (values_.empty()) first_ = id;
    if (id < first_) {
      values_.insert(values_.begin(), first_ - id, T{});
      first_ = id;
    } else {
      values_.resize(std::size_t{id - first_} + 1);
    }
  }

  ObjectId first_ = 0;                               // a tier of one of many replicas knows objects of that one alone
  std::vector<T, engine::PageAllocator<T>> values_;  // read at random: huge pages
};

// Internal: lists of objects.

using Links = engine::OrderLinks;

struct SizedLinks : Links {
  std::int64_t bytes = 0;
};

template <class Linked>
using ObjectList = engine::LinkedOrder<Linked>;

static_assert(kNoObject == Links::none);

/// Expresses sizes as multiples of the first that was seen. Objects of one size are whole numbers: what a policy
/// calculates is then the same, to the last bit, whatever their size.
class SizeUnit {
 public:
  void see(std::int64_t bytes) {
    if (unit_ == 0) unit_ = static_cast<double>(std::max<std::int64_t>(bytes, 1));
  }
  [[nodiscard]] double of(double bytes) const { return unit_ == 0 ? bytes : bytes / unit_; }

 private:
  double unit_ = 0;
};

// Internal: objects in the order of a key, smallest first, whose keys may change. LFU, GDSF and Belady are keys.

/// A 4-ary heap with the position of every object. `Key` has operator<; equal keys are in the order of their ids, so
/// that the order is total and never depends on how the heap came about.
template <class Key>
class ObjectHeap {
 public:
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] const Key& key(ObjectId id) const { return entries_[positions_[id]].key; }

  void push(ObjectId id, const Key& key) {
    positions_.grown(id);
    entries_.push_back({key, id});
    sift_up(entries_.size() - 1, {key, id});
  }

  void update(ObjectId id, const Key& key) { place(positions_[id], {key, id}); }

  void erase(ObjectId id) {
    const std::size_t position = positions_[id];
    const Entry last = entries_.back();
    entries_.pop_back();
    if (position < entries_.size()) place(position, last);
  }

  /// Takes out the first object that is not pinned; kNoObject where there is none. Pinned ones ahead of it cost
  /// O(log n) each. The key it had goes to `key_of_it`, if given.
  ObjectId take_first_free(const Pins& pins, Key* key_of_it = nullptr) {
    passed_.clear();
    ObjectId found = kNoObject;
    while (!entries_.empty() && found == kNoObject) {
      const Entry first = entries_.front();
      erase(first.id);
      if (pins(first.id)) {
        passed_.push_back(first);
      } else {
        found = first.id;
        if (key_of_it != nullptr) *key_of_it = first.key;
      }
    }
    for (const Entry& entry : passed_) push(entry.id, entry.key);
    return found;
  }

 private:
  struct Entry {
    Key key;
    ObjectId id;

    bool operator<(const Entry& other) const {
      if (key < other.key) return true;
      if (other.key < key) return false;
      return id < other.id;
    }
  };
  static constexpr std::size_t kArity = 4;

  void set(std::size_t position, const Entry& entry) {
    entries_[position] = entry;
    positions_[entry.id] = static_cast<std::uint32_t>(position);
  }

  /// Puts an entry where one has gone or changed.
  void place(std::size_t position, const Entry& entry) {
    if (position > 0 && entry < entries_[(position - 1) / kArity]) {
      sift_up(position, entry);
    } else {
      sift_down(position, entry);
    }
  }

  void sift_up(std::size_t position, const Entry entry) {
    while (position > 0 && entry < entries_[(position - 1) / kArity]) {
      set(position, entries_[(position - 1) / kArity]);
      position = (position - 1) / kArity;
    }
    set(position, entry);
  }

  void sift_down(std::size_t position, const Entry entry) {
    for (std::size_t first = kArity * position + 1; first < entries_.size(); first = kArity * position + 1) {
      const std::size_t end = std::min(first + kArity, entries_.size());
      std::size_t least = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (entries_[child] < entries_[least]) least = child;
      }
      if (!(entries_[least] < entry)) break;
      set(position, entries_[least]);
      position = least;
    }
    set(position, entry);
  }

  std::vector<Entry> entries_;
  PerObject<std::uint32_t> positions_;  // of objects in the heap; of others stale
  std::vector<Entry> passed_;           // kept for its memory
};

}  // namespace kvsim::cache
