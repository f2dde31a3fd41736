#include "sim/engine/simulator.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "sim/engine/invariant.h"
#include "tests/engine/allocation_count.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

class Clockwork {
 public:
  void note(std::uint64_t number) { seen.push_back(number); }
  void stop() { simulator.stop(); }
  void repeat(std::uint64_t times) {
    if (times > 0) simulator.schedule_in({10}, Callback::to<&Clockwork::repeat>(this, times - 1));
  }
  static void fail() { throw std::runtime_error("from an event"); }
  void go_back() { simulator.schedule_at({simulator.now().ns - 1}, at(0)); }

  Callback at(std::uint64_t number) { return Callback::to<&Clockwork::note>(this, number); }

  Simulator simulator;
  std::vector<std::uint64_t> seen;
};

TEST(Simulator, eventsRunInOrderAndMoveTheClock) {
  Clockwork c;
  c.simulator.schedule_at({20}, c.at(2));
  c.simulator.schedule_at({10}, c.at(1));
  c.simulator.schedule_at({20}, c.at(3));
  c.simulator.run();
  EXPECT_EQ(c.seen, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(c.simulator.now().ns, 20);
  EXPECT_EQ(c.simulator.events_executed(), 3U);
}

TEST(Simulator, runUntilIncludesItsEndAndSetsTheClockThere) {
  Clockwork c;
  for (const std::int64_t t : {10, 20, 21}) c.simulator.schedule_at({t}, c.at(static_cast<std::uint64_t>(t)));
  c.simulator.run_until({20});
  EXPECT_EQ(c.seen, (std::vector<std::uint64_t>{10, 20}));
  EXPECT_EQ(c.simulator.now().ns, 20);
  c.simulator.run_until({100});
  EXPECT_EQ(c.simulator.now().ns, 100);
}

/// Goes on by itself as far as nothing else happens, `every` at a time; then its next one is an event.
class Stretching {
 public:
  void go_on() {
    while (simulator.now() + Duration{every} < simulator.free_before()) {
      simulator.advance(simulator.now() + Duration{every});
      at.push_back(simulator.now().ns);
    }
  }

  Simulator simulator;
  std::int64_t every = 10;
  std::vector<std::int64_t> at;
};

TEST(Simulator, anEventMayGoOnUpToTheNextOneAndToWhereSomebodyLooks) {
  Stretching s;
  s.simulator.schedule_at({5}, Callback::to<&Stretching::go_on>(&s));
  s.simulator.schedule_at({35}, Callback::to<&Stretching::go_on>(&s));
  s.simulator.run_until({65});
  // Not at 35, where the other one comes first; at 65 itself, for a run includes its end.
  EXPECT_EQ(s.at, (std::vector<std::int64_t>{15, 25, 45, 55, 65}));
  EXPECT_EQ(s.simulator.now().ns, 65);
  EXPECT_EQ(s.simulator.events_executed(), 7U);
}

TEST(Simulator, afterItWasStoppedAnEventDoesNotGoOn) {
  Stretching s;
  s.simulator.schedule_at({5}, Callback::to<&Stretching::go_on>(&s));
  s.simulator.step({5});
  EXPECT_TRUE(s.at.empty());  // nobody looks beyond 5
  s.simulator.stop();
  EXPECT_EQ(s.simulator.free_before(), s.simulator.now());
}

TEST(Simulator, stopEndsTheRunAfterTheEventUnderWayAndItCanResume) {
  Clockwork c;
  c.simulator.schedule_at({1}, Callback::to<&Clockwork::stop>(&c));
  c.simulator.schedule_at({1}, c.at(1));
  c.simulator.run_until({50});
  EXPECT_TRUE(c.simulator.stopped());
  EXPECT_EQ(c.simulator.now().ns, 1);
  EXPECT_TRUE(c.seen.empty());
  c.simulator.run();
  EXPECT_FALSE(c.simulator.stopped());
  EXPECT_EQ(c.seen, (std::vector<std::uint64_t>{1}));
}

TEST(Simulator, anEventInThePastEndsTheRunWithAnError) {
  Clockwork c;
  c.simulator.schedule_at({5}, Callback::to<&Clockwork::go_back>(&c));
  EXPECT_THROW(c.simulator.run(), InvariantViolation);
  EXPECT_THROW(c.simulator.run_until({4}), InvariantViolation);
}

TEST(Simulator, anExceptionFromAnEventLeavesTheRestPending) {
  Clockwork c;
  c.simulator.schedule_at({1}, {[](void*, std::uint64_t) { Clockwork::fail(); }, nullptr, 0});
  c.simulator.schedule_at({2}, c.at(2));
  EXPECT_THROW(c.simulator.run(), std::runtime_error);
  EXPECT_EQ(c.simulator.pending(), 1U);
  c.simulator.run();
  EXPECT_EQ(c.seen, (std::vector<std::uint64_t>{2}));
}

TEST(Simulator, aCancelledEventDoesNotRunAndARunOneCannotBeCancelled) {
  Clockwork c;
  const EventHandle first = c.simulator.schedule_in({1}, c.at(1));
  const EventHandle second = c.simulator.schedule_in({2}, c.at(2));
  EXPECT_TRUE(c.simulator.cancel(first));
  c.simulator.run();
  EXPECT_FALSE(c.simulator.cancel(second));
  EXPECT_EQ(c.seen, (std::vector<std::uint64_t>{2}));
}

TEST(Simulator, runningEventsDoesNotAllocate) {
  Clockwork c;
  for (int i = 0; i < 10; ++i) c.repeat(100);
  c.simulator.run();
  for (int i = 0; i < 10; ++i) c.repeat(10'000);
  const std::size_t before = allocation_count();
  c.simulator.run();
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace KVSIM_FILE
