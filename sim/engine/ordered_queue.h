// A priority queue in order of (key, insertion), smallest first, whose items can be cancelled. The event queue and
// the waiting line of a lane are this one mechanism.
//
// A 4-ary heap of 16-byte entries, one cache line for four siblings; values lie apart in a slot table. Three things
// make it fast: a popped root stays open as a hole until the next call, so that pop followed by push (which is what a
// simulation does) sifts once; siblings past the end hold +infinity, so that choosing the smallest of four needs no
// bounds test; and a cancelled entry stays in the heap, recognised by its stale identifier when it surfaces. Dead
// entries never outnumber live ones by more than a constant: then the heap is rebuilt, which costs O(1) a cancellation.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "sim/engine/slot_table.h"

namespace kvsim::engine {

/// push, pop and cancel are O(log n), O(log n) and O(1) amortised; none allocates unless more items are pending than
/// ever before. `Value` is copied; make it trivially copyable.
template <class Value>
class OrderedQueue {
 public:
  struct Item {
    std::int64_t key;
    Value value;
  };

  /// Returns an identifier that is never 0 and never comes back.
  std::uint64_t push(std::int64_t key, const Value& value) {
    auto [id, stored] = slots_.acquire();
    stored = value;
    const Entry entry = make_entry(key, id);
    if (hole_) {
      hole_ = false;
      prefetch_next_item();
      sift_down(root, entry);
    } else {
      append(entry);
    }
    return id;
  }

  /// Removes the first item; throws InvariantViolation when empty.
  Item pop() {
    KVSIM_ALWAYS(!empty(), "pop from an empty queue");
    settle();
    const Entry first = at(root);
    const std::uint64_t id = id_of(first);
    const Item item{key_of(first), slots_[id]};
    slots_.release(id);
    hole_ = true;
    return item;
  }

  /// The key of the first item; throws InvariantViolation when empty. Not const: it may finish what pop() put off.
  [[nodiscard]] std::int64_t top_key() {
    KVSIM_ALWAYS(!empty(), "top of an empty queue");
    settle();
    return key_of(at(root));
  }

  /// The value of the first item; throws InvariantViolation when empty.
  [[nodiscard]] const Value& top() {
    KVSIM_ALWAYS(!empty(), "top of an empty queue");
    settle();
    return slots_[id_of(at(root))];
  }

  /// After pop(): the value of the item that is first then, unless an earlier one comes; null where none is left. It
  /// may be one that was cancelled, so that it is only good for prefetching what it refers to.
  [[nodiscard]] const Value* likely_next() const {
    if (!hole_ || end_ <= root + 1) return nullptr;
    return &slots_.at_slot_of(id_of(lines_[1].entries[smallest(lines_[1])]));
  }

  /// True if the item was pending and is now gone.
  bool cancel(std::uint64_t id) {
    if (!slots_.contains(id)) return false;
    slots_.release(id);
    if (++dead_ > slots_.size() + max_dead_surplus) rebuild();
    return true;
  }

  [[nodiscard]] bool contains(std::uint64_t id) const { return slots_.contains(id); }
  [[nodiscard]] std::size_t size() const { return slots_.size(); }
  [[nodiscard]] bool empty() const { return slots_.size() == 0; }

  /// Makes room for `items` pending at once.
  void reserve(std::size_t items) {
    slots_.reserve(items);
    lines_.reserve(line_of(root + 2 * items + max_dead_surplus) + 1);
  }

  /// Starts the sequence of identifiers at `sequence`, to test what happens at its end.
  void set_next_sequence(std::uint64_t sequence) { slots_.set_next_sequence(sequence); }

 private:
  // Key in the upper half, identifier (sequence, then slot) in the lower: one comparison orders by (key, insertion).
  __extension__ typedef __int128 Entry;
  struct alignas(64) Line {
    std::array<Entry, 4> entries{infinity, infinity, infinity, infinity};
  };

  static constexpr Entry make_entry(std::int64_t key, std::uint64_t id) { return Entry{key} * two_to_64 + id; }
  static constexpr std::int64_t key_of(Entry entry) { return static_cast<std::int64_t>(entry >> 64); }
  static constexpr std::uint64_t id_of(Entry entry) { return static_cast<std::uint64_t>(entry); }

  static constexpr Entry two_to_64 = Entry{1} << 64;
  static constexpr Entry infinity =
      Entry{std::numeric_limits<std::int64_t>::max()} * two_to_64 + std::numeric_limits<std::uint64_t>::max();
  static constexpr std::size_t max_dead_surplus = 64;
  static constexpr std::size_t prefetch_from_lines = 1024;  // 64 KiB

