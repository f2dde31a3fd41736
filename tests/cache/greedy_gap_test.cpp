// How far the greedy placements end from the best: (best - greedy)/(best - everything dropped), so that 0 is the best
// and 1 is no cache at all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

#include "sim/cache/placement/placement_problem.h"
#include "tests/cache/random_problem.h"

using namespace kvsim;
using namespace kvsim::cache;
using models::UtilityVariant;

namespace {

struct Gaps {
  double mean = 0;
  double median = 0;
  double worst = 0;
};

constexpr std::uint64_t kProblems = 200;

struct Solved {
  PlacementProblem problem;
  double best = 0;
  double dropped = 0;
};

const std::vector<Solved>& solved_problems() {
  static const std::vector<Solved> all = [] {
    std::vector<Solved> result;
    for (std::uint64_t seed = 0; seed < kProblems; ++seed) {
      Solved s{random_problem(1000 + seed, {6 + seed % 5, 2 + seed % 2, 4 + seed % 5, true}), 0, 0};
      const ExactPlacement exact = best_placement(s.problem);
      EXPECT_TRUE(exact.proven_best) << seed;
      s.best = exact.utility;
      s.dropped = total_utility(s.problem, Assignment(s.problem.objects.size()));
      result.push_back(std::move(s));
    }
    return result;
  }();
  return all;
}

Gaps gaps_of(UtilityVariant variant, const std::string& name) {
  std::vector<double> gaps;
  for (const Solved& s : solved_problems()) {
    const GreedyPlacement greedy = greedy_placement(s.problem, variant);
    EXPECT_TRUE(feasible(s.problem, greedy.assignment));
    EXPECT_LE(greedy.utility, s.best + 1e-9 * std::abs(s.best));
    EXPECT_LE(greedy.utility, total_utility(s.problem, greedy.assignment) + 1e-9 * std::abs(s.best));
    if (s.best > s.dropped) gaps.push_back((s.best - greedy.utility) / (s.best - s.dropped));
  }
  std::sort(gaps.begin(), gaps.end());
  const Gaps result{std::accumulate(gaps.begin(), gaps.end(), 0.0) / static_cast<double>(gaps.size()),
                    gaps[gaps.size() / 2], gaps.back()};
  std::printf("%-20s mean %.4f median %.4f worst %.4f of %zu\n", name.c_str(), result.mean, result.median, result.worst,
              gaps.size());
  testing::Test::RecordProperty(name + "_mean", std::to_string(result.mean));
  testing::Test::RecordProperty(name + "_median", std::to_string(result.median));
  testing::Test::RecordProperty(name + "_worst", std::to_string(result.worst));
  return result;
}

}  // namespace

// Measured on these 200 problems (mean, median, worst): least drop 0.062, 0.032, 0.44; per byte 0.056, 0.019, 0.80. The
// mean is small because most objects get the configuration that suits them. The worst have one or two objects as large
// as a tier: inserted late they push out what was there, nothing comes back into the space that is left, and what
// gave up quality for them does not regain it.
TEST(GreedyGap, IsSmallInTheMeanAndNeverNegative) {
  const Gaps least_drop = gaps_of(UtilityVariant::least_drop, "least_drop");
  EXPECT_LT(least_drop.mean, 0.08);
  EXPECT_LT(least_drop.median, 0.05);
  EXPECT_LT(least_drop.worst, 0.5);
  const Gaps per_byte = gaps_of(UtilityVariant::least_drop_per_byte, "least_drop_per_byte");
  EXPECT_LT(per_byte.mean, 0.08);
  EXPECT_LT(per_byte.median, 0.03);
  EXPECT_LT(per_byte.worst, 0.85);
  // From where an object stands, the first edge of the hull is the least loss per byte: taken one change at a time,
  // the two variants part only where options lie on one edge.
  const Gaps hull = gaps_of(UtilityVariant::hull, "hull");
  EXPECT_NEAR(hull.mean, per_byte.mean, 0.01);
}

// With many objects, none is as large as what is missing, and the least loss per byte is nearly the best there is (as
// for the linear relaxation of the knapsack); the least loss alone takes many small steps that free little. Against a
// proven upper bound, 100 objects, measured means over ten problems: 0.087 and 0.012.
TEST(GreedyGap, PerByteComesCloserThanLeastDropWhereObjectsAreMany) {
  double least_drop = 0;
  double per_byte = 0;
  constexpr std::uint64_t kMany = 10;
  for (std::uint64_t seed = 0; seed < kMany; ++seed) {
    const PlacementProblem problem = random_problem(5000 + seed, {100, 3, 12, true});
    const double bound = best_placement(problem, 200).bound;
    const double scale = (bound - total_utility(problem, Assignment(problem.objects.size()))) * kMany;
    least_drop += (bound - greedy_placement(problem, UtilityVariant::least_drop).utility) / scale;
    per_byte += (bound - greedy_placement(problem, UtilityVariant::least_drop_per_byte).utility) / scale;
  }
  std::printf("100 objects: least_drop %.4f least_drop_per_byte %.4f\n", least_drop, per_byte);
  EXPECT_GT(per_byte, 0);
  EXPECT_LT(per_byte, 0.03);
  EXPECT_LT(per_byte, least_drop / 2);
}
