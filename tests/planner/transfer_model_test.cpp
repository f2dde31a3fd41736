// The three models by hand: a machine on which every figure is a round number.
#include <gtest/gtest.h>

#include "planner/closed_form/symbols.h"
#include "planner/infeasible.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

constexpr std::int64_t kGB = 1'000'000'000;

/// M = 40 GB, KV = 8 GB, HBM = 80 GB, 1 TB/s, 8 GB/s; c = 0.25, agreement 1: every draft is accepted.
SymbolsProblem by_hand(TransferModel model) {
  SymbolsProblem p;
  p.symbols = {40 * kGB, 8 * kGB, 80 * kGB, 1e12, 8e9};
  p.model = model;
  p.keep_ratios = {0.25};
  p.acceptance.kind = models::AcceptanceKind::constant;
  p.acceptance.agreement = 1;
  return p;
}

models::AcceptanceModel constant_agreement(double a) {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::constant;
  spec.agreement = a;
  return {spec, 1, 60};
}

Cycle cycle_of(const SymbolsProblem& p, std::int64_t x) {
  SymbolsProblem one = p;
  one.least_draft_length = one.most_draft_length = x;
  return cycles_of(one).front();
}

TEST(TransferModel, TheAverageFootprintIsThatOfTheCycle) {
  // KV_avg = 8 (2 x 0.25 + 1)/3 = 4 GB; T_gpu(B) = 40 ms + 4 ms B; (x + 1)/(x + 1) = 1 token each.
  const Cycle cycle = cycle_of(by_hand(TransferModel::conserving), 2);
  EXPECT_DOUBLE_EQ(cycle.average_bytes, 4e9);
  EXPECT_DOUBLE_EQ(cycle.gpu.at(3), 0.052);
  EXPECT_DOUBLE_EQ(cycle.tokens, 1.0);
  EXPECT_DOUBLE_EQ(cycle.reload_s, 0.75);  // 6 GB at 8 GB/s
}

TEST(TransferModel, PrintedTransferTimeIsDividedByTheSpreadAndTheConservingOneIsNot) {
  // B_c = 1, x = 2: 0.75 s / 3 = 250 ms per iteration; with l = 3, as printed, 83 ms.
  const Cycle cycle = cycle_of(by_hand(TransferModel::published), 2);
  EXPECT_DOUBLE_EQ(iteration_times(TransferModel::published, cycle, {1, 0, 1}).transfer_s, 0.25);
  EXPECT_DOUBLE_EQ(iteration_times(TransferModel::published, cycle, {1, 0, 3}).transfer_s, 0.25 / 3);
  EXPECT_DOUBLE_EQ(iteration_times(TransferModel::conserving, cycle, {1, 0, 3}).transfer_s, 0.25);
}

TEST(TransferModel, PrintedSlotsHoldOneReloadAtATime) {
  const Cycle cycle = cycle_of(by_hand(TransferModel::published), 5);
  EXPECT_TRUE(evaluate(TransferModel::published, cycle, {}, {2, 0, 3}));   // 2 x 3 <= 6
  EXPECT_FALSE(evaluate(TransferModel::published, cycle, {}, {2, 0, 4}));  // 8 > 6
  EXPECT_TRUE(evaluate(TransferModel::conserving, cycle, {}, {2, 0, 4}));
}

TEST(TransferModel, AStreamingReloadOccupiesMemoryUnderRings) {
  // x = 29, B_c = 4: T_gpu = 40 + 4 x 2.2 = 48.8 ms, T_xfer = 4 x 25 = 100 ms, l_r = 750/100 = 7.5:
  // KV (c + (1 - c) l_r / (x + 1)) = 8 (0.25 + 0.75 x 0.25) = 3.5 GB each, against KV_avg = 2.2 GB.
  const Cycle cycle = cycle_of(by_hand(TransferModel::rings), 29);
  const IterationTimes times = iteration_times(TransferModel::rings, cycle, {4, 0, 1});
  EXPECT_DOUBLE_EQ(times.gpu_s, 0.0488);
  EXPECT_DOUBLE_EQ(times.transfer_s, 0.1);
  EXPECT_NEAR(kv_memory_bytes(TransferModel::rings, cycle, {4, 0, 1}, 0.1), 14e9, 1);
  EXPECT_NEAR(kv_memory_bytes(TransferModel::conserving, cycle, {4, 0, 1}, 0.1), 8.8e9, 1);
  EXPECT_EQ(reload_span(TransferModel::rings, cycle, {4, 0, 1}, 0.1), 8);
}

