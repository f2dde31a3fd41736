// What an event runs: a plain function, an object and one word. Trivially copyable and never allocating, because the
// event hot path may do neither.
#pragma once

#include <cstdint>

namespace kvsim::engine {

struct Callback {
  using Function = void (*)(void* object, std::uint64_t word);

  Function function = nullptr;
  void* object = nullptr;
  std::uint64_t word = 0;

  explicit operator bool() const { return function != nullptr; }
  void operator()() const { function(object, word); }

  /// Binds `object->Method(word)`, or `object->Method()` where it takes nothing. `object` is not owned and must
  /// outlive the event.
  template <auto Method, class T>
  static Callback to(T* object, std::uint64_t word = 0) {
    return {[](void* o, [[maybe_unused]] std::uint64_t w) {
              if constexpr (requires(T & t) { (t.*Method)(w); }) {
                (static_cast<T*>(o)->*Method)(w);
              } else {
                (static_cast<T*>(o)->*Method)();
              }
            },
            object, word};
  }
};

}  // namespace kvsim::engine
