// The renewal recursion: closed cases, a hand calculation, and sampling.
#include "planner/paths/path_costs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kvsim::planner::KVSIM_FILE {
namespace {

models::AcceptanceSpec constant(double a) {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::constant;
  spec.agreement = a;
  return spec;
}

ExpectedRounds of(const models::AcceptanceSpec& spec, std::int64_t x, std::int64_t K) {
  return expected_rounds({spec, 1, x}, x, K);
}

double uniform(std::mt19937_64& engine) {
  return static_cast<double>(engine() >> 11U) * 0x1p-53;
}

/// Mean rounds and drafts of many requests; `own` draws a request's agreement.
template <class Own>
ExpectedRounds sampled(const models::AcceptanceSpec& spec, std::int64_t x, std::int64_t K, int requests, Own&& own) {
  const models::AcceptanceModel model(spec, 1, x);
  std::mt19937_64 engine(7);
  ExpectedRounds sum;
  for (int r = 0; r < requests; ++r) {
    const models::RequestAcceptance request{own(engine)};
    for (std::int64_t left = K; left > 0;) {
      const std::int64_t drafts = std::min(x, left);
      sum.rounds += 1;
      sum.drafts += static_cast<double>(drafts);
      left -= model.accepted(drafts, uniform(engine), request) + 1;
    }
  }
  return {sum.rounds / requests, sum.drafts / requests};
}

TEST(ExpectedRounds, OfDraftsThatAreAllAcceptedAreTheirNumberRoundedUp) {
  for (const std::int64_t x : {1, 3, 40}) {
    for (const std::int64_t K : {1, 2, 4, 5, 41, 82, 83, 512}) {
      EXPECT_DOUBLE_EQ(of(constant(1), x, K).rounds, std::ceil(static_cast<double>(K) / static_cast<double>(x + 1)));
    }
  }
  // 10 = 4 + 4 + 2: 3 drafts, 3 drafts and the last 2.
  EXPECT_DOUBLE_EQ(of(constant(1), 3, 10).drafts, 8);
}

TEST(ExpectedRounds, OfDraftsThatAreNeverAcceptedAreOnePerToken) {
  models::AcceptanceSpec never;
  never.kind = models::AcceptanceKind::recorded;
  never.lengths = {0};
  EXPECT_DOUBLE_EQ(of(never, 5, 17).rounds, 17);
  EXPECT_DOUBLE_EQ(of(never, 5, 17).drafts, 12 * 5 + 5 + 4 + 3 + 2 + 1);
}

TEST(ExpectedRounds, ByHand) {
  // x = 2, a = 1/2. R(1) = 1. R(2): none accepted (1/2) leaves 1, else done: 1.5. R(3): none (1/2) leaves 2, one (1/4)
  // leaves 1, both are all: 1 + 0.75 + 0.25 = 2. Drafts: D(1) = 1, D(2) = 2 + 0.5, D(3) = 2 + 0.5 x 2.5 + 0.25 x 1.
  EXPECT_DOUBLE_EQ(of(constant(0.5), 2, 1).rounds, 1);
  EXPECT_DOUBLE_EQ(of(constant(0.5), 2, 2).rounds, 1.5);
  EXPECT_DOUBLE_EQ(of(constant(0.5), 2, 3).rounds, 2);
  EXPECT_DOUBLE_EQ(of(constant(0.5), 2, 3).drafts, 3.5);
}

TEST(ExpectedRounds, AreWhatSamplingGives) {
  models::AcceptanceSpec curve;
  curve.kind = models::AcceptanceKind::curve;
  curve.points = {{2, 1.6}, {10, 5}};
  const auto any = [](std::mt19937_64&) { return 1.0; };
  for (const models::AcceptanceSpec& spec : {constant(0.9), constant(0.3), curve}) {
    for (const std::int64_t K : {5, 100}) {
      const ExpectedRounds expected = of(spec, 8, K), found = sampled(spec, 8, K, 40000, any);
      EXPECT_NEAR(expected.rounds, found.rounds, 0.01 * found.rounds) << K;
      EXPECT_NEAR(expected.drafts, found.drafts, 0.01 * found.drafts) << K;
    }
  }
}

TEST(ExpectedRounds, OfRequestsThatKeepTheirOwnAgreement) {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::heterogeneous;
  spec.agreement = 0.8;
  spec.concentration = 5;
  const auto beta = [](std::mt19937_64& engine) {
    const double a = std::gamma_distribution<double>(4)(engine), b = std::gamma_distribution<double>(1)(engine);
    return a / (a + b);
  };
  const ExpectedRounds expected = of(spec, 10, 200), found = sampled(spec, 10, 200, 40000, beta);
  EXPECT_NEAR(expected.rounds, found.rounds, 0.01 * found.rounds);
  EXPECT_NEAR(expected.drafts, found.drafts, 0.01 * found.drafts);
}

TEST(ExpectedRounds, OfRequestsThatHardlyDifferAreThoseOfOneAgreement) {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::heterogeneous;
  spec.agreement = 0.9;
  spec.concentration = 1e6;
  EXPECT_NEAR(of(spec, 10, 200).rounds, of(constant(0.9), 10, 200).rounds, 1e-2);
}

TEST(ExpectedRounds, GoOnAtTheSteadyRateBeyondTheRecursion) {
  const double far = of(constant(0.9), 4, 70000).rounds, near = of(constant(0.9), 4, 65000).rounds;
  const double yield = 1 + 0.9 + 0.81 + 0.729 + 0.6561;
  EXPECT_NEAR(far - near, 5000 / yield, 1e-6);
}

TEST(ExpectedRounds, OfOutputsThatDifferAreAveragedOverThem) {
  const models::AcceptanceModel model(constant(0.9), 1, 8);
  const ExpectedRounds a = expected_rounds(model, 8, 20), b = expected_rounds(model, 8, 100);
  const ExpectedRounds both = expected_rounds(model, 8, {20.2, 100, 20, 20});
  EXPECT_NEAR(both.rounds, (3 * a.rounds + b.rounds) / 4, 1e-12 * b.rounds);
  EXPECT_NEAR(both.drafts, (3 * a.drafts + b.drafts) / 4, 1e-12 * b.drafts);
  EXPECT_DOUBLE_EQ(expected_rounds(model, 8, std::vector<double>{0.2}).rounds, 1);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
