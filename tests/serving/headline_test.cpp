// The headline scenario against the published figures: 102 tokens/s full KV, 256 tokens/s draft/verify, 2.51 times.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/small_scenario.h"

namespace kvsim::testing {
namespace {

double tokens_per_s(const serving::Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

serving::Measurements headline(const std::string& policy, std::uint64_t seed) {
  auto s = scenario::load_scenario(source_path("scenarios/long_context/headline.yaml"));
  s.serving.run.seed = seed;
  return measure(planner::with_policy(s, policy));
}

class Headline : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(Headline, StaggeredDraftVerifyGainsTwoAndAHalfTimesWithin15Percent) {
  const double gain =
      tokens_per_s(headline("draft_verify:staggered", GetParam())) / tokens_per_s(headline("full_kv", GetParam()));
  EXPECT_GT(gain, 2.5 * 0.85);
  EXPECT_LT(gain, 2.5 * 1.15);
}

TEST_P(Headline, FullKvReachesThePublished102TokensPerSecondWithin15Percent) {
  EXPECT_NEAR(tokens_per_s(headline("full_kv", GetParam())), 102, 0.15 * 102);
}

TEST_P(Headline, StaggeredBeatsLockStepAndSequentialVerify) {
  const double staggered = tokens_per_s(headline("draft_verify:staggered", GetParam()));
  EXPECT_GT(staggered, tokens_per_s(headline("draft_verify:lock_step", GetParam())));
  EXPECT_GT(staggered, tokens_per_s(headline("draft_verify:sequential_verify", GetParam())));
}

INSTANTIATE_TEST_SUITE_P(Seeds, Headline, ::testing::Values(1, 2, 3));

TEST(Quality, LosslessPoliciesDivergeByNothingAndLossyOnesByTheirStepKl) {
  EXPECT_EQ(headline("full_kv", 1).kl_nats, 0);
  EXPECT_EQ(headline("draft_verify:staggered", 1).kl_nats, 0);
  // KVzip: 0.023 nats per step at c = 0.25, in proportion to 1/c - 1: 0.023 x 4/3 at c = 0.2. 60 requests of 200
  // tokens.
  const serving::Measurements lossy = measure(planner::with_policy(small_scenario({"decode.keep_ratio=0.2"}), "lossy"));
  EXPECT_NEAR(lossy.kl_nats, 60 * 200 * 0.023 * 4 / 3, 1e-6);
  EXPECT_NEAR(lossy.same_output, 60 * std::exp(-200 * 0.023 * 4 / 3), 1e-9);
}

}  // namespace
}  // namespace kvsim::testing
