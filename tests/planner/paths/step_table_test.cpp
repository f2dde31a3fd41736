// The cost table of timed steps, against figures worked out by hand.
#include "planner/paths/path_costs.h"

#include <gtest/gtest.h>

#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

void expect_row(const PathCosts& costs, Path path, const ResourceFigures& expected) {
  for (std::size_t r = 0; r < kResources; ++r) {
    EXPECT_NEAR(costs[models::index_of(path)][r], expected[r], 1e-12 * (1 + expected[r]))
        << path_name(path) << ", " << resource_name(kAllResources[r]);
  }
}

TEST(StepTable, ByHand) {
  // At B = 5 a local step takes 25 ms, at B = 4 a remote one 24 ms. A token takes 1/5 and 1/4 of them, a draft half as
  // much as that, a verification three times. A round drafts 80/10 = 8 tokens in 0.192 s, 4 ms of messages, one local
  // step: 0.221 s. Ten of them: 2.21 s.
  // P1 and P2 hold their local slots for the 0.32 s of loading and decompressing, too.
  const PathCosts costs = path_costs(testing::steps_by_hand(), {5, 4});
  expect_row(costs, Path::B1, {0.1, 60 * 0.005, 0.11 + 60 * 0.025, 0, 0, 0, 0});
  expect_row(costs, Path::B2, {0, 0, 0, 1, 60 * 0.006, 1.02 + 60 * 0.024, 0});
  expect_row(costs, Path::P1_cached,
             {0.1, 10 * 0.015, 1.1 * (0.32 + 2.21), 0.25, 80 * 0.003 + 0.05, 0.5 * (0.27 + 0.05 + 2.21), 0});
  expect_row(costs, Path::P1_stateless,
             {1.2, 10 * 0.015, 0.9 * 10 * (0.13 + 0.025), 0.25, 80 * 0.003 + 0.05, 0.5 * (0.27 + 0.05 + 2.21), 0});
  // The rest takes 0.77 s, in which 0.77/2.21 of the rounds are over. Then the others of 60 tokens are decoded.
  const double s = 0.77 / 2.21;
  const double gpu = s * 80 * 0.003 + (1 - s) * 60 * 0.006 + 0.05, mem = 0.27 + 0.05 + 0.77 + (1 - s) * 60 * 0.024;
  expect_row(costs, Path::P2_cached, {0.1, s * 10 * 0.015, 1.1 * (0.32 + 0.77), 1, gpu, mem, 0});
  expect_row(costs, Path::P2_stateless, {s * 1.2, s * 10 * 0.015, 0.9 * s * 10 * (0.13 + 0.025), 1, gpu, mem, 0});
}

TEST(StepTable, AVerificationAloneMakesItsOwnStep) {
  // B = 1: a step of one token 21 ms; a verification, the work of three, 23 ms, all of which is the GPU's.
  const PathCosts costs = path_costs(testing::steps_by_hand(), {1, 1});
  EXPECT_NEAR(costs[models::index_of(Path::P1_cached)][1], 10 * 0.023, 1e-12);
  EXPECT_NEAR(costs[models::index_of(Path::B1)][1], 60 * 0.021, 1e-12);
}

TEST(StepTable, RereadingHidesBehindDraftingAsFarAsItGoes) {
  // 0.3 s of link and 0.01 s of latency against 0.192 s of drafting: rounds of 0.339 s for the remote node.
  PathProblem p = testing::steps_by_hand();
  p.steps->local_reread = {3e9, 0.3, 0.01};
  const PathCosts costs = path_costs(p, {5, 4});
  EXPECT_NEAR(costs[models::index_of(Path::P1_stateless)][5], 0.5 * (0.27 + 0.05 + 10 * (0.31 + 0.004 + 0.025)), 1e-12);
  EXPECT_NEAR(costs[models::index_of(Path::P1_cached)][5], 0.5 * (0.27 + 0.05 + 2.21), 1e-12);
}

TEST(StepTable, ReloadsAreHeldAheadOfTheirDraftsAndStepsUnderWayAreWaitedFor) {
  // Reloads of 0.13 s ahead by two lengths: 0.26 s, of which drafting lasts 0.192. Half a step of 24 ms before
  // drafting, half of 25 ms before verification.
  PathProblem p = testing::steps_by_hand();
  p.steps->reread_held = 2;
  p.steps->joining = 0.5;
  const PathCosts costs = path_costs(p, {5, 4});
  EXPECT_NEAR(costs[models::index_of(Path::P1_stateless)][2], 0.9 * 10 * (0.192 + 0.0375), 1e-12);
  EXPECT_NEAR(costs[models::index_of(Path::P1_stateless)][5], 0.5 * (0.32 + 10 * (0.192 + 0.012 + 0.004 + 0.0375)),
              1e-12);
}

TEST(StepTable, AStorageNodesLimitCountsWhatBothPoolsRead) {
  PathProblem p = testing::steps_by_hand();
  p.steps->storage_bytes_per_s = 5e9;
  const auto storage = static_cast<std::size_t>(Resource::storage);
  const PathCosts costs = path_costs(p, {5, 4});
  EXPECT_DOUBLE_EQ(path_limits(p)[storage], 5e9);
  EXPECT_DOUBLE_EQ(costs[models::index_of(Path::B1)][storage], 2e9);
  EXPECT_DOUBLE_EQ(costs[models::index_of(Path::P1_cached)][storage], 2.5e9);
  EXPECT_DOUBLE_EQ(costs[models::index_of(Path::P1_stateless)][storage], 10 * 2.4e9 + 0.5e9);
  EXPECT_DOUBLE_EQ(costs[models::index_of(Path::P2_cached)][storage], 2e9 + 0.5e9 + 1.5e9);
}

TEST(StepTable, LimitsAreLinksNodesAndSlots) {
  PathProblem p = testing::steps_by_hand();
  p.steps->links.remote = 1.5;
  EXPECT_EQ(path_limits(p), (ResourceFigures{1, 1, 10, 1.5, 2, 20, 0}));
}

TEST(StepTable, TimesAreItsOwn) {
  const PathTimes t = path_times(testing::steps_by_hand(), {5, 4});
  EXPECT_NEAR(t.T_tok.local, 0.005, 1e-12);
  EXPECT_NEAR(t.T_slot.remote, 0.024, 1e-12);
  EXPECT_NEAR(t.N2, 10 * 0.77 / 2.21, 1e-12);
  EXPECT_NEAR(t.K2, 60 * (1 - 0.77 / 2.21), 1e-12);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
