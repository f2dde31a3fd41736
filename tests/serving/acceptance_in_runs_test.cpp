// Acceptance as sampled in runs against the closed form A(x).
#include <gtest/gtest.h>

#include <cmath>

#include "models/acceptance/acceptance.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

TEST(Acceptance, TheMeanAcceptedLengthOfARunIsTheClosedForm) {
  // draft_limit = x, so that every round but each request's last drafts exactly 20.
  const auto s = small_scenario({"decode.acceptance={model: constant, agreement: 0.95}", "decode.draft_limit=20",
                                 "workload.output=8000 tokens", "workload.requests=20"});
  const serving::Measurements m = measure(s);
  double expected = 0, second = 0;  // A(20) = sum a^i; E[N^2] = sum (2i - 1) a^i
  for (int i = 1; i <= 20; ++i) {
    expected += std::pow(0.95, i);
    second += (2 * i - 1) * std::pow(0.95, i);
  }
  const double rounds = static_cast<double>(m.rounds);
  const double standard_error = std::sqrt((second - expected * expected) / rounds);
  const double last_rounds = 20.0 / rounds * expected;  // each request's last round may be cut short
  EXPECT_NEAR(static_cast<double>(m.accepted_tokens) / rounds, expected, 4 * standard_error + last_rounds);
}

TEST(Acceptance, TheGapTailGrowsWhenRequestsDiffer) {
  // Equal mean agreement: requests that agree rarely wait longer per token.
  const std::vector<std::string> alike = {"decode.acceptance={model: constant, agreement: 0.9}",
                                          "workload.requests=200"};
  const std::vector<std::string> differ = {"decode.acceptance={model: heterogeneous, agreement: 0.9, concentration: 5}",
                                           "workload.requests=200"};
  EXPECT_GT(measure_with(differ).tpot_s.quantile(0.9), measure_with(alike).tpot_s.quantile(0.9));
}

TEST(Acceptance, ChangingTheSeedChangesTheDraws) {
  EXPECT_NE(measure_with({"run.seed=1"}).accepted_tokens, measure_with({"run.seed=2"}).accepted_tokens);
  EXPECT_EQ(measure_with({"run.seed=1"}).accepted_tokens, measure_with({"run.seed=1"}).accepted_tokens);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
