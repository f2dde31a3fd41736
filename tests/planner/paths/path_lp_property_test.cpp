// The linear programme: the solver's optimum against every vertex, and what duality asks of prices.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/paths/path_lp.h"
#include "planner/paths/path_plan.h"
#include "tests/planner/paths/problems.h"
#include "tests/planner/paths/vertices.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

double log_between(double a, double b) {
  return a * std::pow(b / a, *rc::gen::inRange(0, 1'000'001) / 1e6);
}

/// Any costs and limits, some of them 0, over six orders of magnitude; no path for nothing.
PathLp any_lp() {
  PathLp lp;
  for (std::size_t r = 0; r < kResources; ++r) {
    lp.limits[r] = *rc::gen::inRange(0, 8) == 0 ? 0 : log_between(1e-2, 1e3);
  }
  for (std::size_t i = 0; i < kPaths; ++i) {
    lp.allowed[i] = *rc::gen::inRange(0, 6) > 0;
    for (std::size_t r = 0; r < kResources; ++r) {
      lp.costs[i][r] = *rc::gen::inRange(0, 3) == 0 ? 0 : log_between(1e-3, 1e3);
    }
    if (std::none_of(lp.costs[i].begin(), lp.costs[i].end(), [](double cost) { return cost > 0; })) {
      lp.costs[i][*rc::gen::inRange<std::size_t>(0, kResources)] = 1;
    }
  }
  return lp;
}

void expect_optimal(const PathLp& lp) {
  const PathLpSolution s = solve(lp);
  const ResourceFigures use = resource_use(lp.costs, s.n);
  // Feasible.
  for (std::size_t r = 0; r < kResources; ++r) RC_ASSERT(use[r] <= lp.limits[r] * (1 + 1e-9));
  for (std::size_t i = 0; i < kPaths; ++i) {
    RC_ASSERT(s.n[i] >= 0);
    RC_ASSERT(s.n[i] == 0 || lp.usable(kAllPaths[i]));
  }
  // No vertex is better, and it is one.
  const double best = testing::best_vertex(lp);
  RC_ASSERT(std::abs(s.requests_per_s - best) <= 1e-9 * best);
  // Strong duality: the limits at their prices are worth what is served.
  const double worth = std::inner_product(s.price.begin(), s.price.end(), lp.limits.begin(), 0.0);
  RC_ASSERT(std::abs(worth - s.requests_per_s) <= 1e-9 * best);
  // Complementary slackness: what is not used up has no price, and a path that is taken is worth its cost.
  for (std::size_t r = 0; r < kResources; ++r) {
    RC_ASSERT(s.price[r] >= 0);
    RC_ASSERT(s.price[r] * (lp.limits[r] - use[r]) <= 1e-8 * best);
  }
  for (std::size_t i = 0; i < kPaths; ++i) {
    if (!lp.usable(kAllPaths[i])) continue;
    const double cost = std::inner_product(s.price.begin(), s.price.end(), lp.costs[i].begin(), 0.0);
    RC_ASSERT(cost >= 1 - 1e-8);
    RC_ASSERT(s.n[i] * (cost - 1) <= 1e-8 * best);
  }
}

RC_GTEST_PROP(PathLpProperty, OfAnyCostsIsSolvedToTheBestVertexWithItsDuals, ()) {
  expect_optimal(any_lp());
}

RC_GTEST_PROP(PathLpProperty, OfAPathProblemIsSolvedToTheBestVertexWithItsDuals, ()) {
  const PathProblem p = testing::many_problems(1, *rc::gen::arbitrary<std::uint64_t>()).front();
  const double top = slots_per_gpu(p.symbols);
  expect_optimal(path_lp(p, {log_between(1, top), log_between(1, top)}));
}

TEST(PathLpProperty, OfSeveralOptimaTheOneThatFillsMoreSlotsIsTaken) {
  // Where neither the local link nor its slots bind, both kinds of P1 cost the same: the one that keeps its slot wins.
  PathProblem p = testing::by_hand();
  p.pools = {2, 1};
  p.symbols.BW_h *= 100;
  p.paths = {Path::P1_stateless, Path::P1_cached};
  const PathLp lp = path_lp(p, {4, 1});
  const PathLpSolution s = solve(lp);
  // Remote GPU: 125 drafts of 10 ms each, 0.8 requests/s.
  EXPECT_NEAR(s.requests_per_s, 0.8, 1e-12);
  const auto cached = static_cast<std::size_t>(Path::P1_cached),
             stateless = static_cast<std::size_t>(Path::P1_stateless);
  const auto mem = static_cast<std::size_t>(Resource::local_mem);
  ASSERT_GT(lp.costs[cached][mem], lp.costs[stateless][mem]);
  EXPECT_NEAR(s.n[cached], 0.8, 1e-12);
  EXPECT_EQ(s.n[stateless], 0);
}

RC_GTEST_PROP(PathLpProperty, GivesTheSameAnswerTwice, ()) {
  const PathLp lp = any_lp();
  RC_ASSERT(solve(lp).n == solve(lp).n);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