TEST(TransferModel, InWholeIterationsReloadsAndTheirSpansAreRoundedUp) {
  Cycle cycle = cycle_of(by_hand(TransferModel::rings), 29);
  cycle.whole_iterations = true;
  // 4/30 starts per iteration, each there for 8: 1.07 at a time, hence 2.
  EXPECT_DOUBLE_EQ(streams_in_memory(cycle, 4, 0.1), 2);
  // A reload that fits into one iteration is there for the next one too: 4/30 x 2, hence 1.
  EXPECT_DOUBLE_EQ(streams_in_memory(cycle, 4, 0.8), 1);
  EXPECT_DOUBLE_EQ(streams_in_memory(cycle, 16, 0.8), 2);
  // Shares of 94 ms: one in an iteration of 100, so 30 offloaded requests with 30 x 8 / 30 = 8 shares are too many.
  EXPECT_FALSE(link_has_room(TransferModel::rings, cycle, {30, 0, 1}, 0.1));
  EXPECT_TRUE(link_has_room(TransferModel::conserving, cycle, {30, 0, 1}, 0.1));
  EXPECT_TRUE(link_has_room(TransferModel::rings, cycle, {3, 0, 1}, 0.1));
}

TEST(SymbolsPlan, FullKvIsTheBaselineAndACandidate) {
  // B = floor(40/8) = 5: 5/(40 + 40) per ms = 62.5 tokens/s. Worthless drafts leave it the optimum.
  SymbolsProblem p = by_hand(TransferModel::rings);
  p.acceptance.agreement = 0.01;
  const SymbolsPlan found = plan(p);
  ASSERT_TRUE(found.full_kv);
  EXPECT_EQ(found.full_kv->batch.B_g, 5);
  EXPECT_DOUBLE_EQ(found.full_kv->throughput_tokens_per_s, 62.5);
  EXPECT_EQ(found.optimum.x, 0);
  EXPECT_EQ(found.optimum.c, 1.0);
}

TEST(SymbolsPlan, TiesGoToTheSmallerDraftLengthTheLargerRatioTheSmallerBatch) {
  // Nothing but the link matters (weights and memory bandwidth take next to no time), all drafts are accepted, and all
  // requests are offloaded: (x + 1) BW_link / ((1 - c) KV) tokens/s whatever B_c, so B_c = 1 wins.
  SymbolsProblem p = by_hand(TransferModel::conserving);
  p.symbols = {1, 8 * kGB, 7 * kGB, 1e18, 8e9};
  p.least_draft_length = p.most_draft_length = 9;
  p.keep_ratios = {0.5, 0.5, 0.25};
  const OperatingPoint found = plan(p).optimum;
  EXPECT_EQ(found.c, 0.5);
  EXPECT_EQ(found.batch.B_c, 1);
  EXPECT_EQ(found.batch.B_g, 0);
  EXPECT_NEAR(found.throughput_tokens_per_s, 20, 1e-9);  // 10 x 8/4
}

TEST(SymbolsPlan, WholeReloadsMoveAllOfTheKv) {
  SymbolsProblem p = by_hand(TransferModel::conserving);
  p.reload = models::ReloadContent::whole;
  EXPECT_DOUBLE_EQ(cycle_of(p, 2).reload_s, 1.0);  // 8 GB at 8 GB/s
}

