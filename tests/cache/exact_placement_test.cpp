#include <gtest/gtest.h>

#include <cmath>

#include "sim/cache/placement/placement_problem.h"
#include "tests/cache/random_problem.h"

namespace KVSIM_FILE {

using namespace kvsim::cache;

namespace {

double rounding(double value) {
  return 1e-9 * (1 + std::abs(value));
}

TEST(ExactPlacement, FindsWhatTryingEverythingFinds) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    ProblemSize size;
    size.objects = 1 + seed % 4;
    size.tiers = 1 + seed % 3;
    size.options = seed % 4;
    size.smooth = seed % 2 == 0;
    const PlacementProblem problem = random_problem(seed, size);
    const ExactPlacement exact = best_placement(problem);
    const double most = most_utility(problem);
    EXPECT_TRUE(exact.proven_best) << seed;
    EXPECT_TRUE(feasible(problem, exact.assignment)) << seed;
    EXPECT_NEAR(exact.utility, most, rounding(most)) << seed;
    EXPECT_NEAR(total_utility(problem, exact.assignment), exact.utility, rounding(most)) << seed;
    EXPECT_GE(exact.bound, most - rounding(most)) << seed;
  }
}

TEST(ExactPlacement, ABoundHoldsWhereverTheSearchIsCutOff) {
  int open = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const PlacementProblem problem = random_problem(seed, {4, 1 + seed % 3, 2, seed % 2 == 0});
    const double most = most_utility(problem);
    for (const std::int64_t limit : {1, 2, 3, 4, 5, 6, 8, 12}) {
      const ExactPlacement cut = best_placement(problem, limit);
      EXPECT_TRUE(feasible(problem, cut.assignment)) << seed;
      EXPECT_LE(cut.utility, most + rounding(most)) << seed;
      EXPECT_GE(cut.bound, most - rounding(most)) << seed;
      EXPECT_GE(cut.bound, cut.utility) << seed;
      open += !cut.proven_best;
    }
  }
  EXPECT_GT(open, 20);  // or nothing was cut off
}

TEST(ExactPlacement, TwelveObjectsInThreeTiersTakeFewNodes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const ExactPlacement exact = best_placement(random_problem(seed, {12, 3, 9, true}));
    EXPECT_TRUE(exact.proven_best) << seed << ": " << exact.nodes << " nodes";
  }
}

TEST(ExactPlacement, NoObjectsAreWorthNothing) {
  PlacementProblem problem = random_problem(1, {1, 2, 2, true});
  problem.objects.clear();
  const ExactPlacement exact = best_placement(problem);
  EXPECT_TRUE(exact.proven_best);
  EXPECT_EQ(exact.utility, 0);
}

}  // namespace
}  // namespace KVSIM_FILE
