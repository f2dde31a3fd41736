// Things that come in order of their numbers and go in any order, found by number: the requests of a run. What it takes
// follows the most that were there at once, not the numbers that there have been.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/linked_order.h"
#include "sim/engine/row.h"

namespace kvsim::engine {

/// Adding, finding and erasing take constant time, where few outlive twice as many as are there at once; those that do
/// stand apart. A thing stays at its address until it is erased; who may read the table may change the things in it.
/// Adding allocates only when more are there than ever before.
template <class T>
class IdTable {
 public:
  /// A new T{}. `id` is larger than every one before.
  T& add(std::uint64_t id) {
    KVSIM_ALWAYS(id >= end_, "numbers do not ascend");
    end_ = id + 1;
    const std::uint32_t slot = take_slot();
    slots_[slot].id = id;
    order_.push_newest(slots_, slot);
    order_.size() > window_.size() / 2 ? widen() : place(slot);
    return slots_[slot].value;
  }

  /// Null where it is gone, or was never there.
  [[nodiscard]] T* find(std::uint64_t id) const {
    const std::uint32_t slot = slot_of(id);
    return slot == OrderLinks::none ? nullptr : &slots_[slot].value;
  }
  /// The object of this number, which is there.
  [[nodiscard]] T& operator[](std::uint64_t id) const {
    T* found = find(id);
    KVSIM_DEBUG(found != nullptr, "there is nothing of this number any more");
    return *found;
  }

  /// Nothing where it is gone already.
  void erase(std::uint64_t id) {
    const std::uint32_t slot = slot_of(id);
    if (slot == OrderLinks::none) return;
    if (std::uint32_t& in_window = window_[id & mask()]; in_window == slot) {
      in_window = OrderLinks::none;
    } else {
      std::erase(stragglers_, slot);
    }
    order_.erase(slots_, slot);
    slots_[slot].value = T{};
    free_.push_back(slot);
  }

  /// Number of objects there.
  [[nodiscard]] std::size_t size() const { return order_.size(); }
  /// All that have been added have smaller numbers.
  [[nodiscard]] std::uint64_t end() const { return end_; }

  /// visit(thing) for those there, in order of their numbers. It may erase the one that it visits.
  template <class Visit>
  void for_each(const Visit& visit) const {
    for (std::uint32_t slot = order_.oldest(); slot != OrderLinks::none;) {
      Slot& at = slots_[slot];
      slot = at.newer;
      visit(at.value);
    }
  }

 private:
  static constexpr std::size_t kFirstWindow = 64;
  static constexpr std::uint32_t kFirstChunk = 64;  // slots; each further chunk has as many as all before it, and these

  struct Slot : OrderLinks {
    std::uint64_t id = 0;
    T value{};
  };
  struct Slots {
    Slot& operator[](std::uint32_t slot) const {
      const std::uint32_t from_first = slot + kFirstChunk, chunk = std::bit_width(from_first / kFirstChunk) - 1U;
      return chunks[chunk][from_first - (kFirstChunk << chunk)];
    }
    std::vector<Row<Slot>> chunks;
    std::uint32_t made = 0;
  };

  std::uint32_t take_slot() {
    if (!free_.empty()) {
      const std::uint32_t slot = free_.back();
      free_.pop_back();
      return slot;
    }
    if (slots_.chunks.empty() || slots_.chunks.back().full()) {
      slots_.chunks.emplace_back(std::size_t{kFirstChunk} << slots_.chunks.size());
    }
    slots_.chunks.back().add();
    return slots_.made++;
  }

  [[nodiscard]] std::size_t mask() const { return window_.size() - 1; }

  [[nodiscard]] std::uint32_t slot_of(std::uint64_t id) const {
    if (window_.empty()) return OrderLinks::none;
    const std::uint32_t slot = window_[id & mask()];
    if (slot != OrderLinks::none && slots_[slot].id == id) return slot;
    const auto found = place_apart(id);
    return found != stragglers_.end() && slots_[*found].id == id ? *found : OrderLinks::none;
  }

  [[nodiscard]] std::vector<std::uint32_t>::const_iterator place_apart(std::uint64_t id) const {
    return std::lower_bound(stragglers_.begin(), stragglers_.end(), id,
                            [this](std::uint32_t slot, std::uint64_t sought) { return slots_[slot].id < sought; });
  }

  /// The object in its place is older, and stands apart from now on.
  void place(std::uint32_t slot) {
    std::uint32_t& in_window = window_[slots_[slot].id & mask()];
    if (in_window != OrderLinks::none) stragglers_.insert(place_apart(slots_[in_window].id), in_window);
    in_window = slot;
  }

  void widen() {
    window_.assign(std::max(kFirstWindow, 2 * window_.size()), OrderLinks::none);
    stragglers_.clear();
    stragglers_.reserve(window_.size() / 2);  // all that may be there before it is widened again
    for (std::uint32_t slot = order_.oldest(); slot != OrderLinks::none; slot = slots_[slot].newer) place(slot);
  }

  Slots slots_;
  std::vector<std::uint32_t> free_;        // of these
  LinkedOrder<Slot> order_;                // of those in use, the newest has the largest number
  std::vector<std::uint32_t> window_;      // by the last bits of a number: who had these last
  std::vector<std::uint32_t> stragglers_;  // whose place in the window another one has; in order of their numbers
  std::uint64_t end_ = 0;
};

}  // namespace kvsim::engine
