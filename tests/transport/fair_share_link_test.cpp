// 1 GB/s throughout, so one byte takes one ns when alone.
#include <gtest/gtest.h>

#include <memory>

#include "tests/engine/allocation_count.h"
#include "tests/transport/own_link_test.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

class FairShareLink : public OwnLinkTest {
 protected:
  void make(Duration latency = {}, Duration setup = {}, double bytes_per_s = 1e9) {
    link = make_link(simulator,
                     {.name = "nic",
                      .bytes_per_s = bytes_per_s,
                      .latency = latency,
                      .setup = setup,
                      .queueing = Queueing::fair_share},
                     nullptr);
  }
};

using Log = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST_F(FairShareLink, oneTransferHasItAll) {
  make();
  submit(1, 100);
  run();
  EXPECT_EQ(done.time_of(1), 100);
}

TEST_F(FairShareLink, twoTransfersShareEqually) {
  // Both at half: the short one takes 100; then the long one has it all for its other 150: 100 + 150.
  make();
  submit(1, 50);
  submit(2, 200);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 100}, {2, 250}}));
}

TEST_F(FairShareLink, aLateArrivalSlowsTheOthersFromThenOn) {
  // 1 has moved 60 of 100 by 60 ns; its other 40 take 80 ns at half speed: 140. 2 has moved 40 by then and its other
  // 60 take 60: 200.
  make();
  submit(1, 100);
  simulator.run_until({60});
  submit(2, 100);
  EXPECT_EQ(link->backlog_bytes(), 140);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 140}, {2, 200}}));
}

TEST_F(FairShareLink, equalTransfersEndTogetherInOrderOfSubmission) {
  make();
  for (std::uint64_t i = 0; i < 7; ++i) submit(i, 100);
  run();
  for (std::uint64_t i = 0; i < 7; ++i) EXPECT_EQ(done.log().at(i), (std::pair<std::uint64_t, std::int64_t>{i, 700}));
}

TEST_F(FairShareLink, aThirdOfABandwidthCostsNoRoundingNanosecond) {
  // Three share; at 1 us each has 333.33 bytes. A fourth that comes and goes at once changes nothing: 3 x 2000 ns.
  make();
  for (std::uint64_t i = 0; i < 3; ++i) submit(i, 2000);
  simulator.run_until({1000});
  link->cancel(submit(9, 100));
  run();
  EXPECT_EQ(done.time_of(2), 6000);
}

TEST_F(FairShareLink, latencyDelaysTheArrivalAndFreesTheLink) {
  make({30});
  submit(1, 50);
  submit(2, 200);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 130}, {2, 280}}));
  EXPECT_DOUBLE_EQ(link->statistics().busy_s, 250e-9);
}

TEST_F(FairShareLink, setupDelaysTheFirstByteWithoutTakingBandwidth) {
  // 1 starts at 20 and is alone until 2 starts at 60 + 20; by then it has 60 of 100; its other 40 take 80.
  make({}, {20});
  submit(1, 100);
  simulator.run_until({60});
  submit(2, 100);
  run();
  EXPECT_EQ(done.log(), (Log{{1, 160}, {2, 220}}));
}

TEST_F(FairShareLink, aTransferOfNothingCompletesAtOnceEvenOnADeadLink) {
  make();
  submit(1, 100);
  link->set_bandwidth(0);
  submit(2, 0);
  simulator.run();
  EXPECT_EQ(done.log(), (Log{{2, 0}}));
}

TEST_F(FairShareLink, aStalledLinkResumesWhereItStopped) {
  make();
  submit(1, 100);
  submit(2, 100);
  simulator.run_until({100});  // 50 each
  link->set_bandwidth(0);
  simulator.run_until({1000});
  EXPECT_EQ(link->backlog_bytes(), 100);
  link->set_bandwidth(2e9);
  run();
  EXPECT_EQ(done.time_of(1), 1050);  // 100 bytes at 2 GB/s
  EXPECT_EQ(done.time_of(2), 1050);
}

TEST_F(FairShareLink, cancellingATransferGivesItsShareToTheOthers) {
  make();
  submit(1, 100);
  const TransferId second = submit(2, 100);
  simulator.run_until({100});  // 50 each
  EXPECT_TRUE(link->cancel(second));
  EXPECT_FALSE(link->cancel(second));
  run();
  EXPECT_EQ(done.log(), (Log{{1, 150}}));
  EXPECT_EQ(link->statistics().bytes_cancelled, 100);
  EXPECT_EQ(link->statistics().bytes_delivered, 100);
}

TEST_F(FairShareLink, aCallbackMayCancelATransferThatEndsAtTheSameMoment) {
  make();
  struct Canceller {
    Link* link;
    TransferId victim;
    void cancel() { EXPECT_TRUE(link->cancel(victim)); }
  } canceller{link.get(), {}};
  link->submit({.bytes = 100, .on_complete = Callback::to<&Canceller::cancel>(&canceller)});
  canceller.victim = submit(2, 100);
  run();
  EXPECT_TRUE(done.log().empty());
  EXPECT_EQ(link->statistics().bytes_cancelled, 100);
}

TEST_F(FairShareLink, nothingIsRoundedOverPetabytesWithoutAnIdleMoment) {
  // Two transfers at a time, half a transfer apart, so the link is never idle.
  make({}, {}, 1e12);
  struct Relay {
    Link* link;
    int left;
    void next() {
      if (left-- > 0) link->submit({.bytes = 32'000'000'000'000, .on_complete = Callback::to<&Relay::next>(this)});
    }
  } relay{link.get(), 1000};
  link->submit({.bytes = 16'000'000'000'000, .on_complete = Callback::to<&Relay::next>(&relay)});
  relay.next();
  run();
  // 16 TB + 1000 x 32 TB at 1 TB/s, work conserving.
  EXPECT_EQ(simulator.now().ns, 32'016'000'000'000);
  EXPECT_DOUBLE_EQ(link->statistics().busy_s, 32'016);
}

TEST_F(FairShareLink, theSteadyStateDoesNotAllocate) {
  make();
  const auto round = [&] {
    for (int i = 1; i <= 100; ++i) link->submit({.bytes = 10 * i});
    simulator.run();
  };
  round();
  const std::size_t before = allocation_count();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace KVSIM_FILE
