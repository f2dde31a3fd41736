#include "sim/transport/network.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "sim/engine/invariant.h"
#include "tests/engine/completions.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

class NetworkTest : public ::testing::Test {
 protected:
  LinkId add(double bytes_per_s) { return network.add_link("l", bytes_per_s); }
  FlowId submit(std::uint64_t number, std::vector<LinkId> route, std::int64_t bytes) {
    return network.submit(route, {.bytes = bytes, .on_complete = done.record(number)});
  }
  void run() {
    simulator.run();
    network.check_conservation();
  }

  Simulator simulator;
  Completions done{simulator};
  Network network{simulator};
};

using Log = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST_F(NetworkTest, aRouteIsAsFastAsItsSlowestLink) {
  submit(1, {add(2e9), add(1e9), add(4e9)}, 100);  // at min(2, 1, 4) bytes/ns
  run();
  EXPECT_EQ(done.time_of(1), 100);
}

TEST_F(NetworkTest, setupOccupiesAndTakesNoBandwidth) {
  // Alone until the other one's setup is over at 60, by when it has moved 60 of 100; its other 40 take 80.
  const auto link = add(1e9);
  submit(1, {link}, 100);
  network.submit(std::vector{link}, {.bytes = 100, .on_complete = done.record(2)}, {60});
  EXPECT_EQ(network.in_flight(link), 2U);
  simulator.run_until({30});
  EXPECT_DOUBLE_EQ(network.rate({}), 0);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 140}, {2, 200}}));
  EXPECT_DOUBLE_EQ(network.statistics(link).busy_s, 200e-9);
}

TEST_F(NetworkTest, whoWatchesALinkHearsWhenSomethingCrossesItAndWhenNothingDoes) {
  struct Watch {
    Simulator& simulator;
    std::vector<std::int64_t> heard{};
    void on_change() { heard.push_back(simulator.now().ns); }
  } watch{simulator};
  const auto link = add(1e9);
  network.watch(link, Callback::to<&Watch::on_change>(&watch));
  submit(1, {link}, 100);
  submit(2, {link, add(5e9)}, 100);
  run();
  const FlowId withdrawn = submit(3, {link}, 100);
  network.cancel(withdrawn);
  EXPECT_EQ(watch.heard, (std::vector<std::int64_t>{0, 200, 200, 200}));
}

TEST_F(NetworkTest, aFlowIsCancelledWhileItIsSetUp) {
  const auto link = add(1e9);
  const FlowId flow = network.submit(std::vector{link}, {.bytes = 100}, {60});
  simulator.run_until({30});
  EXPECT_TRUE(network.cancel(flow));
  run();
  EXPECT_EQ(simulator.now().ns, 30);
  EXPECT_DOUBLE_EQ(network.statistics(link).busy_s, 30e-9);
}

TEST_F(NetworkTest, slowedDownBytesAreWorkForMore) {
  const auto link = add(1e9);
  const FlowId flow = network.submit(std::vector{link}, {.bytes = 100, .slowdown = 2.5, .on_complete = done.record(1)});
  simulator.run_until({50});
  EXPECT_DOUBLE_EQ(network.remaining(flow), 200);
  run();
  EXPECT_EQ(done.time_of(1), 250);
  EXPECT_EQ(network.statistics(link).bytes_delivered, 100);
}

TEST_F(NetworkTest, twoFlowsWithABottleneckOfTheirOwn) {
  // Shared link 10; flow 1 also crosses a link of 2. Max-min: flow 1 gets 2, flow 2 the other 8 (not 5 each).
  const auto shared = add(10e9);
  const auto narrow = add(2e9);
  const FlowId first = submit(1, {shared, narrow}, 2000);
  const FlowId second = submit(2, {shared}, 8000);
  EXPECT_DOUBLE_EQ(network.rate(first), 2e9);
  EXPECT_DOUBLE_EQ(network.rate(second), 8e9);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 1000}, {2, 1000}}));
}

