// Dense ids for 64-bit keys such as block hashes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/cache/eviction/eviction_policy.h"
#include "sim/engine/page_allocator.h"

namespace kvsim::cache {

/// Numbers keys from 0 in the order in which they first come; any 64-bit value is a key. Open addressing with linear
/// probing, at most half full: 16 bytes a slot, a lookup is mostly one cache line.
class Interner {
 public:
  /// Makes room for so many different keys.
  explicit Interner(std::size_t keys = 0);

  /// The id of the key, a new one if it never came. Throws std::length_error beyond 2^31 keys.
  ObjectId intern(std::uint64_t key);
  /// The same for every key in turn, faster: later slots are fetched while earlier ones are looked at. `ids` has as
  /// many elements as `keys`.
  void intern(std::span<const std::uint64_t> keys, std::span<ObjectId> ids);

  /// Different keys so far: the next new one gets this id.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  struct Slot {
    std::uint64_t key = 0;
    ObjectId id = kNoObject;  // none: the slot is free
  };

  /// Keys may be counters as well as hashes: multiplying spreads them (D. E. Knuth, TAOCP 3, 6.4).
  [[nodiscard]] std::size_t home(std::uint64_t key) const {
    return static_cast<std::size_t>((key * 0x9E3779B97F4A7C15ULL) >> shift_);
  }
  void resize(unsigned bits);

  std::vector<Slot, engine::PageAllocator<Slot>> slots_;
  std::size_t size_ = 0;
  unsigned shift_ = 0;
};

}  // namespace kvsim::cache
