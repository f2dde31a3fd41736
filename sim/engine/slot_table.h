// A table of reusable slots whose identifiers never come back: an identifier carries a sequence number, so that one
// kept after its slot was released is recognised as stale, for ever. Acquiring allocates only when more slots are in
// use than ever before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/page_allocator.h"

namespace kvsim::engine {

/// An identifier is (sequence << 24) | slot; 0 is none. At most 2^24 - 2 slots in use at a time and 2^40 - 1
/// acquisitions in all: beyond either, acquire() throws InvariantViolation.
template <class T>
class SlotTable {
 public:
  struct Acquired {
    std::uint64_t id;
    T& value;  ///< as its last user left it (so that containers inside keep their storage); valid until acquire()
  };

  Acquired acquire() {
    KVSIM_ALWAYS(next_sequence_ <= last_sequence, "identifiers are exhausted");
    std::uint64_t index = free_head_ - 1;
    if (free_head_ == list_end) [[unlikely]] {
      index = slots_.size();
      KVSIM_ALWAYS(index < max_slots, "too many slots in use at once");
      slots_.emplace_back();
    } else {
      free_head_ = slots_[index].tag;
    }
    Slot& slot = slots_[index];
    slot.tag = next_sequence_++ << slot_bits | index;
    ++in_use_;
    return {slot.tag, slot.value};
  }

  /// Null if `id` is none or stale. Valid until the next acquire().
  [[nodiscard]] T* find(std::uint64_t id) { return contains(id) ? &slots_[index_of(id)].value : nullptr; }
  [[nodiscard]] const T* find(std::uint64_t id) const { return contains(id) ? &slots_[index_of(id)].value : nullptr; }

  [[nodiscard]] bool contains(std::uint64_t id) const {
    const std::size_t index = index_of(id);
    return index < slots_.size() && slots_[index].tag == id;
  }

  /// The value of an identifier known to be in use (checked in debug builds).
  [[nodiscard]] T& operator[](std::uint64_t id) {
    KVSIM_DEBUG(contains(id), "stale identifier");
    return slots_[index_of(id)].value;
  }
  [[nodiscard]] const T& operator[](std::uint64_t id) const {
    KVSIM_DEBUG(contains(id), "stale identifier");
    return slots_[index_of(id)].value;
  }

  /// The value in its slot, whoever has that now.
  [[nodiscard]] const T& at_slot_of(std::uint64_t id) const { return slots_[index_of(id)].value; }

  /// Releases an identifier known to be in use (checked in debug builds).
  void release(std::uint64_t id) {
    KVSIM_DEBUG(contains(id), "stale identifier");
    Slot& slot = slots_[index_of(id)];
    slot.tag = free_head_;
    free_head_ = index_of(id) + 1;
    --in_use_;
  }

  [[nodiscard]] std::size_t size() const { return in_use_; }
  void reserve(std::size_t slots) { slots_.reserve(slots); }
  [[gnu::always_inline]] void prefetch(std::uint64_t id) const { __builtin_prefetch(slots_.data() + index_of(id)); }

  /// Calls visit(id, value) for each slot in use, in order of slots.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const Slot& slot : slots_) {
      if (slot.tag >> slot_bits != 0) visit(slot.tag, slot.value);
    }
  }

  /// Starts the sequence of identifiers at `sequence`, to test what happens at its end.
  void set_next_sequence(std::uint64_t sequence) { next_sequence_ = sequence; }

 private:
  static constexpr unsigned slot_bits = 24;
  static constexpr std::uint64_t slot_mask = (std::uint64_t{1} << slot_bits) - 1;
  static constexpr std::uint64_t last_sequence = (std::uint64_t{1} << (64 - slot_bits)) - 1;
  static constexpr std::uint64_t list_end = slot_mask;
  static constexpr std::uint64_t max_slots = slot_mask - 1;

  // The tag of a slot in use is its identifier; of a free one, 1 + the index of the next free one, or list_end. The
  // latter is never 0 and lies below every identifier, since sequences start at 1.
  struct Slot {
    std::uint64_t tag = 0;
    T value{};
  };

  static constexpr std::size_t index_of(std::uint64_t id) { return id & slot_mask; }

  std::vector<Slot, PageAllocator<Slot>> slots_;
  std::uint64_t free_head_ = list_end;
  std::uint64_t next_sequence_ = 1;
  std::size_t in_use_ = 0;
};

}  // namespace kvsim::engine
