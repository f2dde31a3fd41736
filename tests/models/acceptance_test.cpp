// Closed forms of the acceptance length, A(x) = sum of S(i) for i = 1..x, for every kind of description.
#include "models/acceptance/acceptance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

#include "tests/models/acceptance_kinds.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::constant;
using testing::curve;
using testing::heterogeneous;
using testing::positions;
using testing::recorded;

TEST(AcceptanceLength, OfConstantAgreementIsTheGeometricSum) {
  // a (1 - a^x)/(1 - a): 0.5 + 0.25 + 0.125.
  const AcceptanceModel half(constant(0.5), 1, 10);
  EXPECT_DOUBLE_EQ(half.expected_accepted(0), 0);
  EXPECT_DOUBLE_EQ(half.expected_accepted(1), 0.5);
  EXPECT_DOUBLE_EQ(half.expected_accepted(3), 0.875);
  EXPECT_DOUBLE_EQ(half.survival(0), 1);
  EXPECT_DOUBLE_EQ(half.survival(3), 0.125);
  const AcceptanceModel published(constant(0.9825), 1, 60);
  EXPECT_NEAR(published.expected_accepted(30), 0.9825 * (1 - std::pow(0.9825, 30)) / 0.0175, 1e-9);
  EXPECT_NEAR(published.expected_accepted(30), 23.1, 0.05);
  EXPECT_DOUBLE_EQ(AcceptanceModel(constant(1), 1, 10).expected_accepted(10), 10);
}

TEST(AcceptanceLength, OfTheCompressorIsItsOwnAgreement) {
  const AcceptanceModel m(AcceptanceSpec{}, 0.5, 10);
  EXPECT_DOUBLE_EQ(m.expected_accepted(2), 0.75);
}

TEST(AcceptanceLength, OfAStepKlIsItsExponential) {
  AcceptanceSpec s;
  s.kind = AcceptanceKind::step_kl;
  s.step_kl_nats = std::log(2);
  EXPECT_NEAR(AcceptanceModel(s, 1, 10).expected_accepted(3), 0.875, 1e-12);
  s.step_kl_nats = 0;
  EXPECT_DOUBLE_EQ(AcceptanceModel(s, 1, 10).expected_accepted(10), 10);
}

TEST(AcceptanceLength, OfACurveMeetsItsPointsAndFollowsTheLastSlope) {
  // Slopes 0.8 up to 5, 0.4 up to 10, 0.4 beyond.
  const AcceptanceModel m(curve({{5, 4}, {10, 6}}), 1, 20);
  EXPECT_NEAR(m.expected_accepted(1), 0.8, 1e-12);
  EXPECT_NEAR(m.expected_accepted(5), 4, 1e-12);
  EXPECT_NEAR(m.expected_accepted(7), 4.8, 1e-12);
  EXPECT_NEAR(m.expected_accepted(10), 6, 1e-12);
  EXPECT_NEAR(m.expected_accepted(20), 10, 1e-12);
}

TEST(AcceptanceLength, OfDifferingRequestsIsTheMomentSumOfTheBetaLaw) {
  // Beta(3, 1): E[a^i] = 3/(3 + i); 3/4 + 3/5 + 3/6.
  const AcceptanceModel m(heterogeneous(0.75, 4), 1, 10);
  EXPECT_DOUBLE_EQ(m.beta_a(), 3);
  EXPECT_DOUBLE_EQ(m.beta_b(), 1);
  EXPECT_NEAR(m.expected_accepted(3), 0.75 + 0.6 + 0.5, 1e-12);
}

TEST(AcceptanceLength, OfDifferingRequestsIsLongerThanOfTheirMean) {
  // Jensen: E[a^i] >= E[a]^i.
  const AcceptanceModel differ(heterogeneous(0.9, 5), 1, 30), alike(constant(0.9), 1, 30);
  EXPECT_DOUBLE_EQ(differ.survival(1), alike.survival(1));
  EXPECT_GT(differ.expected_accepted(30), alike.expected_accepted(30) + 0.5);
}

TEST(AcceptanceLength, OfARecordCountsHowManyReachEachPosition) {
  // Lengths 0, 2, 2, 5: S = 3/4, 3/4, 1/4, 1/4, 1/4, 0.
  const AcceptanceModel m(recorded({2, 0, 5, 2}), 1, 10);
  EXPECT_DOUBLE_EQ(m.survival(1), 0.75);
  EXPECT_DOUBLE_EQ(m.survival(2), 0.75);
  EXPECT_DOUBLE_EQ(m.survival(3), 0.25);
  EXPECT_DOUBLE_EQ(m.survival(6), 0);
  EXPECT_DOUBLE_EQ(m.expected_accepted(2), 1.5);
  EXPECT_DOUBLE_EQ(m.expected_accepted(10), 9.0 / 4);  // the mean of the record
}

