// The worked example of joint compression and eviction: fast memory of 8 GB at 20 GB/s over an unlimited device at
// 2 GB/s. Context 1 has 4 GB and loses nothing at 5 %; context 2 has 8 GB, and any compression halves its quality.
#include <gtest/gtest.h>

#include "models/placement/option_pool.h"
#include "sim/cache/placement/placement_problem.h"

namespace KVSIM_FILE {

using namespace kvsim;
using namespace kvsim::cache;
using models::UtilityVariant;

namespace {

constexpr std::int64_t kGigabyte = 1'000'000'000;
constexpr TierIndex kFast = 0;
constexpr TierIndex kSlow = 1;
constexpr models::OptionIndex kWhole = 0;
constexpr models::OptionIndex kHalf = 1;
constexpr models::OptionIndex kTwentieth = 2;

PlacementProblem example(double alpha_s) {
  PlacementProblem problem;
  problem.alpha_s = alpha_s;
  problem.prefill_s_per_full_byte = 1e-9;  // 4 s and 8 s: slower than any load
  for (const double keep : {0.5, 0.05}) {
    models::StorageOption option;
    option.name = option.method = "drop";
    option.keep = keep;
    problem.pool.add(option);
  }
  problem.tiers = {{.name = "fast", .capacity_bytes = 8 * kGigabyte, .next = kSlow, .read_bytes_per_s = 20e9},
                   {.name = "slow", .read_bytes_per_s = 2e9}};
  problem.objects = {{4 * kGigabyte, 1, {1, 1, 1}}, {8 * kGigabyte, 1, {1, 0.5F, 0.5F}}};
  return problem;
}

// Sum of utilities = alpha x (sum of qualities) - (sum of TTFTs): alpha 0 leaves the TTFTs.
double ttft_sum(const Assignment& assignment) {
  return -total_utility(example(0), assignment);
}
double mean_quality(const Assignment& assignment) {
  return (total_utility(example(1), assignment) + ttft_sum(assignment)) / 2;
}

const Assignment kBothHalved{{kFast, kHalf}, {kFast, kHalf}};
const Assignment kEvictionOnly{{kSlow, kWhole}, {kFast, kWhole}};
const Assignment kJoint{{kSlow, kTwentieth}, {kFast, kWhole}};

void expect_joint(const Assignment& assignment) {
  ASSERT_EQ(assignment.size(), kJoint.size());
  for (std::size_t i = 0; i < kJoint.size(); ++i) {
    EXPECT_EQ(assignment[i].tier, kJoint[i].tier) << "context " << i + 1;
    EXPECT_EQ(assignment[i].option, kJoint[i].option) << "context " << i + 1;
  }
}

TEST(Utility, IsAlphaTimesQualityLessTtftTimesFrequency) {
  // 0.01 s + 2 GB / 4 GB/s + 8 GB x 1e-11 s/B = 0.01 + 0.5 + 0.08.
  EXPECT_DOUBLE_EQ(models::load_ttft_s(0.01, 4e9, 2 * kGigabyte, 8 * kGigabyte, 1e-11), 0.59);
  EXPECT_DOUBLE_EQ(models::prefill_ttft_s(8 * kGigabyte, 0.5e-9), 4);
  EXPECT_DOUBLE_EQ(models::utility_s(10, 0.9, 0.59, 3), (9 - 0.59) * 3);
  EXPECT_DOUBLE_EQ(models::dropped_utility_s(10, 4, 3), (10 - 4) * 3);
}

TEST(UtilityExample, HalvingBothIsTheFastestAndLosesAQuarterOfTheQuality) {
  // 2 GB / 20 GB/s + 4 GB / 20 GB/s
  EXPECT_TRUE(feasible(example(1), kBothHalved));
  EXPECT_DOUBLE_EQ(ttft_sum(kBothHalved), 0.3);
  EXPECT_DOUBLE_EQ(mean_quality(kBothHalved), 0.75);
}

TEST(UtilityExample, EvictionAloneIsTheSlowest) {
  // 4 GB / 2 GB/s + 8 GB / 20 GB/s
  EXPECT_TRUE(feasible(example(1), kEvictionOnly));
  EXPECT_DOUBLE_EQ(ttft_sum(kEvictionOnly), 2.4);
  EXPECT_DOUBLE_EQ(mean_quality(kEvictionOnly), 1);
}

TEST(UtilityExample, BothTogetherAreFastAndLoseNothing) {
  // 0.2 GB / 2 GB/s + 8 GB / 20 GB/s
  EXPECT_TRUE(feasible(example(1), kJoint));
  EXPECT_DOUBLE_EQ(ttft_sum(kJoint), 0.5);
  EXPECT_DOUBLE_EQ(mean_quality(kJoint), 1);
}

// The best without the joint step keeps both in fast memory at 5 %: 0.01 + 0.02 s, quality 1.5. It is worth less where
// 0.5 alpha > 0.5 - 0.03, so alpha > 0.94 s.
TEST(UtilityExample, TheJointPlacementIsTheBestFromAnAlphaOf940Milliseconds) {
  for (const double alpha : {0.95, 1.0, 10.0}) {
    const ExactPlacement exact = best_placement(example(alpha));
    EXPECT_TRUE(exact.proven_best);
    expect_joint(exact.assignment);
  }
  EXPECT_EQ(best_placement(example(0.93)).assignment[1].option, kTwentieth);
}

// Context 1 goes to 5 % in place first (-0.19 s). 0.2 GB are still missing: moving it to the slow device loses
// 0.1 - 0.01 s; context 2 at 5 % loses 0.5 alpha - 0.38 s.
TEST(UtilityExample, LeastDropFindsTheJointPlacement) {
  for (const double alpha : {1.0, 10.0}) {
    expect_joint(greedy_placement(example(alpha), UtilityVariant::least_drop).assignment);
  }
}

// Per byte, context 1 loses 0.09 s / 0.2 GB and context 2 (0.5 alpha - 0.38 s) / 7.6 GB: less up to alpha = 7.6 s,
// although only 0.2 GB are missing.
TEST(UtilityExample, LeastDropPerByteNeedsALargerAlpha) {
  expect_joint(greedy_placement(example(10), UtilityVariant::least_drop_per_byte).assignment);
  EXPECT_EQ(greedy_placement(example(7), UtilityVariant::least_drop_per_byte).assignment[1].option, kTwentieth);
}

// Three times the 0.2 GB that are missing count: 0.09 s / 0.2 GB against (0.5 alpha - 0.38 s) / 0.6 GB, less from
// alpha = 1.3 s on.
TEST(UtilityExample, LeastDropForNeedFindsTheJointPlacementFromAnAlphaOf1300Milliseconds) {
  for (const double alpha : {1.31, 7.0, 10.0}) {
    expect_joint(greedy_placement(example(alpha), UtilityVariant::least_drop_for_need).assignment);
  }
  for (const double alpha : {1.0, 1.29}) {
    EXPECT_EQ(greedy_placement(example(alpha), UtilityVariant::least_drop_for_need).assignment[1].option, kTwentieth);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
