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
  explicit Row(std::size_t most) : memory_(PageAllocator<T>{}.allocate(most), Free{most}) {}
  Row(Row&& other) noexcept : memory_(std::move(other.memory_)), made_(std::exchange(other.made_, 0)) {}
  Row& operator=(Row&&) = delete;
  ~Row() { std::destroy_n(memory_.get(), made_); }

  /// The next one. It stays at its address.
  template <class... Of>
  T& add(Of&&... of) {
    KVSIM_ALWAYS(!full(), "there is no room in a row");
    T* made = std::construct_at(memory_.get() + made_, std::forward<Of>(of)...);
    ++made_;
    return *made;
  }
  [[nodiscard]] T& operator[](std::size_t i) const { return memory_.get()[i]; }
  [[nodiscard]] std::span<T> made() const { return {memory_.get(), made_}; }
  [[nodiscard]] bool full() const { return made_ == memory_.get_deleter().most; }

 private:
  struct Free {
    std::size_t most;
    void operator()(T* memory) const { PageAllocator<T>{}.deallocate(memory, most); }
  };

  std::unique_ptr<T, Free> memory_;  // for `most`, of which `made_` are there
  std::size_t made_ = 0;
};

}  // namespace kvsim::engine
