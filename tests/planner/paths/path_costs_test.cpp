// The cost table, against figures worked out by hand.
#include "planner/paths/path_costs.h"

#include <gtest/gtest.h>

#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

void expect_row(const PathCosts& costs, Path path, const ResourceFigures& expected) {
  for (std::size_t r = 0; r < kResources; ++r) {
    EXPECT_NEAR(costs[static_cast<std::size_t>(path)][r], expected[r], 1e-12 * (1 + expected[r]))
        << path_name(path) << ", " << resource_name(kAllResources[r]);
  }
}

TEST(PathCosts, AreThoseOfThePublishedTable) {
  // T_tok: 8/2 + 2 = 6 ms local, 8/4 + 2 = 4 ms remote. T_h = 2/20 = 0.1 s, T_l = 2/4 = 0.5, T_lc = 0.125, T_rem =
  // 0.375. K/g = 125; N1 = ceil(100/1.6) = 63; Nd = min(0.375/0.004, 125) = 93.75; N2 = ceil(46.875) = 47; K2 = 25.
  const PathProblem p = testing::by_hand();
  const PathTimes t = path_times(p, {2, 4});
  EXPECT_DOUBLE_EQ(t.g, 0.8);
  EXPECT_DOUBLE_EQ(t.N1, 63);
  EXPECT_NEAR(t.Nd, 93.75, 1e-9);
  EXPECT_DOUBLE_EQ(t.N2, 47);
  EXPECT_NEAR(t.K2, 25, 1e-9);
  const PathCosts costs = path_costs(p, {2, 4});
  expect_row(costs, Path::B1, {0.1, 0.6, 0.7, 0, 0, 0});
  expect_row(costs, Path::B2, {0, 0, 0, 0.5, 0.4, 0.9});
  expect_row(costs, Path::P1_cached, {0.1, 0.378, 0.1 + 0.5, 0.125, 0.5, 0.625});
  expect_row(costs, Path::P1_stateless, {6.3, 0.378, 63 * 0.106, 0.125, 0.5, 0.625});
  // (93.75 + 25) x 4 ms = 0.475; T_lc + max(0.375, 0.375) + 25 x 4 ms = 0.6.
  expect_row(costs, Path::P2_cached, {0.1, 47 * 0.006, 0.1 + 0.375, 0.5, 0.475, 0.6});
  expect_row(costs, Path::P2_stateless, {4.7, 47 * 0.006, 47 * 0.106, 0.5, 0.475, 0.6});
}

TEST(PathCosts, ByStepsASlotWaitsForTheStepAndTheGpuWorksAsBefore) {
  // Steps of 2 x 6 = 12 ms local, 4 x 4 = 16 ms remote. Nd = 0.375/0.016 = 23.4375; N2 = ceil(11.7) = 12; K2 = 81.25.
  PathProblem p = testing::by_hand();
  p.residence = Residence::steps;
  const PathCosts costs = path_costs(p, {2, 4});
  expect_row(costs, Path::B1, {0.1, 0.6, 1.3, 0, 0, 0});
  expect_row(costs, Path::B2, {0, 0, 0, 0.5, 0.4, 2.1});
  expect_row(costs, Path::P1_cached, {0.1, 0.378, 0.1 + 2, 0.125, 0.5, 2.125});
  expect_row(costs, Path::P1_stateless, {6.3, 0.378, 63 * 0.112, 0.125, 0.5, 2.125});
  expect_row(costs, Path::P2_cached, {0.1, 0.072, 0.475, 0.5, 104.6875 * 0.004, 0.5 + 81.25 * 0.016});
  expect_row(costs, Path::P2_stateless, {1.2, 0.072, 12 * 0.112, 0.5, 104.6875 * 0.004, 0.5 + 81.25 * 0.016});
}

TEST(PathCosts, ARemainderThatStreamsLongerThanTheRequestDecodesIsDraftedThrough) {
  // BW_l = 0.4 GB/s: T_rem = 3.75 s; 3.75/0.004 = 937 drafts would fit, 125 are enough: K2 = 0, N2 = ceil(62.5) = N1.
  PathProblem p = testing::by_hand();
  p.symbols.BW_l = 0.4e9;
  const PathTimes t = path_times(p, {2, 4});
  EXPECT_DOUBLE_EQ(t.Nd, 125);
  EXPECT_DOUBLE_EQ(t.N2, t.N1);
  EXPECT_DOUBLE_EQ(t.K2, 0);
  expect_row(path_costs(p, {2, 4}), Path::P2_cached, {0.1, 0.378, 0.1 + 0.5, 5, 0.5, 1.25 + 3.75});
}

TEST(PathCosts, WithNothingCompressedP2IsB2) {
  PathProblem p = testing::by_hand();
  p.request.c = 1;
  const PathCosts costs = path_costs(p, {1, 3});
  EXPECT_EQ(costs[static_cast<std::size_t>(Path::P2_stateless)], costs[static_cast<std::size_t>(Path::B2)]);
}

TEST(PathCosts, ARequestShorterThanADraftIsVerifiedOnce) {
  PathProblem p = testing::by_hand();
  p.request.K = 1;
  EXPECT_DOUBLE_EQ(path_times(p, {1, 1}).N1, 1);
}

TEST(PathCosts, LimitsAreGpusAndTheirSlots) {
  const PathProblem p = testing::by_hand();
  EXPECT_DOUBLE_EQ(slots_per_gpu(p.symbols), 4);  // (16 - 8)/2
  EXPECT_EQ(path_limits(p), (ResourceFigures{1, 1, 4, 2, 2, 8, 0}));
}

TEST(PathCosts, AsPublishedARemoteSlotIsNeverHeldLongerThanLinkAndGpuWork) {
  // The reason why a remote pool never holds more than two requests per GPU in that reading (docs/findings.md).
  for (const PathProblem& p : testing::many_problems(300, 5)) {
    if (p.residence != Residence::published) continue;
    for (const auto& [l_net, l_gpu, l_mem, net, gpu, mem, storage, held] : path_costs(p, {1, 1})) {
      EXPECT_LE(mem, (net + gpu) * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
