// The least entries of a DropHeap in order, without taking them out of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/placement/drop_heap.h"

namespace kvsim::cache {

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
