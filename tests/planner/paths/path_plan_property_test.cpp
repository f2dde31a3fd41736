// What holds of every plan, on hundreds of machines, pools and requests. The problems are always the same ones: how
// many converge is a figure to keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/paths/path_plan.h"
#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

constexpr double kSlack = 1e-7;  // relative, for fixed points known to 1e-8

/// |B assumed - B implied| / max(1, B), from the rates alone: nothing that the plan says of itself.
double residual_of(const PathProblem& p, const PathPlan& plan) {
  const ResourceFigures use = resource_use(path_costs(p, plan.batch), plan.n);
  const double top = slots_per_gpu(p.symbols);
  const auto one = [&](std::int64_t gpus, Resource mem, double assumed) {
    if (gpus == 0) return 0.0;
    const double implied = use[static_cast<std::size_t>(mem)] / static_cast<double>(gpus);
    return std::abs(std::clamp(implied, 1.0, top) - assumed) / std::max(1.0, assumed);
  };
  return std::max(one(p.pools.local, Resource::local_mem, plan.batch.local),
                  one(p.pools.remote, Resource::remote_mem, plan.batch.remote));
}

TEST(PathPlanProperty, AllConvergeToAnOptimumThatAgreesWithItsBatches) {
  std::size_t converged = 0, mixed = 0;
  const std::vector<PathProblem> problems = testing::many_problems(600, 1);
  for (const PathProblem& p : problems) {
    const PathPlan plan = plan_paths(p);
    if (plan.converged) {
      ++converged;
      EXPECT_LE(plan.residual, kPathResidual);
    }
    EXPECT_FALSE(plan.on_a_step);
    EXPECT_LE(residual_of(p, plan), kPathResidual);
    const PathLp lp = path_lp(p, plan.batch);
    EXPECT_NEAR(plan.requests_per_s / solve(lp).requests_per_s, 1, kSlack);
    const ResourceFigures use = resource_use(lp.costs, plan.n);
    for (std::size_t r = 0; r < kResources; ++r) EXPECT_LE(use[r], lp.limits[r] * (1 + kSlack));
    const double worth = std::inner_product(plan.price.begin(), plan.price.end(), lp.limits.begin(), 0.0);
    EXPECT_NEAR(worth / plan.tokens_per_s, 1, kSlack);
    // A vertex has at most as many paths as tight rows.
    const auto tight = std::count_if(kAllResources.begin(), kAllResources.end(), [&](Resource resource) {
      const auto r = static_cast<std::size_t>(resource);
      return lp.limits[r] > 0 && use[r] > lp.limits[r] * (1 - kSlack);
    });
    mixed += std::count_if(plan.n.begin(), plan.n.end(), [](double n) { return n > 0; }) > tight ? 1 : 0;
  }
  EXPECT_EQ(converged, problems.size());
  EXPECT_GT(mixed, 0);  // mixtures of several optima, which no iteration over LPs would end in
}

TEST(PathPlanProperty, AnyChoiceOfPathsOnExtremeMachinesConverges) {
  std::size_t converged = 0, number = 0;
  std::vector<PathProblem> problems = testing::many_problems(200, 2);
  for (PathProblem& p : problems) {
    p.pools = {std::max<std::int64_t>(p.pools.local, 1), std::max<std::int64_t>(p.pools.remote, 1)};
    // Up to 60,000 slots, and every non-empty choice of paths in turn.
    p.symbols.HBM = p.symbols.M + (p.symbols.HBM - p.symbols.M) * (number % 2 == 0 ? 1000 : 1);
    const std::size_t choice = 1 + number++ % 63;
    for (const Path path : kAllPaths) {
      if ((choice >> static_cast<std::size_t>(path) & 1U) != 0) p.paths.push_back(path);
    }
    converged += plan_paths(p).converged ? 1 : 0;
  }
  EXPECT_EQ(converged, problems.size());
}

TEST(PathPlanProperty, ByStepsMoreOfAnythingNeverMakesFewerTokens) {
  for (PathProblem& p : testing::many_problems(200, 3)) {
    p.residence = Residence::steps;
    const double now = plan_paths(p).tokens_per_s;
    for (const Purchase& bought : purchases(p)) EXPECT_GE(bought.tokens_per_s, now * (1 - kSlack)) << bought.name;
  }
}

TEST(PathPlanProperty, AsPublishedMoreOfAnythingButLinksNeverMakesFewerTokens) {
  // More of a link does, by the book: AsPublishedAFasterLinkMakesFewerTokens.
  const std::vector<PathProblem> problems = testing::many_problems(200, 4);
  std::size_t links_lose = 0;
  for (PathProblem p : problems) {
    p.residence = Residence::published;
    const double now = plan_paths(p).tokens_per_s;
    for (const Purchase& bought : purchases(p)) {
      const bool more = bought.tokens_per_s >= now * (1 - kSlack);
      const bool link = bought.name == "BW_h" || bought.name == "BW_l";
      EXPECT_TRUE(more || link) << bought.name;
      links_lose += link && !more ? 1 : 0;
    }
  }
  EXPECT_GT(links_lose, problems.size() / 2);
}

TEST(PathPlanProperty, AsPublishedARemoteGpuNeverHoldsMoreThanTwoRequests) {
  for (PathProblem& p : testing::many_problems(200, 5)) {
    p.residence = Residence::published;
    EXPECT_LE(plan_paths(p).occupancy.remote, 2 * (1 + kSlack));
  }
}

TEST(PathPlanProperty, TwiceEveryBandwidthMakesTwiceTheTokens) {
  for (const PathProblem& p : testing::many_problems(100, 6)) {
    PathProblem fast = p;
    fast.symbols.BW_hbm *= 2;
    fast.symbols.BW_h *= 2;
    fast.symbols.BW_l *= 2;
    EXPECT_NEAR(plan_paths(fast).tokens_per_s / plan_paths(p).tokens_per_s, 2, 2 * kSlack);
  }
}

TEST(PathPlanProperty, ThreeTimesBothPoolsMakeThreeTimesTheTokens) {
  for (const PathProblem& p : testing::many_problems(100, 7)) {
    PathProblem large = p;
    large.pools = {3 * p.pools.local, 3 * p.pools.remote};
    EXPECT_NEAR(plan_paths(large).tokens_per_s / plan_paths(p).tokens_per_s, 3, 3 * kSlack);
  }
}

TEST(PathPlanProperty, BytesOfEverythingAndItsBandwidthsInAnotherUnitChangeNothing) {
  for (const PathProblem& p : testing::many_problems(50, 8)) {
    PathProblem scaled = p;
    for (double* figure : {&scaled.symbols.M, &scaled.symbols.KV, &scaled.symbols.HBM, &scaled.symbols.BW_hbm,
                           &scaled.symbols.BW_h, &scaled.symbols.BW_l}) {
      *figure *= 1024;
    }
    EXPECT_NEAR(plan_paths(scaled).tokens_per_s / plan_paths(p).tokens_per_s, 1, kSlack);
  }
}

TEST(PathPlanProperty, TheSameProblemGivesTheSamePlanToTheBit) {
  for (const PathProblem& p : testing::many_problems(20, 9)) EXPECT_EQ(plan_paths(p).n, plan_paths(p).n);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
