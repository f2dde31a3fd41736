// What cannot be had together.
#include <gtest/gtest.h>

#include "planner/plan/scenario_plan.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

TEST(ParetoFront, KeepsWhatNothingElseBeats) {
  // (1, 3) and (3, 1) beat each other; (1, 2) is beaten by (1, 3), (2, 2) by nobody; of the equal ones the first stays.
  EXPECT_EQ(pareto_front({{1, 3}, {1, 2}, {2, 2}, {3, 1}, {2, 2}}), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_TRUE(pareto_front({}).empty());
  EXPECT_EQ(pareto_front({{5, 5, 5}}), (std::vector<std::size_t>{0}));
}

std::vector<Choice> choices(const GpuRates& rates = {}) {
  PlanRequest request;
  request.keep_ratios = {0.1, 0.25, 0.5};
  return pareto_choices(testing::small_scenario(), request, rates);
}

TEST(ParetoChoices, NoneIsBeatenByAnother) {
  const std::vector<Choice> front = choices();
  ASSERT_GT(front.size(), 5U);
  for (const Choice& a : front) {
    for (const Choice& b : front) {
      if (&a == &b) continue;
      EXPECT_FALSE(b.tokens_per_s_per_gpu >= a.tokens_per_s_per_gpu &&
                   b.tokens_per_s_per_user >= a.tokens_per_s_per_user && *b.quality >= *a.quality);
    }
  }
}

TEST(ParetoChoices, TheMostTokensOfLosslessPoliciesAreThePlans) {
  PlanRequest request;
  request.keep_ratios = {0.1, 0.25, 0.5};
  const double optimum = plan(testing::small_scenario(), request).optimum.throughput_tokens_per_s;
  double most = 0;
  for (const Choice& c : choices()) {
    if (c.policy != "lossy") most = std::max(most, c.point.throughput_tokens_per_s);
  }
  EXPECT_DOUBLE_EQ(most, optimum);
}

TEST(ParetoChoices, LosslessOnesHaveFullQualityAndLossyOnesTheCompressors) {
  const scenario::Scenario s = testing::small_scenario();
  for (const Choice& c : choices()) {
    EXPECT_DOUBLE_EQ(*c.quality, c.policy == "lossy" ? s.serving.decode.compressor.quality_at(c.point.c) : 1.0);
  }
}

TEST(ParetoChoices, CostAndEnergyFollowFromThroughput) {
  // 3 USD/h at 1,000 tokens/s are 3 / 3.6 M tokens; 700 W are 0.7 J a token.
  for (const Choice& c : choices({3.0, 700.0})) {
    EXPECT_NEAR(*c.usd_per_1m_tokens * c.point.throughput_tokens_per_s, 3.0 / 3600 * 1e6, 1e-6);
    EXPECT_NEAR(*c.joules_per_token * c.point.throughput_tokens_per_s, 700, 1e-6);
  }
  for (const Choice& c : choices()) {
    EXPECT_FALSE(c.usd_per_1m_tokens);
    EXPECT_FALSE(c.joules_per_token);
  }
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
