// The planned link against the simulated serialised one, transfer by transfer.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "sim/engine/invariant.h"
#include "tests/engine/completions.h"
#include "tests/transport/own_link.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

LinkConfig config(std::int64_t setup, std::int64_t latency) {
  return {.name = "link", .bytes_per_s = 1e9, .latency = {latency}, .setup = {setup}};
}

/// Equal transfers submitted at convex times, or a single one.
struct Group {
  ConvexSequence at;
  Transfer each;
};

std::vector<Group> drawn_groups() {
  std::vector<Group> groups;
  std::int64_t now = 0;
  const auto count = *rc::gen::inRange(1, 8);
  for (int g = 0; g < count; ++g) {
    now += *rc::gen::inRange<std::int64_t>(0, 400);
    ConvexSequence at(*rc::gen::inRange<std::int64_t>(1, 12));
    at.add({now, *rc::gen::inRange<std::int64_t>(0, 120)});
    if (*rc::gen::inRange(0, 2) == 1) {
      at.add({now - *rc::gen::inRange<std::int64_t>(0, 300), *rc::gen::inRange<std::int64_t>(0, 250)});
    }
    const auto bytes = *rc::gen::inRange<std::int64_t>(0, 200);
    groups.push_back({at, {.bytes = bytes, .slowdown = *rc::gen::element(1.0, 1.5, 3.25)}});
    now = at.last();
  }
  return groups;
}

/// Submits each transfer to a simulated link when its time comes.
class Simulated {
 public:
  Simulated(const LinkConfig& c, const std::vector<Group>& groups)
      : done_(simulator), link(make_link(simulator, c, nullptr)) {
    for (const Group& g : groups) {
      for (std::int64_t j = 0; j < g.at.length(); ++j) {
        Transfer t = g.each;
        t.on_complete = done_.record(transfers_.size());
        transfers_.push_back(t);
        simulator.schedule_at({g.at.at(j)}, Callback::to<&Simulated::submit>(this, transfers_.size() - 1));
      }
    }
  }
  [[nodiscard]] std::int64_t arrival(std::size_t i) const { return done_.time_of(i); }

  Simulator simulator;

 private:
  void submit(std::uint64_t i) { link->submit(transfers_[i]); }
  Completions done_;
  std::vector<Transfer> transfers_;

 public:
  std::unique_ptr<OwnLink> link;
};

void expect_equal(const LinkStatistics& planned, const LinkStatistics& simulated) {
  RC_ASSERT(planned.bytes_submitted == simulated.bytes_submitted);
  RC_ASSERT(planned.bytes_delivered == simulated.bytes_delivered);
  RC_ASSERT(planned.transfers_started == simulated.transfers_started);
  RC_ASSERT(planned.transfers_completed == simulated.transfers_completed);
  RC_ASSERT(std::abs(planned.busy_s - simulated.busy_s) < 1e-15);
  RC_ASSERT(std::abs(planned.total_wait_s - simulated.total_wait_s) < 1e-14);
}

RC_GTEST_PROP(PlannedLinkProperty, EveryTransferArrivesWhenTheSimulatedLinkDeliversIt, ()) {
  const LinkConfig c = config(*rc::gen::inRange<std::int64_t>(0, 150), *rc::gen::inRange<std::int64_t>(0, 50));
  const std::vector<Group> groups = drawn_groups();
  Simulated simulated(c, groups);
  Simulator simulator;
  PlannedLink planned(simulator, nullptr, c.lane(), c.bytes_per_s);
  std::vector<std::int64_t> arrivals;
  for (const Group& g : groups) {
    const ConvexSequence a = planned.submit_series(g.at, g.each);
    for (std::int64_t j = 0; j < a.length(); ++j) arrivals.push_back(a.at(j));
  }
  const auto looked_at = *rc::gen::inRange<std::int64_t>(0, 4000);  // somewhere in between
  simulated.simulator.run_until({looked_at});
  simulator.run_until({looked_at});
  expect_equal(planned.statistics(), simulated.link->statistics());
  RC_ASSERT(planned.in_flight_or_queued() == simulated.link->in_flight_or_queued());
  planned.check_conservation();
  simulated.simulator.run();
  simulator.run_until({1'000'000});
  for (std::size_t i = 0; i < arrivals.size(); ++i) RC_ASSERT(arrivals[i] == simulated.arrival(i));
  expect_equal(planned.statistics(), simulated.link->statistics());
  planned.check_conservation();
}

TEST(PlannedLink, TransfersOfTheirOwnCompleteInOrder) {
  Simulator simulator;
  Completions done(simulator);
  PlannedLink link(simulator, nullptr, config(10, 5).lane(), 1e9);
  link.submit({.bytes = 100, .on_complete = done.record(1)});
  link.submit({.bytes = 50, .slowdown = 2, .on_complete = done.record(2)});
  EXPECT_EQ(link.backlog_bytes(), 150);
  simulator.run_until({160});
  EXPECT_EQ(link.backlog_bytes(), 25);  // half of the second one's doubled time is over
  EXPECT_EQ(link.in_flight_or_queued(), 1u);
  simulator.run();
  const std::vector<std::pair<std::uint64_t, std::int64_t>> expected{{1, 115}, {2, 215}};
  EXPECT_EQ(done.log(), expected);
  EXPECT_EQ(link.idle_transfer_time({.bytes = 100}).ns, 115);
  EXPECT_EQ(link.in_flight_or_queued(), 0u);
}

TEST(PlannedLink, ASeriesCompletesOnceWithItsLastTransfer) {
  Simulator simulator;
  Completions done(simulator);
  PlannedLink link(simulator, nullptr, config(0, 0).lane(), 1e9);
  ConvexSequence at(3);
  at.add({100, 50});
  link.submit_series(at, {.bytes = 80, .on_complete = done.record(7)});
  simulator.run();
  const std::vector<std::pair<std::uint64_t, std::int64_t>> expected{{7, 340}};
  EXPECT_EQ(done.log(), expected);
}

TEST(PlannedLink, WhatWasPlannedStays) {
  Simulator simulator;
  PlannedLink link(simulator, nullptr, config(0, 0).lane(), 1e9);
  const TransferId id = link.submit({.bytes = 100});
  EXPECT_THROW(link.cancel(id), InvariantViolation);
  EXPECT_THROW(link.submit({.bytes = -1}), InvariantViolation);
  EXPECT_THROW(link.submit({.bytes = 1, .slowdown = 0.5}), InvariantViolation);
  EXPECT_THROW(PlannedLink(simulator, nullptr, {}, 0), std::invalid_argument);
}

}  // namespace
}  // namespace KVSIM_FILE
