// The clock and the pending events. Events at equal times run in the order in which they were scheduled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "sim/engine/callback.h"
#include "sim/engine/event_queue.h"
#include "sim/engine/invariant.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

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

  /// Runs the next event; false when none is pending.
  bool step();

  /// Runs events until none is pending or stop() was called from within one. An exception leaves an event through
  /// here; the events behind it stay pending.
  void run();

  /// Runs every event at or before `end` (>= now()), then sets the clock to `end` (unless stopped earlier).
  void run_until(SimTime end);

  /// Ends run() or run_until() after the event now running.
  void stop() { stopped_ = true; }

  /// True if stop() ended the last run() or run_until().
  [[nodiscard]] bool stopped() const { return stopped_; }
  [[nodiscard]] std::size_t pending() const { return queue_.size(); }
  /// The time of the next event; throws InvariantViolation when none is pending.
  [[nodiscard]] SimTime next_time() { return queue_.top_time(); }
  [[nodiscard]] std::uint64_t events_executed() const { return executed_; }

 private:
  EventQueue queue_;
  SimTime now_;
  std::uint64_t executed_ = 0;
  bool stopped_ = false;
};

inline EventHandle Simulator::schedule_at(SimTime at, Callback callback) {
  KVSIM_ALWAYS(at >= now_, "an event must not lie in the past");
  KVSIM_DEBUG(static_cast<bool>(callback), "an event must do something");
  return queue_.push(at, callback);
}

inline bool Simulator::step() {
  if (queue_.empty()) return false;
  const EventQueue::Event event = queue_.pop();
  now_ = event.time;
  ++executed_;
  event.callback();
  return true;
}

}  // namespace kvsim::engine
