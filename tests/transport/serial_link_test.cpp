// Lanes that carry one transfer at a time. 1 GB/s throughout, so one byte takes one ns.
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <stdexcept>

#include "sim/engine/invariant.h"
#include "tests/engine/allocation_count.h"
#include "tests/transport/own_link_test.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

LinkConfig config(Queueing discipline = Queueing::serialised) {
  return {.name = "pcie", .bytes_per_s = 1e9, .latency = {}, .setup = {}, .queueing = discipline};
}

class SerialLink : public OwnLinkTest {
 protected:
  void make(const LinkConfig& c) { link = make_link(simulator, c, nullptr); }
  void set_bandwidth_at(std::int64_t ns, double bytes_per_s) {
    simulator.run_until({ns});
    link->set_bandwidth(bytes_per_s);
  }
};

using Log = std::vector<std::pair<std::uint64_t, std::int64_t>>;

// Two lanes over links of their own: both carry something until 100 ns, one until 150 ns, cancelled ones not.
TEST(LanesThatShareACount, KnowHowManyCarrySomething) {
  Simulator simulator;
  Network network(simulator);
  std::size_t carrying = 0;
  const auto lane = [&] {
    LaneConfig c = config().lane({network.add_link("pcie", 1e9)});
    c.carrying = &carrying;
    return Lane(simulator, network, nullptr, c);
  };
  Lane first = lane(), second = lane();
  static_cast<void>(first.submit({.bytes = 100}));
  static_cast<void>(second.submit({.bytes = 100}));
  static_cast<void>(second.submit({.bytes = 50}));
  EXPECT_EQ(carrying, 2U);
  simulator.run_until({120});
  EXPECT_EQ(carrying, 1U);
  simulator.run_until({200});
  EXPECT_EQ(carrying, 0U);
  first.cancel(first.submit({.bytes = 10}));
  EXPECT_EQ(carrying, 0U);
}

TEST_F(SerialLink, transfersGoOneAfterTheOther) {
  make(config());
  submit(1, 100);
  submit(2, 50);
  EXPECT_TRUE(done.log().empty());  // never within the call
  run();
  EXPECT_EQ(done.log(), (Log{{1, 100}, {2, 150}}));
}

TEST_F(SerialLink, setupOverlapsTheTransferBeforeAndLatencyDoesNotOccupy) {
  // The first occupies 10 + 100, the second 100, set up meanwhile; each arrives 30 after its last byte left.
  LinkConfig c = config();
  c.setup = {10};
  c.latency = {30};
  make(c);
  submit(1, 100);
  submit(2, 100);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 140}, {2, 240}}));
  EXPECT_DOUBLE_EQ(link->statistics().busy_s, 210e-9);
}

TEST_F(SerialLink, smallTransfersFollowEachOtherAtTheRateOfSettingUp) {
  LinkConfig c = config();
  c.setup = {50};
  make(c);
  for (std::uint64_t i = 1; i <= 4; ++i) submit(i, 10);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 60}, {2, 110}, {3, 160}, {4, 210}}));
}

TEST_F(SerialLink, aTransferSubmittedLaterIsSetUpFromThenOn) {
  LinkConfig c = config();
  c.setup = {50};
  make(c);
  submit(1, 100);  // moves from 50 to 150
  simulator.run_until({140});
  submit(2, 10);  // set up until 190
  run();
  EXPECT_EQ(done.log(), (Log{{1, 150}, {2, 200}}));
}

TEST_F(SerialLink, completionsAreRoundedUpToWholeNanoseconds) {
  LinkConfig c = config();
  c.bytes_per_s = 3e9;
  make(c);
  submit(1, 100);  // 33.3 ns
  submit(2, 3);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 34}, {2, 35}}));
}

TEST_F(SerialLink, aTransferOfNothingCompletesInItsTurn) {
  make(config());
  submit(1, 100);
  submit(2, 0);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 100}, {2, 100}}));
}

TEST_F(SerialLink, aChangeOfBandwidthCountsFromThatMomentOn) {
  // 40 bytes by 40 ns, the other 60 at 2 GB/s: 70 ns.
  make(config());
  submit(1, 100);
  set_bandwidth_at(40, 2e9);
  EXPECT_EQ(link->backlog_bytes(), 60);
  run();
  EXPECT_EQ(done.time_of(1), 70);
}

