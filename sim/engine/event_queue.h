// The pending events in order of (time, scheduling). See ordered_queue.h for the mechanism and its costs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/engine/callback.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

/// Names one scheduled event. A handle kept after its event ran or was cancelled is stale for ever, and harmless.
struct EventHandle {
  std::uint64_t value = 0;  ///< 0: none

  explicit operator bool() const { return value != 0; }
  bool operator==(const EventHandle&) const = default;
};

/// At most 2^24 - 2 events pending at a time and 2^40 - 1 in all (checked in every build). Allocates only when more
/// events are pending than ever before.
class EventQueue {
 public:
  struct Event {
    SimTime time;
    Callback callback;
  };

  EventHandle push(SimTime at, const Callback& callback) { return {queue_.push(at.ns, callback)}; }

  /// Removes the earliest event; of equal times, the one pushed first. Throws InvariantViolation when empty.
  Event pop() {
    const auto item = queue_.pop();
    return {{item.key}, item.value};
  }

  /// The time of the earliest event; throws InvariantViolation when empty.
  [[nodiscard]] SimTime top_time() { return {queue_.top_key()}; }

  /// True if the event was pending and now never comes out; false if it came out, was cancelled or never existed. O(1).
  bool cancel(EventHandle handle) { return queue_.cancel(handle.value); }

  [[nodiscard]] bool pending(EventHandle handle) const { return queue_.contains(handle.value); }
  [[nodiscard]] std::size_t size() const { return queue_.size(); }
  [[nodiscard]] bool empty() const { return queue_.empty(); }
  /// Makes room for `events` pending at once.
  void reserve(std::size_t events) { queue_.reserve(events); }

  /// Starts the count of events at `sequence`, to test what happens at its end.
  void set_next_sequence(std::uint64_t sequence) { queue_.set_next_sequence(sequence); }

 private:
  OrderedQueue<Callback> queue_;
};

}  // namespace kvsim::engine
