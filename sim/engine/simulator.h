// The clock and the pending events. Events at equal times run in the order in which they were scheduled.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "sim/engine/invariant.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

// Action of an event: a plain function, an object and one word. Trivially copyable and never allocating, because the
// event hot path may do neither.

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

// The pending events in order of (time, scheduling). See ordered_queue.h for the mechanism and its costs.

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

  /// After pop(): asks for the memory of the object of the event that will probably be next, whose turn comes when this
  /// one has run. Of thousands of objects that take turns, each has left the nearest caches until then. (Always
  /// inlined: g++ takes a function that only prefetches for one without effect, and leaves out its call.)
  [[gnu::always_inline]] void prefetch_next() const {
    const Callback* next = queue_.likely_next();
    if (next == nullptr || next->object == nullptr) return;
    const auto* object = static_cast<const char*>(next->object);
    for (std::size_t i = 0; i < kPrefetched; i += kCacheLine) __builtin_prefetch(object + i);
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
  static constexpr std::size_t kCacheLine = 64, kPrefetched = 8 * kCacheLine;  // bytes

  OrderedQueue<Callback> queue_;
};

class Simulator {
 public:
  /// The time of the event now running (or of the last one).
  [[nodiscard]] SimTime now() const { return now_; }

  /// Schedules `callback` at `at`, which must not lie before now() (asserted in every build: a simulator that goes
  /// backwards prints wrong numbers). The handle stays valid until the event has run or was cancelled.
  EventHandle schedule_at(SimTime at, Callback callback);
  EventHandle schedule_in(Duration delay, Callback callback) { return schedule_at(now_ + delay, callback); }

  /// True if the event was pending and now never runs; false if it has run, was cancelled or never existed.
  bool cancel(EventHandle handle) { return queue_.cancel(handle); }

  [[nodiscard]] bool pending(EventHandle handle) const { return queue_.pending(handle); }

  /// Makes room for `events` pending at once, so that none of them allocates.
  void reserve(std::size_t events) { queue_.reserve(events); }

  /// Runs the next event; false when none is pending. The event may advance() the clock up to `horizon`.
  bool step(SimTime horizon = kEndOfTime);

  /// Runs events until none is pending or stop() was called from within one. An exception leaves an event through
  /// here; the events behind it stay pending.
  void run();

  /// Runs every event at or before `end` (>= now()), then sets the clock to `end` (unless stopped earlier).
  void run_until(SimTime end);

  // An event whose own next one would be the next of all may go on at once instead of scheduling it.

  /// From within an event: nothing else happens, and nobody looks, before this time. It holds until something is
  /// scheduled.
  [[nodiscard]] SimTime free_before() {
    if (stopped_) return now_;
    const SimTime looked{horizon_.ns < kEndOfTime.ns ? horizon_.ns + 1 : horizon_.ns};
    return queue_.empty() ? looked : std::min(looked, queue_.top_time());
  }
  /// From within an event: what was to happen at `at` happens now. Precondition: now() <= at < free_before().
  void advance(SimTime at) {
    KVSIM_DEBUG(at >= now_ && at < free_before(), "the clock must not pass an event");
    now_ = at;
    ++executed_;
  }

  /// Ends run() or run_until() after the event now running.
  void stop() { stopped_ = true; }

  /// True if stop() ended the last run() or run_until().
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }
  /// The time of the next event; throws InvariantViolation when none is pending.
  [[nodiscard]] SimTime next_time() { return queue_.top_time(); }
  /// Events that have run, and those that happened at once within another.
  [[nodiscard]] std::uint64_t events_executed() const { return executed_; }

 private:
  static constexpr SimTime kEndOfTime{std::numeric_limits<std::int64_t>::max()};

  EventQueue queue_;
  SimTime now_;
  SimTime horizon_ = kEndOfTime;
  std::uint64_t executed_ = 0;
  bool stopped_ = false;
};

inline EventHandle Simulator::schedule_at(SimTime at, Callback callback) {
  KVSIM_ALWAYS(at >= now_, "an event must not lie in the past");
  KVSIM_DEBUG(static_cast<bool>(callback), "an event must do something");
  return queue_.push(at, callback);
}

inline bool Simulator::step(SimTime horizon) {
  if (queue_.empty()) return false;
  horizon_ = horizon;
  const EventQueue::Event event = queue_.pop();
  queue_.prefetch_next();
  now_ = event.time;
  ++executed_;
  event.callback();
  return true;
}

inline void Simulator::run() {
  stopped_ = false;
  while (!stopped_ && step()) {
  }
}

inline void Simulator::run_until(SimTime end) {
  KVSIM_ALWAYS(end >= now_, "the end of a run must not lie in the past");
  stopped_ = false;
  while (!stopped_ && !queue_.empty() && queue_.top_time() <= end) step(end);
  if (!stopped_) now_ = end;
}

}  // namespace kvsim::engine
