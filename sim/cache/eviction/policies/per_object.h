// Internal: what a policy knows of every object, indexed by its id.
#pragma once

#include <vector>

#include "sim/cache/eviction/object_id.h"
#include "sim/engine/page_allocator.h"

namespace kvsim::cache {

template <class T>
class PerObject {
 public:
  [[nodiscard]] T& operator[](ObjectId id) { return values_[id]; }
  [[nodiscard]] const T& operator[](ObjectId id) const { return values_[id]; }

  /// The object's entry, made if there is none.
  T& grown(ObjectId id) {
    if (id >= values_.size()) [[unlikely]]
      values_.resize(std::size_t{id} + 1);
    return values_[id];
  }

  [[nodiscard]] bool contains(ObjectId id) const { return id < values_.size(); }

 private:
  std::vector<T, engine::PageAllocator<T>> values_;  // read at random: huge pages
};

}  // namespace kvsim::cache