  // The root is the last entry of line 0, so that the four children of position p fill line p - 2, and the parent of p
  // lies at p / 4 + 2.
  static constexpr std::size_t root = 3;
  static constexpr std::size_t line_of(std::size_t position) { return position / 4; }
  static constexpr std::size_t child_line(std::size_t position) { return position - 2; }
  static constexpr std::size_t parent(std::size_t position) { return position / 4 + 2; }

  Entry& at(std::size_t position) { return lines_[position / 4].entries[position % 4]; }

  static std::size_t smallest(const Line& line) {
    const auto& e = line.entries;
    const std::size_t a = e[1] < e[0] ? 1 : 0;
    const std::size_t b = e[3] < e[2] ? 3 : 2;
    return e[b] < e[a] ? b : a;
  }

  // The children of the four entries of a line fill four lines in a row. Fetching all four before the smallest entry
  // is known hides the latency of large heaps; small ones are in the nearest cache anyway.
  [[gnu::always_inline]] void prefetch_children_of(std::size_t line) const {
    const std::size_t first = child_line(4 * line);
    if (lines_.size() < prefetch_from_lines || first + 3 >= lines_.size()) return;
    for (std::size_t i = 0; i < 4; ++i) __builtin_prefetch(lines_.data() + first + i);
  }

  // The item of the next root will be wanted; it is the smallest child of the present one.
  [[gnu::always_inline]] void prefetch_next_item() const {
    if (line_of(end_ - 1) >= 1) slots_.prefetch(id_of(lines_[1].entries[smallest(lines_[1])]));
  }

  void sift_down(std::size_t position, Entry entry) {
    const std::size_t lines = line_of(end_ - 1) + 1;
    for (std::size_t line = child_line(position); line < lines; line = child_line(position)) {
      prefetch_children_of(line);
      const std::size_t child = smallest(lines_[line]);
      const Entry candidate = lines_[line].entries[child];
      if (entry < candidate) break;
      at(position) = candidate;
      position = 4 * line + child;
    }
    at(position) = entry;
  }

  void sift_up(std::size_t position, Entry entry) {
    while (position != root && entry < at(parent(position))) {
      at(position) = at(parent(position));
      position = parent(position);
    }
    at(position) = entry;
  }

  void append(Entry entry) {
    if (line_of(end_) >= lines_.size()) [[unlikely]]
      lines_.resize(line_of(end_) + 1);
    sift_up(end_++, entry);
  }

  // Takes the root away. Bottom-up: the hole sinks to a leaf, then the last entry fills it, which is nearly always
  // as large as a leaf.
  void remove_root() {
    prefetch_next_item();
    const Entry last = at(--end_);
    at(end_) = infinity;
    if (end_ == root) return;
    const std::size_t lines = line_of(end_ - 1) + 1;
    std::size_t position = root;
    for (std::size_t line = child_line(position); line < lines; line = child_line(position)) {
      prefetch_children_of(line);
      const std::size_t child = smallest(lines_[line]);
      at(position) = lines_[line].entries[child];
      position = 4 * line + child;
    }
    sift_up(position, last);
  }

  // Closes the hole and drops dead entries until the root is live.
  void settle() {
    if (hole_) {
      hole_ = false;
      remove_root();
    }
    while (dead_ != 0 && end_ != root && !slots_.contains(id_of(at(root)))) {
      remove_root();
      --dead_;
    }
  }

  [[gnu::noinline]] void rebuild() {
    if (hole_) {
      hole_ = false;
      remove_root();
    }
    std::size_t kept = root;
    for (std::size_t position = root; position < end_; ++position) {
      if (slots_.contains(id_of(at(position)))) at(kept++) = at(position);
    }
    for (std::size_t position = kept; position < end_; ++position) at(position) = infinity;
    end_ = kept;
    dead_ = 0;
    if (end_ < root + 2) return;
    for (std::size_t position = parent(end_ - 1); position >= root; --position) sift_down(position, at(position));
  }

  std::vector<Line, PageAllocator<Line>> lines_ = std::vector<Line, PageAllocator<Line>>(1);
  std::size_t end_ = root;  // one past the last entry
  std::size_t dead_ = 0;    // entries whose item was cancelled
  bool hole_ = false;       // the root's item has been popped and its place not yet filled
  SlotTable<Value> slots_;
};

}  // namespace kvsim::engine