TEST(SymbolsPlan, WithoutRoomForOneRequestTheNearestMissIsNamed) {
  SymbolsProblem p = by_hand(TransferModel::conserving);
  p.symbols.HBM = 41 * kGB;
  p.most_draft_length = 10;
  try {
    plan(p);
    FAIL();
  } catch (const Infeasible& e) {
    // KV_avg at x = 10 is 8 (2.5 + 1)/11 = 2.545 GB: 1.546 GB more.
    EXPECT_NE(std::string(e.what()).find("keep ratio 0.25, needs 1546 MB more HBM"), std::string::npos) << e.what();
  }
}

TEST(SymbolsPlan, WhatTheNearestMissNamesIsEnoughUnderEveryModel) {
  for (const TransferModelName& entry : kTransferModels) {
    SymbolsProblem p = by_hand(entry.model);
    p.symbols.HBM = 41 * kGB;
    std::string what;
    try {
      plan(p);
    } catch (const Infeasible& e) {
      what = e.what();
    }
    const std::size_t at = what.find("needs ");
    ASSERT_NE(at, std::string::npos) << entry.name;
    const std::int64_t more = std::stoll(what.substr(at + 6)) * 1'000'000;
    p.symbols.HBM += more;
    EXPECT_NO_THROW(plan(p)) << entry.name;
    p.symbols.HBM -= 2'000'000;
    EXPECT_THROW(plan(p), Infeasible) << entry.name;
  }
}

TEST(SymbolsPlan, ARequestThatJustFitsIsFound) {
  // Room for 1.99999... full KVs: one, though bounds on the way are a little generous.
  SymbolsProblem p = by_hand(TransferModel::conserving);
  p.symbols = {5 * kGB, 1000 * kGB, 2'004'999'999'995, 1e12, 8e9};
  p.keep_ratios = {0.99};
  p.acceptance.agreement = 0.9;
  const SymbolsPlan found = plan(p);
  ASSERT_TRUE(found.full_kv);
  EXPECT_EQ(found.full_kv->batch.B_g, 1);
}

TEST(Composition, ThePublishedFactorCountsPerPositionTheOtherReadingPerToken) {
  // gamma_e(3) x 2 = 0.5 + 0.25 = 0.75: 1.75 tokens per position. A(4) at a = 0.9: 0.9 + 0.81 + 0.729 + 0.6561.
  const models::AcceptanceModel outer = constant_agreement(0.9);
  const models::AcceptanceModel inner = constant_agreement(0.5);
  EXPECT_NEAR(composed_acceptance(Composition::published, outer, &inner, 4, 3), 3.0951 * 1.75, 1e-12);
  EXPECT_NEAR(composed_acceptance(Composition::per_token, outer, &inner, 4, 3), outer.expected_accepted(7), 1e-12);
  EXPECT_NEAR(composed_acceptance(Composition::published, outer, &inner, 4, 1), 3.0951, 1e-12);
}

TEST(Composition, TheDraftersWeightsKvAndTimeCount) {
  SymbolsProblem p = by_hand(TransferModel::conserving);
  Drafter drafter;
  drafter.weights = 2 * kGB;
  drafter.KV = kGB;
  drafter.least = drafter.most = 3;
  drafter.acceptance.kind = models::AcceptanceKind::constant;
  drafter.acceptance.agreement = 0.5;
  p.drafter = drafter;
  const Cycle cycle = cycle_of(p, 3);
  EXPECT_DOUBLE_EQ(cycle.room_bytes, 38e9);
  EXPECT_DOUBLE_EQ(cycle.resident_bytes, 9e9);
  // Two passes over 2 GB, and over 1 GB of each of the 3 in 4 requests that draft; KV_avg = 8 (0.75 + 1)/4 = 3.5.
  EXPECT_DOUBLE_EQ(cycle.gpu.at(0), 0.044);
  EXPECT_DOUBLE_EQ(cycle.gpu.at(1) - cycle.gpu.at(0), 0.005);
  EXPECT_DOUBLE_EQ(cycle.tokens, (3 * 1.75 + 1) / 4);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
