#include "sim/serving/admit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

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

/// As published: every place is tried, from the anchor outwards, later first.
std::optional<AdmittedReload> tried_one_by_one(const AdmissionRings& rings, const ReloadDemand& demand,
                                               std::int64_t slack, double iteration_s, double memory_bytes) {
  const std::int64_t span = span_windows(demand.transfer_s, iteration_s), windows = rings.windows();
  const std::int64_t lowest = std::max(span, span - 1 + slack) + demand.earliest;
  if (span > windows || lowest >= windows) return std::nullopt;
  const std::int64_t anchor = std::clamp(demand.anchor, lowest, windows - 1);
  for (std::int64_t step = 0; step < windows; ++step) {
    for (const std::int64_t verify : {anchor + step, anchor - step}) {
      if (verify < lowest || verify >= windows) continue;
      AdmittedReload r;
      r.verify = verify;
      r.last = verify - (span == 1 ? std::max<std::int64_t>(slack, 1) : slack);
      r.first = r.last - span + 1;
      r.link_s = demand.transfer_s / static_cast<double>(span);
      const auto at = [](std::int64_t window) { return static_cast<std::size_t>(window); };
      if (rings.link().fits(at(r.first), at(r.last), r.link_s, iteration_s) &&
          rings.memory().fits(at(r.first), at(verify), demand.bytes, memory_bytes)) {
        return r;
      }
    }
  }
  return std::nullopt;
}

TEST(Admit, PassesOverNoPlaceThatHasRoom) {
  // Rings of many fillings, from empty to full, moved on and partly emptied meanwhile.
  std::mt19937_64 draw(1);
  const auto below = [&draw](std::int64_t n) {
    return static_cast<std::int64_t>(draw() % static_cast<std::uint64_t>(n));
  };
  int admitted = 0, refused = 0;
  for (int ring = 0; ring < 200; ++ring) {
    const std::int64_t slack = below(3);
    AdmissionRings rings(8 + below(40), slack);
    for (int i = 0; i < 60; ++i) {
      ReloadDemand demand =
          reload(0.001 * static_cast<double>(1 + below(120)), below(50) - 2, 1e9 * static_cast<double>(1 + below(8)));
      demand.earliest = below(4) == 0 ? below(10) : 0;
      const double iteration_s = 0.001 * static_cast<double>(15 + below(20)),
                   memory = 1e9 * static_cast<double>(below(30));
      const auto expected = tried_one_by_one(rings, demand, slack, iteration_s, memory);
      const auto found = rings.admit(demand, iteration_s, memory);
      ASSERT_EQ(found.has_value(), expected.has_value());
      ++(found ? admitted : refused);
      if (found) {
        EXPECT_EQ(found->verify, expected->verify);
        EXPECT_EQ(found->first, expected->first);
        EXPECT_EQ(found->last, expected->last);
        if (below(5) == 0) rings.withdraw(*found, 0);
      }
      if (below(8) == 0) rings.advance(below(3));
    }
  }
  EXPECT_GT(admitted, 1000);
  EXPECT_GT(refused, 1000);
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
