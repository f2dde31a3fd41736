// The objects of one tier in order of what giving them less would cost: a 4-ary heap that knows where each object is.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/eviction/eviction_policy.h"

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

// The least entries of a DropHeap in order, without taking them out of it.

/// By way of those whose parents were taken: the k-th entry costs O(log k). The heap stays as it is meanwhile.
class HeapWalk {
 public:
  /// Where the places of the next entries are kept: given, so that its memory is used again.
  using Frontier = std::vector<std::uint32_t>;

  HeapWalk(const DropHeap& heap, Frontier& frontier) : entries_(heap.entries()), frontier_(frontier) {
    frontier_.clear();
    if (!entries_.empty()) frontier_.push_back(0);
  }

  [[nodiscard]] bool done() const { return frontier_.empty(); }
  /// Where not done.
  [[nodiscard]] const DropHeap::Entry& next() const { return entries_[frontier_.front()]; }
  void take() {
    const auto later = [&](std::uint32_t a, std::uint32_t b) { return DropHeap::before(entries_[b], entries_[a]); };
    std::pop_heap(frontier_.begin(), frontier_.end(), later);
    const std::size_t first = DropHeap::kChildren * frontier_.back() + 1;
    frontier_.pop_back();
    for (std::size_t child = first; child < std::min(first + DropHeap::kChildren, entries_.size()); ++child) {
      frontier_.push_back(static_cast<std::uint32_t>(child));
      std::push_heap(frontier_.begin(), frontier_.end(), later);
    }
  }

 private:
  std::span<const DropHeap::Entry> entries_;
  Frontier& frontier_;
};

}  // namespace kvsim::cache