TEST(AcceptanceLength, ByPositionIsTheSumOfWhatIsGivenAndTheLastHazardGoesOn) {
  // S = 0.8, 0.6, 0.3, then half as often with each further token: 0.15, 0.075.
  const AcceptanceModel m(positions({0.8, 0.6, 0.3}), 1, 20);
  EXPECT_EQ(m.survival(0), 1);
  EXPECT_EQ(m.survival(1), 0.8);
  EXPECT_EQ(m.survival(2), 0.6);
  EXPECT_EQ(m.survival(3), 0.3);
  EXPECT_NEAR(m.survival(4), 0.15, 1e-15);
  EXPECT_NEAR(m.survival(5), 0.075, 1e-15);
  EXPECT_NEAR(m.expected_accepted(2), 1.4, 1e-15);
  EXPECT_NEAR(m.expected_accepted(5), 1.925, 1e-15);
}

TEST(AcceptanceLength, ByOnePositionIsAConstantAgreement) {
  const AcceptanceModel one(positions({0.85}), 1, 20), alike(constant(0.85), 1, 20);
  for (int i = 1; i <= 20; ++i) EXPECT_NEAR(one.survival(i), alike.survival(i), 1e-15);
  EXPECT_EQ(AcceptanceModel(positions({1}), 1, 20).survival(20), 1);
}

TEST(AcceptanceTables, ShorterThanThePositionsGivenLeaveOutTheRest) {
  const AcceptanceModel m(positions({0.8, 0.6, 0.3}), 1, 2);
  EXPECT_NEAR(m.expected_accepted(2), 1.4, 1e-15);
  EXPECT_THROW(static_cast<void>(m.survival(3)), std::out_of_range);
}

TEST(AcceptanceCurve, ThatIsNoSurvivalFunctionIsMadeOne) {
  // Slopes 0.2 then 1.6: no position survives more often than the one before it, nor more than always.
  const AcceptanceModel rising(curve({{5, 1}, {10, 9}}), 1, 10);
  for (int i = 1; i <= 10; ++i) EXPECT_NEAR(rising.survival(i), 0.2, 1e-12);
  const AcceptanceModel steep(curve({{5, 9}}), 1, 10);  // more accepted than drafted
  for (int i = 1; i <= 10; ++i) EXPECT_DOUBLE_EQ(steep.survival(i), 1);
  const AcceptanceModel falling(curve({{5, 4}, {10, 3}}), 1, 10);  // fewer accepted of longer drafts
  EXPECT_DOUBLE_EQ(falling.survival(6), 0);
  EXPECT_NEAR(falling.expected_accepted(10), 4, 1e-12);
}

TEST(AcceptanceFigures, ThatAreImpossibleAreRefused) {
  const auto refused = [](const AcceptanceSpec& s, double compressor = 0.9) {
    EXPECT_THROW(AcceptanceModel(s, compressor, 10), std::invalid_argument);
  };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -0.1, 1.1, nan}) {
    refused(constant(bad));
    refused(AcceptanceSpec{}, bad);
    refused(heterogeneous(bad, 50));
  }
  refused(heterogeneous(1, 50));
  refused(heterogeneous(0.9, 0));
  refused(heterogeneous(0.9, -1));
  refused(heterogeneous(0.9, nan));
  refused(curve({}));
  refused(recorded({}));
  refused(positions({}));
  for (const double bad : {0.0, -0.1, 1.1, nan}) {
    refused(positions({bad}));
    refused(positions({0.9, bad}));
  }
  refused(positions({0.5, 0.6}));
  AcceptanceSpec kl;
  kl.kind = AcceptanceKind::step_kl;
  for (const double bad : {-0.1, nan}) {
    kl.step_kl_nats = bad;
    refused(kl);
  }
}

TEST(AcceptanceTables, ReachToTheLongestDraftAndNoFurther) {
  const AcceptanceModel m(constant(0.5), 1, 10);
  EXPECT_NO_THROW(static_cast<void>(m.expected_accepted(10)));
  EXPECT_THROW(static_cast<void>(m.expected_accepted(11)), std::out_of_range);
  EXPECT_THROW(static_cast<void>(m.survival(-1)), std::out_of_range);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
