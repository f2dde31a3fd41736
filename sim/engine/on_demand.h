// A part that only some of many objects have.
#pragma once

#include <memory>

namespace kvsim::engine {

/// A value of 8 bytes until it is changed for the first time. Before that it reads as T{}.
template <class T>
class OnDemand {
 public:
  const T& operator*() const { return value_ ? *value_ : kUnchanged; }
  const T* operator->() const { return &**this; }

  /// The value, to be changed.
  T& edit() {
    if (!value_) value_ = std::make_unique<T>();
    return *value_;
  }

  /// T{} takes no memory.
  void set(const T& value) {
    if (value == kUnchanged) {
      value_.reset();
    } else {
      edit() = value;
    }
  }

 private:
  static inline const T kUnchanged{};
  std::unique_ptr<T> value_;
};

}  // namespace kvsim::engine
