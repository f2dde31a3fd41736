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

namespace KVSIM_FILE {

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

// Measured on these 200 problems (mean, median, worst): least drop 0.062, 0.032, 0.44; per byte 0.056, 0.019, 0.80; for
// need 0.038, 0.010, 0.41. The mean is small because most objects get the configuration that suits them. The worst have
// one or two objects as large as a tier: inserted late they push out what was there, nothing comes back into the space
// that is left, and what gave up quality for them does not regain it.
TEST(GreedyGap, IsSmallInTheMeanAndNeverNegative) {
  const Gaps least_drop = gaps_of(UtilityVariant::least_drop, "least_drop");
  EXPECT_LT(least_drop.mean, 0.08);
  EXPECT_LT(least_drop.median, 0.05);
  EXPECT_LT(least_drop.worst, 0.5);
  const Gaps per_byte = gaps_of(UtilityVariant::least_drop_per_byte, "least_drop_per_byte");
  EXPECT_LT(per_byte.mean, 0.08);
  EXPECT_LT(per_byte.median, 0.03);
  EXPECT_LT(per_byte.worst, 0.85);
  const Gaps for_need = gaps_of(UtilityVariant::least_drop_for_need, "least_drop_for_need");
  EXPECT_LT(for_need.mean, 0.8 * per_byte.mean);
  EXPECT_LT(for_need.median, per_byte.median);
  EXPECT_LT(for_need.worst, 0.5);
}

// With many objects, none is as large as what is missing, and the least loss per byte is nearly the best there is (as
// for the linear relaxation of the knapsack); the least loss alone takes many small steps that free little. Against a
// proven upper bound, 100 objects, measured means over ten problems: 0.087, 0.012 and (for need) 0.013.
//
// Why three times the need counts and not once: means of the rule over other seeds than these (600 problems as above;
// 100, 40, 20 of 30, 100, 300 objects), for what counts in multiples of the need:
//                once     twice    3        4        6        10       per byte  least drop
//   6 to 10      0.052    0.047    0.049    0.051    0.053    0.057    0.058     0.078
//   30           0.035    0.027    0.027    0.027    0.029    0.028    0.033     0.093
//   100          0.024    0.012    0.011    0.011    0.011    0.013    0.013     0.083
//   300          0.024    0.012    0.011    0.011    0.011    0.012    0.012     0.085
TEST(GreedyGap, PerByteComesCloserThanLeastDropWhereObjectsAreMany) {
  double least_drop = 0;
  double per_byte = 0;
  double for_need = 0;
  constexpr std::uint64_t kMany = 10;
  for (std::uint64_t seed = 0; seed < kMany; ++seed) {
    const PlacementProblem problem = random_problem(5000 + seed, {100, 3, 12, true});
    const double bound = best_placement(problem, 200).bound;
    const double scale = (bound - total_utility(problem, Assignment(problem.objects.size()))) * kMany;
    const auto gap = [&](UtilityVariant variant) {
      return (bound - greedy_placement(problem, variant).utility) / scale;
    };
    least_drop += gap(UtilityVariant::least_drop);
    per_byte += gap(UtilityVariant::least_drop_per_byte);
    for_need += gap(UtilityVariant::least_drop_for_need);
  }
  std::printf("100 objects: least_drop %.4f least_drop_per_byte %.4f least_drop_for_need %.4f\n", least_drop, per_byte,
              for_need);
  EXPECT_GT(per_byte, 0);
  EXPECT_LT(per_byte, 0.03);
  EXPECT_LT(per_byte, least_drop / 2);
  EXPECT_GT(for_need, 0);
  EXPECT_LT(for_need, least_drop / 2);
}

}  // namespace
}  // namespace KVSIM_FILE