TEST_F(SerialLink, aStalledTransferKeepsWhatItHadMoved) {
  make(config());
  submit(1, 100);
  set_bandwidth_at(40, 0);
  simulator.run();
  EXPECT_EQ(done.time_of(1), -1);
  EXPECT_EQ(link->backlog_bytes(), 60);
  simulator.run_until({1040});
  link->set_bandwidth(1e9);
  run();
  EXPECT_EQ(done.time_of(1), 1100);
  EXPECT_DOUBLE_EQ(link->statistics().busy_s, 1100e-9);  // occupied while stalled
}

TEST_F(SerialLink, manyChangesToTheSameBandwidthDoNotDelayATransfer) {
  make(config());
  submit(1, 1000);
  for (std::int64_t t = 7; t < 1000; t += 7) set_bandwidth_at(t, 1e9);
  run();
  EXPECT_EQ(done.time_of(1), 1000);
}

TEST_F(SerialLink, aChangeDuringSetupMovesNoBytes) {
  LinkConfig c = config();
  c.setup = {50};
  make(c);
  submit(1, 100);
  set_bandwidth_at(20, 2e9);
  run();
  EXPECT_EQ(done.time_of(1), 100);
}

TEST_F(SerialLink, cancellingTheTransferUnderWayLetsTheNextStart) {
  make(config());
  const TransferId first = submit(1, 100);
  submit(2, 100);
  simulator.run_until({40});
  EXPECT_TRUE(link->cancel(first));
  EXPECT_FALSE(link->cancel(first));
  run();
  EXPECT_EQ(done.log(), (Log{{2, 140}}));
  EXPECT_EQ(link->statistics().bytes_cancelled, 100);
}

TEST_F(SerialLink, aTransferCanBeCancelledWaitingOrArriving) {
  LinkConfig c = config();
  c.latency = {1000};
  make(c);
  const TransferId arriving = submit(1, 100);
  submit(2, 100);
  const TransferId waiting = submit(3, 100);
  simulator.run_until({150});
  EXPECT_EQ(link->in_flight_or_queued(), 3U);
  EXPECT_TRUE(link->cancel(arriving));
  EXPECT_TRUE(link->cancel(waiting));
  run();
  EXPECT_EQ(done.log(), (Log{{2, 1200}}));
  EXPECT_EQ(link->backlog_bytes(), 0);
}

TEST_F(SerialLink, waitingIsCountedFromSubmissionToStart) {
  // Waits of 0, 100 and 150 ns.
  make(config());
  submit(1, 100);
  submit(2, 50);
  submit(3, 10);
  run();
  const LinkStatistics statistics = link->statistics();
  EXPECT_DOUBLE_EQ(statistics.total_wait_s, 250e-9);
  EXPECT_EQ(statistics.transfers_started, 3U);
  EXPECT_EQ(statistics.transfers_completed, 3U);
  EXPECT_EQ(statistics.bytes_delivered, 160);
}

TEST_F(SerialLink, higherPriorityOvertakesTheQueueButNotTheTransferUnderWay) {
  make(config());
  submit(1, 100, 0);
  submit(2, 100, 0);
  submit(3, 100, 5);
  submit(4, 100, 5);
  submit(5, 100, -1);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 100}, {3, 200}, {4, 300}, {2, 400}, {5, 500}}));
}

TEST_F(SerialLink, theSteadyStateDoesNotAllocate) {
  make(config());
  const Transfer transfer{.bytes = 10, .on_complete = {[](void*, std::uint64_t) {}, nullptr, 0}};
  const auto round = [&] {
    for (int i = 0; i < 100; ++i) link->submit(transfer);
    simulator.run();
  };
  round();
  const std::size_t before = allocation_count();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(allocation_count(), before);
}

TEST(Link, anImpossibleConfigurationIsRefused) {
  Simulator simulator;
  const auto refused = [&](LinkConfig c) { EXPECT_THROW(make_link(simulator, c, nullptr), std::invalid_argument); };
  for (const double bandwidth : {0.0, -1.0, std::nan(""), HUGE_VAL}) {
    LinkConfig c = config();
    c.bytes_per_s = bandwidth;
    refused(c);
  }
  LinkConfig c = config();
  c.latency = {-1};
  refused(c);
  c = config();
  c.setup = {-1};
  refused(c);
}

TEST(Link, aNegativeTransferOrBandwidthIsRefused) {
  Simulator simulator;
  for (const auto discipline : {Queueing::serialised, Queueing::fair_share}) {
    const auto link = make_link(simulator, config(discipline), nullptr);
    EXPECT_THROW(link->submit({.bytes = -1}), InvariantViolation);
    EXPECT_THROW(link->set_bandwidth(-1), std::invalid_argument);
    EXPECT_FALSE(link->cancel({}));
    link->check_conservation();
  }
}

}  // namespace
}  // namespace KVSIM_FILE
