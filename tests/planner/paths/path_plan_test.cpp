// Plans worked out by hand, and those that cannot be.
#include "planner/paths/path_plan.h"

#include <gtest/gtest.h>

#include <cmath>

#include "planner/infeasible.h"
#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

double rate(const PathPlan& plan, Path path) {
  return plan.n[static_cast<std::size_t>(path)];
}

/// One local GPU, B1 alone. T_h = 0.42 s.
PathProblem one_gpu() {
  PathProblem p = testing::by_hand();
  p.pools = {1, 0};
  p.symbols.BW_h = 2e9 / 0.42;
  return p;
}

TEST(PathPlan, OfOneGpuAsPublishedHoldsOneRequestThatDecodesAndThoseThatLoad) {
  // The GPU is always busy, n K T = 1, so its slots hold n (T_h + K T) = 1 + T_h/(K T) requests. At B = 1.6,
  // T = 8/1.6 + 2 = 7 ms: 1 + 0.42/0.7 = 1.6. It makes 1/0.007 tokens/s.
  const PathPlan plan = plan_paths(one_gpu());
  EXPECT_TRUE(plan.converged);
  EXPECT_NEAR(plan.occupancy.local, 1.6, 1e-8);
  EXPECT_NEAR(plan.tokens_per_s, 1 / 0.007, 1e-6);
  EXPECT_NEAR(rate(plan, Path::B1), 1 / 0.7, 1e-8);
  EXPECT_EQ(plan.occupancy.remote, 0);
}

TEST(PathPlan, AsPublishedAFasterLinkMakesFewerTokens) {
  // Twice the link: T_h = 0.21 s, 2 B^2 + 3.9 B - 8 = 0, B = (8.9 - 3.9)/4 = 1.25: T = 8/1.25 + 2 = 8.4 ms.
  PathProblem p = one_gpu();
  p.symbols.BW_h *= 2;
  const PathPlan plan = plan_paths(p);
  EXPECT_NEAR(plan.occupancy.local, 1.25, 1e-8);
  EXPECT_NEAR(plan.tokens_per_s, 1 / 0.0084, 1e-6);
  EXPECT_LT(plan.tokens_per_s, plan_paths(one_gpu()).tokens_per_s);
}

TEST(PathPlan, OfOneGpuByStepsFillsItsSlots) {
  // Steps of 4 x (8/4 + 2) = 16 ms: 4 slots / (0.42 + 1.6) s = 1.98 requests/s; with twice the link 4/(0.21 + 1.6).
  PathProblem p = one_gpu();
  p.residence = Residence::steps;
  const PathPlan plan = plan_paths(p);
  EXPECT_TRUE(plan.converged);
  EXPECT_NEAR(plan.occupancy.local, 4, 1e-8);
  EXPECT_NEAR(plan.tokens_per_s, 100 * 4 / 2.02, 1e-6);
  p.symbols.BW_h *= 2;
  EXPECT_NEAR(plan_paths(p).tokens_per_s, 100 * 4 / 1.81, 1e-6);
}

TEST(PathPlan, OfOneGpuByStepsOnASlowLinkHoldsWhatTheLinkBrings) {
  // T_h = 2 s: n = 0.5, slots 0.5 (2 + 100 (8 + 2 B)/1000) = B: 1.4 + 0.1 B = B, B = 14/9.
  PathProblem p = one_gpu();
  p.residence = Residence::steps;
  p.symbols.BW_h = 1e9;
  const PathPlan plan = plan_paths(p);
  EXPECT_NEAR(plan.occupancy.local, 14.0 / 9, 1e-8);
  EXPECT_NEAR(plan.tokens_per_s, 50, 1e-6);
  EXPECT_NEAR(plan.price[static_cast<std::size_t>(Resource::local_net)], 50, 1e-6);  // tokens/s for one more link
}

TEST(PathPlan, OfThePublishedSetUpConvergesInBothReadings) {
  PathProblem p = testing::published_set_up();
  const PathPlan published = plan_paths(p);
  p.residence = Residence::steps;
  const PathPlan steps = plan_paths(p);
  EXPECT_TRUE(published.converged && steps.converged);
  EXPECT_NEAR(published.tokens_per_s, 459.7, 0.1);  // docs/findings.md quotes these
  EXPECT_NEAR(steps.tokens_per_s, 445.2, 0.1);
  EXPECT_NEAR(published.occupancy.remote, 2, 1e-6);
}

