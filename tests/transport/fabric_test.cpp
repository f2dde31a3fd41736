// Links by kind and owner, lanes over them, and what is measured of them. 1 byte takes 1 ns at 1 GB/s.
#include "sim/transport/fabric.h"

#include <gtest/gtest.h>

#include "tests/engine/completions.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;
using namespace kvsim::transport;

namespace {

class FabricTest : public ::testing::Test {
 protected:
  LinkId link(const std::string& kind, const std::string& owner) { return fabric.link(kind, owner, 1e9); }
  Lane& lane(std::vector<LinkId> route, Duration setup = {}) {
    return fabric.add_lane({"links", "lane", std::move(route), {}, setup});
  }

  Simulator simulator;
  Completions done{simulator};
  Fabric fabric{simulator, nullptr};
};

using Log = std::vector<std::pair<std::uint64_t, std::int64_t>>;

TEST_F(FabricTest, AnOwnerHasOneLinkOfAKind) {
  const LinkId first = link("host_to_gpu", "replica 0");
  EXPECT_EQ(link("host_to_gpu", "replica 0").index, first.index);
  EXPECT_NE(link("host_to_gpu", "replica 1").index, first.index);
  EXPECT_NE(link("gpu_to_host", "replica 0").index, first.index);
}

TEST_F(FabricTest, LanesOverOneLinkShareItAndEachCarriesOneAtATime) {
  const LinkId shared = link("read", "ssd");
  Lane& a = lane({shared});
  Lane& b = lane({shared});
  a.submit({.bytes = 100, .on_complete = done.record(1)});
  a.submit({.bytes = 100, .on_complete = done.record(2)});
  b.submit({.bytes = 100, .on_complete = done.record(3)});
  simulator.run();
  // Both at half until 200; then the second of lane a has it all.
  EXPECT_EQ(done.log(), (Log{{1, 200}, {3, 200}, {2, 300}}));
  fabric.check_conservation();
}

TEST_F(FabricTest, SetupRunsWhileTheOneBeforeMovesAndTakesNoBandwidthFromOtherLanes) {
  const LinkId shared = link("read", "ssd");
  Lane& a = lane({shared}, {40});
  Lane& b = lane({shared});
  a.submit({.bytes = 100, .on_complete = done.record(1)});  // moves from 40 on
  a.submit({.bytes = 100, .on_complete = done.record(2)});  // set up from 40 to 80, then waits for it
  b.submit({.bytes = 60, .on_complete = done.record(3)});   // alone until 40: 40 of 60; the other 20 take 40
  simulator.run();
  EXPECT_EQ(done.log(), (Log{{3, 80}, {1, 160}, {2, 260}}));
}

TEST_F(FabricTest, BothWaysOfAHostLinkShareWhatTheyReachTogether) {
  // 1 and 1 GB/s, 1.5 together: 0.75 each until the second way's 75 bytes are over at 100; 25 of the first's take 25.
  const GroupLanes lanes = fabric.add_host_lanes("g", {1e9, 1e9, {}, {}, Queueing::serialised, 1.5e9});
  lanes.to_gpu->submit({.bytes = 100, .on_complete = done.record(1)});
  lanes.from_gpu->submit({.bytes = 75, .on_complete = done.record(2)});
  simulator.run();
  EXPECT_EQ(done.log(), (Log{{2, 100}, {1, 125}}));
  const auto totals = fabric.totals();
  EXPECT_EQ(totals.size(), 2U) << "what they share is no link of its own";
  EXPECT_EQ(totals.at("host_to_gpu").bytes, 100);
}

TEST_F(FabricTest, ASlowedLinkKeepsItsOutages) {
  const LinkId slowed = link("read", "ssd");
  Lane& a = lane({slowed});
  fabric.plan_outages({slowed}, {{100e-9, 100e-9, 0.5}});
  a.submit({.bytes = 100, .on_complete = done.record(1)});
  fabric.slow(slowed, 2);  // 50 until 100, 25 in the outage; half of the rest's time is slowed
  simulator.run_until({250});
  fabric.slow(slowed, 1);
  simulator.run();
  // 50 + 25 + 25 at 250.
  EXPECT_EQ(done.log(), (Log{{1, 250}}));
}

TEST_F(FabricTest, TotalsAreByKindAndMeasuredFromTheEndOfTheWarmUp) {
  const LinkId own = link("ssd_read", "ssd"), shared = link("host_to_gpu", "replica 0"), unnamed = link("", "switch");
  Lane& way = lane({own, unnamed, shared});
  link("host_to_gpu", "replica 1");
  way.submit({.bytes = 100});
  simulator.run();
  fabric.start_measuring();
  way.submit({.bytes = 30});
  way.submit({.bytes = 10});
  simulator.run();
  const auto measured = fabric.measured();
  EXPECT_EQ(measured.size(), 2U);  // a link of no kind is in no totals
  EXPECT_EQ(measured.at("ssd_read").bytes, 40);
  EXPECT_EQ(measured.at("ssd_read").transfers, 2U);  // of a lane: on its first link
  EXPECT_DOUBLE_EQ(measured.at("ssd_read").wait_s, 30e-9);
  EXPECT_EQ(measured.at("host_to_gpu").links, 2);
  EXPECT_EQ(measured.at("host_to_gpu").bytes, 40);
  EXPECT_EQ(measured.at("host_to_gpu").transfers, 0U);
  EXPECT_DOUBLE_EQ(measured.at("host_to_gpu").busy_s, 40e-9);
  EXPECT_EQ(fabric.totals().at("ssd_read").bytes, 140);
}

TEST_F(FabricTest, BytesCountWhenTheyHaveArrived) {
  Lane& late = fabric.add_lane({"links", "lane", {link("read", "ssd")}, {50}});
  late.submit({.bytes = 100});
  simulator.run_until({120});
  EXPECT_EQ(fabric.totals().at("read").bytes, 0);
  simulator.run();
  EXPECT_EQ(fabric.totals().at("read").bytes, 100);
}

TEST_F(FabricTest, AnOutageEndsBeforeTheNextOneBegins) {
  const LinkId one = link("read", "ssd");
  struct Seen {
    const Fabric* fabric;
    LinkId link;
    std::vector<double> bandwidths;
    void changed() { bandwidths.push_back(fabric->network().bandwidth(link)); }
  } seen{&fabric, one, {}};
  fabric.plan_outages({one}, {{2, 1, 0}, {1, 1, 0.5}}, Callback::to<&Seen::changed>(&seen));
  Lane& way = lane({one});
  way.submit({.bytes = 2'000'000'000, .on_complete = done.record(1)});
  simulator.run();
  EXPECT_EQ(seen.bandwidths, (std::vector<double>{5e8, 1e9, 0, 1e9}));
  EXPECT_EQ(done.time_of(1), 3'500'000'000);  // 1 GB by 1 s, half a GB by 2 s, nothing until 3 s
  EXPECT_DOUBLE_EQ(way.bandwidth(), 1e9);
}

TEST_F(FabricTest, WhatMayWaitGoesLastAndIsNotUrgent) {
  Lane& way = lane({link("read", "node")});
  way.submit({.bytes = 100, .on_complete = done.record(1)});
  way.submit({.bytes = 20, .priority = -1, .on_complete = done.record(2)});
  const TransferId urgent = way.submit({.bytes = 50, .on_complete = done.record(3)});
  EXPECT_EQ(way.urgent_bytes(), 150);
  EXPECT_EQ(way.carried()->transfer.bytes, 100);
  simulator.run_until({120});
  EXPECT_EQ(way.urgent_bytes(), 50);
  EXPECT_EQ(way.carried()->since.ns, 100);
  way.cancel(urgent);
  EXPECT_EQ(way.urgent_bytes(), 0);
  EXPECT_EQ(way.carried()->transfer.priority, -1);
  simulator.run();
  EXPECT_EQ(done.log(), (Log{{1, 100}, {2, 140}}));
  EXPECT_FALSE(way.carried().has_value());
  fabric.check_conservation();
}

}  // namespace
}  // namespace KVSIM_FILE
