// Small values by keys of 64 bits, none of which is ever taken out: what is remembered of blocks and sessions while a
// trace is read once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/workload/shared_prefixes.h"

namespace kvsim::models {

/// Memory: key and value of each entry, and 15 to 30 % of room. A sixty-fourth of the table grows at a time, so that it
/// is never there twice.
template <class Value>
class FlatTable {
 public:
  /// The key's value, which is `fresh` where the key was not there; and whether it was not. Valid until the next call.
  std::pair<Value*, bool> try_emplace(std::uint64_t key, const Value& fresh = {}) {
    const std::uint64_t hash = mixed_hash(key);
    if (hash == kFree) {
      const bool is_new = !of_free_;
      if (is_new) of_free_ = fresh;
      size_ += is_new ? 1 : 0;
      return {&*of_free_, is_new};
    }
    Part& part = parts_[hash >> kPartShift];
    std::size_t at = 0;
    if (!part.slots.empty()) {
      at = find_in(part.slots, hash);
      if (part.slots[at].hash == hash) return {&part.slots[at].value, false};
    }
    if (kMostUsed * (part.used + 1) > part.slots.size() * (kMostUsed - 1)) {
      grow(part);
      at = find_in(part.slots, hash);
    }
    part.slots[at] = {hash, fresh};
    ++part.used;
    ++size_;
    return {&part.slots[at].value, true};
  }

  /// Null: the key is not there.
  [[nodiscard]] const Value* find(std::uint64_t key) const {
    const std::uint64_t hash = mixed_hash(key);
    if (hash == kFree) return of_free_ ? &*of_free_ : nullptr;
    const Part& part = parts_[hash >> kPartShift];
    if (part.slots.empty()) return nullptr;
    const Slot& slot = part.slots[find_in(part.slots, hash)];
    return slot.hash == hash ? &slot.value : nullptr;
  }

  [[nodiscard]] std::size_t size() const { return size_; }

  /// Calls `each` with every value, in an order that depends on the keys alone.
  template <class Each>
  void for_each(Each&& each) const {
    if (of_free_) each(*of_free_);
    for (const Part& part : parts_) {
      for (const Slot& slot : part.slots) {
        if (slot.hash != kFree) each(slot.value);
      }
    }
  }

 private:
  static constexpr std::uint64_t kFree = 0;
  static constexpr int kPartBits = 6, kPartShift = 64 - kPartBits;
  static constexpr std::size_t kMostUsed = 8;  // all but one slot of so many may be used

  struct Slot {
    std::uint64_t hash = kFree;
    [[no_unique_address]] Value value{};
  };
  struct Part {
    std::vector<Slot> slots;  // in order of their hashes but for what stands in the way
    std::size_t used = 0;
  };

  /// Where the hash is, or would be. There is a free slot.
  static std::size_t find_in(const std::vector<Slot>& slots, std::uint64_t hash) {
    // The share of the part's hashes that are below, of 2^32.
    const std::uint64_t below = hash << static_cast<unsigned>(kPartBits) >> 32U;
    std::size_t at = below * slots.size() >> 32U;
    while (slots[at].hash != kFree && slots[at].hash != hash) at = at + 1 == slots.size() ? 0 : at + 1;
    return at;
  }

  static void grow(Part& part) {
    std::vector<Slot> more(part.slots.size() + part.slots.size() / kMostUsed + kMostUsed);
    for (Slot& slot : part.slots) {
      if (slot.hash != kFree) more[find_in(more, slot.hash)] = std::move(slot);
    }
    part.slots = std::move(more);
  }

  std::array<Part, std::size_t{1} << static_cast<unsigned>(kPartBits)> parts_;
  std::optional<Value> of_free_;  // of the key whose hash marks free slots
  std::size_t size_ = 0;
};

/// Keys alone.
struct NoValue {};

}  // namespace kvsim::models