TEST(PathPlan, WithoutARemotePoolServesLocally) {
  PathProblem p = testing::by_hand();
  p.pools = {3, 0};
  const PathPlan plan = plan_paths(p);
  EXPECT_TRUE(plan.converged);
  EXPECT_NEAR(rate(plan, Path::B1), plan.requests_per_s, 1e-9);
  EXPECT_GT(plan.requests_per_s, 0);
}

TEST(PathPlan, WithoutALocalPoolServesRemotely) {
  PathProblem p = testing::by_hand();
  p.pools = {0, 3};
  const PathPlan plan = plan_paths(p);
  EXPECT_TRUE(plan.converged);
  EXPECT_NEAR(rate(plan, Path::B2), plan.requests_per_s, 1e-9);
  p.request.c = 1;  // then P2 stateless needs no local pool either, and is B2
  EXPECT_NEAR(plan_paths(p).tokens_per_s, plan.tokens_per_s, 1e-6);
}

TEST(PathPlan, WithRoomForOneRequestPerGpuHasABatchOfOne) {
  PathProblem p = testing::by_hand();
  p.symbols.HBM = 10e9;
  const PathPlan plan = plan_paths(p);
  EXPECT_TRUE(plan.converged);
  EXPECT_EQ(plan.batch.local, 1);
  EXPECT_EQ(plan.batch.remote, 1);
}

TEST(PathPlan, OfARequestShorterThanADraftConverges) {
  PathProblem p = testing::by_hand();
  p.request.K = 1;
  p.request.x = 40;
  EXPECT_TRUE(plan_paths(p).converged);
}

TEST(PathPlan, TakesOnlyThePathsThatAreAllowed) {
  PathProblem p = testing::published_set_up();
  const double all = plan_paths(p).tokens_per_s;
  p.paths = {Path::B2};
  const PathPlan plan = plan_paths(p);
  EXPECT_NEAR(rate(plan, Path::B2), plan.requests_per_s, 1e-12);
  EXPECT_LT(plan.tokens_per_s, all);
}

std::string refusal(const PathProblem& p) {
  try {
    (void)plan_paths(p);
  } catch (const Infeasible& e) {
    return e.what();
  }
  return {};
}

TEST(PathPlan, ThatCannotBeNamesTheNearestMiss) {
  PathProblem p = testing::by_hand();
  p.symbols.HBM = 9.4e9;
  EXPECT_EQ(refusal(p),
            "no plan: weights and the KV of one request do not fit a GPU; it needs 0.6 GB more HBM per GPU (8 + 2 GB "
            "against 9.4)");
  p = testing::by_hand();
  p.pools = {0, 0};
  EXPECT_EQ(refusal(p), "no plan: neither pool has a GPU; one in either pool would do");
  p.pools = {0, 1};
  p.paths = {Path::B1, Path::P1_cached};
  EXPECT_EQ(refusal(p), "no plan: every path that is allowed needs a local GPU, and there is none; one would do");
  p.pools = {1, 0};
  p.paths = {Path::B2, Path::P2_stateless};
  EXPECT_EQ(refusal(p), "no plan: every path that is allowed needs a remote GPU, and there is none; one would do");
}

TEST(PathPurchases, AreTheWholeFixedPointAnew) {
  PathProblem p = testing::published_set_up();
  const std::vector<Purchase> bought = purchases(p);
  ASSERT_EQ(bought.size(), 6);
  EXPECT_EQ(bought[1].name, "remote_gpu");
  ++p.pools.remote;
  EXPECT_DOUBLE_EQ(bought[1].tokens_per_s, plan_paths(p).tokens_per_s);
  EXPECT_EQ(bought[5].name, "HBM");
  p = testing::published_set_up();
  p.symbols.HBM *= 1.1;
  EXPECT_DOUBLE_EQ(bought[5].tokens_per_s, plan_paths(p).tokens_per_s);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
