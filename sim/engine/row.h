// Things that are made in place, side by side, and never move: for those that are visited at random, so that they take
// few pages.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/page_allocator.h"

namespace kvsim::engine {

/// As many as there is room for from the start. Memory is touched only by those that were made; where all would take
/// megabytes, it is asked for as huge pages.
template <class T>
class Row {
 public:
  explicit Row(std::size_t most) : first_(PageAllocator<T>{}.allocate(most)), most_(most) {}
  Row(Row&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), most_(other.most_), made_(std::exchange(other.made_, 0)) {}
  Row& operator=(Row&&) = delete;
  ~Row() {
    std::destroy_n(first_, made_);
    if (first_ != nullptr) PageAllocator<T>{}.deallocate(first_, most_);
  }

  /// The next one. It stays at its address.
  template <class... Of>
  T& add(Of&&... of) {
    KVSIM_ALWAYS(made_ < most_, "there is no room in a row");
    T* made = std::construct_at(first_ + made_, std::forward<Of>(of)...);
    ++made_;
    return *made;
  }
  [[nodiscard]] T& operator[](std::size_t i) const { return first_[i]; }
  [[nodiscard]] std::span<T> made() const { return {first_, made_}; }
  [[nodiscard]] bool full() const { return made_ == most_; }

 private:
  T* first_;
  std::size_t most_;
  std::size_t made_ = 0;
};

}  // namespace kvsim::engine
