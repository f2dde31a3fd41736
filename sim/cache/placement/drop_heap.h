// The objects of one tier in order of what giving them less would cost: a 4-ary heap that knows where each object is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/eviction/object_id.h"

namespace kvsim::cache {

/// Where every object stands in the one heap that it is in; shared by the heaps of all tiers.
using HeapPositions = std::vector<std::uint32_t>;
inline constexpr std::uint32_t kNotInHeap = UINT32_MAX;

/// Least key first, equal keys by ObjectId. Four children of 16 bytes share a cache line.
class DropHeap {
 public:
  struct Entry {
    double key = 0;
    ObjectId id = kNoObject;
  };

  explicit DropHeap(HeapPositions& positions) : positions_(&positions) {}

  void insert(ObjectId id, double key);
  void erase(ObjectId id);
  void update(ObjectId id, double key);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] const Entry& top() const { return entries_.front(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  /// In no order but that a parent (i - 1)/4 never comes after its child i.
  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  static constexpr std::size_t kChildren = 4;

  static bool before(const Entry& a, const Entry& b) { return a.key < b.key || (a.key == b.key && a.id < b.id); }

  /// Sets every key to key_of(id), in O(size).
  template <class KeyOf>
  void rekey(KeyOf&& key_of) {
    for (Entry& entry : entries_) entry.key = key_of(entry.id);
    heapify();
  }

  [[nodiscard]] std::size_t state_bytes() const { return entries_.capacity() * sizeof(Entry); }

 private:
  void place(std::size_t at, const Entry& entry) {
    entries_[at] = entry;
    (*positions_)[entry.id] = static_cast<std::uint32_t>(at);
  }
  void sift_up(std::size_t at, Entry entry);
  void sift_down(std::size_t at, Entry entry);
  void heapify();

  std::vector<Entry> entries_;
  HeapPositions* positions_;
};

}  // namespace kvsim::cache
