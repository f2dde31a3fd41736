#include "sim/serving/admit.h"

#include <gtest/gtest.h>

namespace kvsim::serving::KVSIM_FILE {
namespace {

constexpr double kIteration = 0.030;  // T_iter
constexpr double kPlenty = 1e12;

ReloadDemand reload(double transfer_s, std::int64_t anchor, double bytes = 4e9) {
  return {transfer_s, bytes, anchor, 0};
}

TEST(Admit, SpanIsTheTransferInWholeIterations) {
  EXPECT_EQ(span_windows(0.080, 0.036), 3);  // 2.2 iterations
  EXPECT_EQ(span_windows(0.036, 0.036), 1);
  EXPECT_EQ(span_windows(0.001, 0.036), 1);
}

TEST(Admit, AnEmptyRingGivesTheAnchorWithTheLinkFreeOneWindowBefore) {
  AdmissionRings rings(128, 1);
  const auto r = rings.admit(reload(0.080, 25), kIteration, kPlenty);
  ASSERT_TRUE(r);
  // 80 ms over 30 ms: S = 3. Verify at 25, link windows 22..24, memory 22..25.
  EXPECT_EQ(r->verify, 25);
  EXPECT_EQ(r->first, 22);
  EXPECT_EQ(r->last, 24);
  EXPECT_DOUBLE_EQ(rings.link().at(22), 0.080 / 3);
  EXPECT_DOUBLE_EQ(rings.link().at(21), 0);
  EXPECT_DOUBLE_EQ(rings.link().at(25), 0);
  EXPECT_DOUBLE_EQ(rings.memory().at(25), 4e9);
  EXPECT_DOUBLE_EQ(rings.memory().at(26), 0);
}

TEST(Admit, WithoutSlackTheSpanIsThePublishedOne) {
  AdmissionRings rings(128, 0);
  const auto r = rings.admit(reload(0.080, 25), kIteration, kPlenty);
  ASSERT_TRUE(r);
  EXPECT_EQ(r->first, 23);  // d - S + 1
  EXPECT_EQ(r->last, 25);   // d
}

TEST(Admit, NeighboursAreTriedOutwardsLaterFirst) {
  AdmissionRings rings(128, 1);
  // Each reload fills 3 whole windows (0.09 s): the second cannot overlap the first's 22..24.
  ASSERT_EQ(rings.admit(reload(0.090, 25), kIteration, kPlenty)->verify, 25);
  // d = 26 needs 23..25, 24 needs 21..23, ...: the first free ones are 28 (25..27) before 22 (19..21).
  EXPECT_EQ(rings.admit(reload(0.090, 25), kIteration, kPlenty)->verify, 28);
  EXPECT_EQ(rings.admit(reload(0.090, 25), kIteration, kPlenty)->verify, 22);
  EXPECT_EQ(rings.admit(reload(0.090, 25), kIteration, kPlenty)->verify, 31);
}

TEST(Admit, ShortReloadsShareAWindowUpToTheIterationTime) {
  AdmissionRings rings(128, 1);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rings.admit(reload(0.010, 25), kIteration, kPlenty)->verify, 25) << i;
  EXPECT_EQ(rings.admit(reload(0.010, 25), kIteration, kPlenty)->verify, 26);  // 40 ms do not fit into 30
}

TEST(Admit, MemoryInFlightNeverExceedsWhatIsFree) {
  AdmissionRings rings(128, 1);
  // Room for one full KV: memory windows may not overlap although the link has room.
  ASSERT_EQ(rings.admit(reload(0.010, 25, 4e9), kIteration, 5e9)->verify, 25);  // memory 24..25
  EXPECT_EQ(rings.admit(reload(0.010, 25, 4e9), kIteration, 5e9)->verify, 27);  // memory 26..27
  EXPECT_DOUBLE_EQ(rings.memory_peak(), 4e9);
  EXPECT_FALSE(rings.admit(reload(0.010, 25, 6e9), kIteration, 5e9));
}

TEST(Admit, AFullRingRefusesAndStaysAsItWas) {
  AdmissionRings rings(8, 1);
  while (rings.admit(reload(0.030, 4), kIteration, kPlenty)) {
  }
  for (std::size_t i = 0; i + 1 < 7; ++i) EXPECT_NEAR(rings.link().at(i), kIteration, 1e-12) << i;
  EXPECT_FALSE(rings.admit(reload(0.030, 4), kIteration, kPlenty));
}

TEST(Admit, ATransferLongerThanTheRingIsRefused) {
  AdmissionRings rings(8, 1);
  EXPECT_FALSE(rings.admit(reload(8.1 * kIteration, 4), kIteration, kPlenty));
  EXPECT_FALSE(rings.admit(reload(1e6, 4), kIteration, kPlenty));
}

TEST(Admit, AnchorsOutsideTheRingAreClamped) {
  AdmissionRings rings(16, 1);
  EXPECT_EQ(rings.admit(reload(0.060, 1000), kIteration, kPlenty)->verify, 15);
  EXPECT_EQ(rings.admit(reload(0.060, 0), kIteration, kPlenty)->verify, 2);  // S = 2: not before its reload
}

TEST(Admit, AReloadNeverStartsBeforeItsRequestIsReady) {
  AdmissionRings rings(64, 1);
  ReloadDemand demand = reload(0.060, 3);
  demand.earliest = 10;
  const auto r = rings.admit(demand, kIteration, kPlenty);
  ASSERT_TRUE(r);
  EXPECT_GE(r->first, 10);
}

TEST(Admit, AdvancingMovesReservationsNearer) {
  AdmissionRings rings(64, 1);
  rings.admit(reload(0.030, 10), kIteration, kPlenty);
  rings.advance(4);
  EXPECT_DOUBLE_EQ(rings.link().at(5), 0.030);
  EXPECT_DOUBLE_EQ(rings.link().at(9), 0);
}

TEST(Admit, WithdrawingEmptiesExactlyWhatIsStillAhead) {
  AdmissionRings rings(64, 1);
  const auto first = rings.admit(reload(0.085, 10), kIteration, kPlenty);   // windows 7..9
  const auto second = rings.admit(reload(0.085, 20), kIteration, kPlenty);  // windows 17..19
  rings.advance(8);
  rings.withdraw(*first, 8);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(rings.link().at(i), 0, 1e-12) << i;
  EXPECT_DOUBLE_EQ(rings.link().at(9), 0.085 / 3);  // second: 17 - 8
  rings.withdraw(*second, 8);
  EXPECT_NEAR(rings.memory_peak(), 0, 1e-3);
}

TEST(Admit, FirstLoadsTakeTheEarliestRoomOnTheLink) {
  AdmissionRings rings(16, 1);
  EXPECT_EQ(rings.admit_load(0.055, kIteration)->last, 1);   // 2 windows: 0..1
  EXPECT_EQ(rings.admit_load(0.055, kIteration)->first, 2);  // 0 and 1 are nearly full
  EXPECT_EQ(rings.admit_load(0.0, kIteration)->last, -1);    // nothing to load
  EXPECT_FALSE(rings.admit_load(1.0, kIteration));
}

}  // namespace
}  // namespace kvsim::serving::KVSIM_FILE
