#include "sim/cache/placement/drop_heap.h"

#include <algorithm>

namespace kvsim::cache {

void DropHeap::insert(ObjectId id, double key) {
  entries_.emplace_back();
  sift_up(entries_.size() - 1, {key, id});
}

void DropHeap::erase(ObjectId id) {
  const std::size_t at = (*positions_)[id];
  (*positions_)[id] = kNotInHeap;
  const Entry last = entries_.back();
  entries_.pop_back();
  if (at == entries_.size()) return;
  if (at > 0 && before(last, entries_[(at - 1) / kChildren])) {
    sift_up(at, last);
  } else {
    sift_down(at, last);
  }
}

void DropHeap::update(ObjectId id, double key) {
  const std::size_t at = (*positions_)[id];
  const Entry entry{key, id};
  if (before(entry, entries_[at])) {
    sift_up(at, entry);
  } else {
    sift_down(at, entry);
  }
}

void DropHeap::sift_up(std::size_t at, Entry entry) {
  while (at > 0) {
    const std::size_t parent = (at - 1) / kChildren;
    if (!before(entry, entries_[parent])) break;
    place(at, entries_[parent]);
    at = parent;
  }
  place(at, entry);
}

void DropHeap::sift_down(std::size_t at, Entry entry) {
  const std::size_t size = entries_.size();
  for (;;) {
    const std::size_t first = kChildren * at + 1;
    if (first >= size) break;
    const std::size_t end = std::min(first + kChildren, size);
    std::size_t least = first;
    for (std::size_t child = first + 1; child < end; ++child) {
      if (before(entries_[child], entries_[least])) least = child;
    }
    if (!before(entries_[least], entry)) break;
    place(at, entries_[least]);
    at = least;
  }
  place(at, entry);
}

void DropHeap::heapify() {
  if (entries_.size() < 2) return;
  for (std::size_t at = (entries_.size() - 2) / kChildren + 1; at-- > 0;) sift_down(at, entries_[at]);
}

}  // namespace kvsim::cache