TEST_F(NetworkTest, threeFlowsOnALineOfTwoLinks) {
  // Flow 1 crosses both links (6 and 10), flow 2 the first, flow 3 the second. The first link's share 6/2 = 3 is the
  // smallest: flows 1 and 2 get 3, flow 3 the other 7.
  const auto a = add(6e9);
  const auto b = add(10e9);
  const FlowId first = submit(1, {a, b}, 3000);
  const FlowId second = submit(2, {a}, 6000);
  const FlowId third = submit(3, {b}, 7000);
  EXPECT_DOUBLE_EQ(network.rate(first), 3e9);
  EXPECT_DOUBLE_EQ(network.rate(second), 3e9);
  EXPECT_DOUBLE_EQ(network.rate(third), 7e9);
  // At 1000 ns flows 1 and 3 end; flow 2 has 3000 left and all 6: 500 ns more.
  run();
  EXPECT_EQ(done.log(), (Log{{1, 1000}, {3, 1000}, {2, 1500}}));
}

TEST_F(NetworkTest, disjointFlowsDoNotSeeEachOther) {
  submit(1, {add(1e9)}, 100);
  submit(2, {add(2e9)}, 100);
  run();
  EXPECT_EQ(done.log(), (Log{{2, 50}, {1, 100}}));
}

TEST_F(NetworkTest, aThousandFlowsThatStartTogetherCostOneRecomputation) {
  const auto link = add(1e9);
  for (std::uint64_t i = 0; i < 1000; ++i) submit(i, {link}, 10);
  run();
  EXPECT_EQ(done.log().size(), 1000U);
  EXPECT_EQ(done.log().back().second, 10'000);
  EXPECT_LT(simulator.events_executed(), 1010U);
}

TEST_F(NetworkTest, aChangeOfBandwidthCountsFromThatMomentOn) {
  const auto link = add(1e9);
  submit(1, {link}, 100);
  simulator.run_until({40});
  network.set_bandwidth(link, 0);
  simulator.run_until({140});
  network.set_bandwidth(link, 2e9);
  run();
  EXPECT_EQ(done.time_of(1), 170);  // 60 left at 2 bytes/ns
}

TEST_F(NetworkTest, cancellingAFlowGivesItsShareToTheOthers) {
  const auto link = add(1e9);
  submit(1, {link}, 100);
  const FlowId second = submit(2, {link}, 100);
  simulator.run_until({100});
  EXPECT_TRUE(network.cancel(second));
  EXPECT_FALSE(network.cancel(second));
  run();
  EXPECT_EQ(done.log(), (Log{{1, 150}}));
  EXPECT_EQ(network.statistics(link).bytes_cancelled, 100);
}

TEST_F(NetworkTest, nothingToMoveOrNowhereToGoCompletesAtOnce) {
  const auto link = add(1e9);
  network.set_bandwidth(link, 0);
  submit(1, {link}, 0);
  submit(2, {}, 100);
  EXPECT_TRUE(done.log().empty());
  run();
  EXPECT_EQ(done.log(), (Log{{1, 0}, {2, 0}}));
}

TEST_F(NetworkTest, everyLinkOfARouteCountsTheTransfer) {
  const auto a = add(1e9);
  const auto b = add(2e9);
  submit(1, {a, b}, 100);
  submit(2, {b}, 300);
  run();
  EXPECT_EQ(network.statistics(a).bytes_delivered, 100);
  EXPECT_EQ(network.statistics(b).bytes_delivered, 400);
  EXPECT_EQ(network.statistics(b).transfers_completed, 2U);
  // Both at 1 byte/ns until 100 (flow 1 is held to a's 1, flow 2 has the rest); then 200 left at 2: busy until 200.
  EXPECT_DOUBLE_EQ(network.statistics(b).busy_s, 200e-9);
  EXPECT_DOUBLE_EQ(network.statistics(a).busy_s, 100e-9);
}

TEST_F(NetworkTest, impossibleLinksAndRoutesAreRefused) {
  EXPECT_THROW(add(0), std::invalid_argument);
  const auto link = add(1e9);
  EXPECT_THROW(submit(1, {link, link}, 1), std::invalid_argument);
  EXPECT_THROW(submit(1, {LinkId{7}}, 1), std::invalid_argument);
  EXPECT_THROW(submit(1, {link}, -1), InvariantViolation);
  EXPECT_EQ(network.in_flight(), 0U);
}

}  // namespace
}  // namespace KVSIM_FILE
