// Drawn accepted lengths against the closed forms, for every kind of description.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/acceptance/acceptance.h"
#include "sim/engine/random.h"
#include "tests/models/acceptance_kinds.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr std::int64_t kDraft = 30;
constexpr int kDraws = 200'000;
constexpr double kSigmas = 4.5;  // about one false alarm in 150,000 comparisons

/// How often each accepted length 0..kDraft was drawn; one fresh request a draw.
std::vector<double> histogram(const AcceptanceSpec& spec, std::int64_t x = kDraft) {
  const AcceptanceModel model(spec, 0.95, 60);
  engine::RandomStream uniform(11, "acceptance"), agreement(11, "agreement");
  std::vector<double> counts(static_cast<std::size_t>(x) + 1, 0.0);
  for (int i = 0; i < kDraws; ++i) {
    RequestAcceptance request;
    if (model.heterogeneous()) request.agreement = agreement.beta(model.beta_a(), model.beta_b());
    counts.at(static_cast<std::size_t>(model.accepted(x, uniform.uniform(), request))) += 1;
  }
  return counts;
}

class Sampling : public ::testing::TestWithParam<testing::NamedAcceptance> {};

TEST_P(Sampling, MeanIsTheAcceptanceLength) {
  const AcceptanceModel model(GetParam().spec, 0.95, 60);
  const std::vector<double> counts = histogram(GetParam().spec);
  double sum = 0, squares = 0;
  for (std::size_t n = 0; n < counts.size(); ++n) {
    const auto length = static_cast<double>(n);
    sum += counts[n] * length;
    squares += counts[n] * length * length;
  }
  const double mean = sum / kDraws;
  const double standard_error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
  EXPECT_NEAR(mean, model.expected_accepted(kDraft), kSigmas * standard_error);
}

TEST_P(Sampling, EachPositionIsAcceptedWithItsHazard) {
  // Given that i - 1 were accepted, the i-th is with probability S(i)/S(i - 1).
  const AcceptanceModel model(GetParam().spec, 0.95, 60);
  const std::vector<double> counts = histogram(GetParam().spec);
  double reached = kDraws;
  for (std::int64_t i = 1; i <= kDraft; ++i) {
    const double went_on = reached - counts[static_cast<std::size_t>(i - 1)];
    const double hazard = model.survival(i) / model.survival(i - 1);
    const double standard_error = std::sqrt(hazard * (1 - hazard) / reached);
    EXPECT_NEAR(went_on / reached, hazard, kSigmas * standard_error + 1e-12) << "position " << i;
    reached = went_on;
    if (reached < 1000) break;
  }
}

TEST_P(Sampling, ADraftIsNeverAcceptedBeyondItsEndAndLongerOnesBeginAlike) {
  // At the same u a draft of x accepts what a draft of 60 does, cut at x.
  const AcceptanceModel model(GetParam().spec, 0.95, 60);
  engine::RandomStream uniform(5, "acceptance");
  for (int i = 0; i < 2000; ++i) {
    const double u = uniform.uniform();
    const RequestAcceptance request{0.9};
    const std::int64_t whole = model.accepted(60, u, request);
    for (const std::int64_t x : {0, 1, 7, 30, 60}) {
      ASSERT_EQ(model.accepted(x, u, request), std::min<std::int64_t>(x, whole)) << "x " << x << ", u " << u;
    }
  }
}

TEST_P(Sampling, UnluckierDrawsAcceptNoMore) {
  const AcceptanceModel model(GetParam().spec, 0.95, 60);
  std::int64_t before = 60;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t now = model.accepted(60, i / 1000.0, {0.9});
    ASSERT_LE(now, before);
    before = now;
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKind, Sampling, ::testing::ValuesIn(testing::every_kind()));

TEST(SamplingOneRequest, OfItsOwnAgreementIsGeometric) {
  // Where requests differ, one request's draws follow its own a: mean a (1 - a^x)/(1 - a).
  const AcceptanceModel model(testing::heterogeneous(0.5, 2), 1, 60);
  engine::RandomStream uniform(3, "acceptance");
  for (const double a : {0.2, 0.9, 0.99}) {
    double sum = 0, squares = 0;
    for (int i = 0; i < kDraws; ++i) {
      const auto n = static_cast<double>(model.accepted(kDraft, uniform.uniform(), {a}));
      sum += n;
      squares += n * n;
    }
    const double mean = sum / kDraws;
    const double standard_error = std::sqrt((squares / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, a * (1 - std::pow(a, 30)) / (1 - a), kSigmas * standard_error) << a;
  }
}

TEST(SamplingOneRequest, AtTheEndsOfAgreementAcceptsAllOrNothing) {
  const AcceptanceModel model(testing::heterogeneous(0.5, 2), 1, 60);
  for (const double u : {0.0, 0.3, 0.999999}) {
    EXPECT_EQ(model.accepted(30, u, {1.0}), 30);
    EXPECT_EQ(model.accepted(30, u, {0.0}), u > 0 ? 0 : 30);
  }
}

TEST(SamplingAtTheBoundary, AcceptsWhileTheDrawIsBelowTheSurvival) {
  // S = 1/2, 1/4, 1/8, ...: the i-th token is accepted if u < S(i).
  const AcceptanceModel alike(testing::constant(0.5), 1, 60), differ(testing::heterogeneous(0.5, 2), 1, 60);
  for (const AcceptanceModel* m : {&alike, &differ}) {
    EXPECT_EQ(m->accepted(10, 0.75, {0.5}), 0);
    EXPECT_EQ(m->accepted(10, 0.5, {0.5}), 0);
    EXPECT_EQ(m->accepted(10, 0.375, {0.5}), 1);
    EXPECT_EQ(m->accepted(10, 0.25, {0.5}), 1);
    EXPECT_EQ(m->accepted(10, 0.0, {0.5}), 10);
  }
  EXPECT_EQ(AcceptanceModel(testing::recorded({3}), 1, 60).accepted(10, 0.0, {}), 3);  // never beyond the record
}

TEST(SamplingRecorded, ReproducesTheRecordWithEqualWeights) {
  const std::vector<double> counts = histogram(testing::recorded({2, 0, 5, 2}), 10);
  const auto share = [&](std::size_t n) { return counts[n] / kDraws; };
  EXPECT_NEAR(share(0), 0.25, 0.005);
  EXPECT_NEAR(share(2), 0.5, 0.005);
  EXPECT_NEAR(share(5), 0.25, 0.005);
  EXPECT_DOUBLE_EQ(counts[0] + counts[2] + counts[5], kDraws);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
