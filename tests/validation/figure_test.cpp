// Errors, tolerances and verdicts of a figure.
#include "tools/validation/group.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kvsim::validation::KVSIM_FILE {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Figure figure(double expected, double simulated, double tolerance) {
  Figure f;
  f.id = "group/name";
  f.expected = expected;
  f.simulated = simulated;
  f.tolerance = tolerance;
  return f;
}

Figure absolute(Figure f) {
  f.measure = Measure::absolute;
  return f;
}

Figure at_most(Figure f) {
  f.claim = Claim::at_most;
  return f;
}

TEST(Figure, ErrorIsRelativeToTheSizeOfWhatIsExpected) {
  EXPECT_DOUBLE_EQ(figure(100, 97, 0).error(), -0.03);
  EXPECT_DOUBLE_EQ(figure(-100, -97, 0).error(), 0.03);
}

TEST(Figure, AbsoluteErrorIsTheDifference) {
  EXPECT_DOUBLE_EQ(absolute(figure(0.5, 0.75, 0)).error(), 0.25);
  EXPECT_DOUBLE_EQ(absolute(figure(0, -2, 0)).error(), -2);
}

TEST(Figure, PassesUpToItsToleranceEitherWay) {
  EXPECT_EQ(figure(100, 125, 0.25).verdict(), Verdict::pass);
  EXPECT_EQ(figure(100, 75, 0.25).verdict(), Verdict::pass);
  EXPECT_EQ(figure(100, 126, 0.25).verdict(), Verdict::outside);
  EXPECT_EQ(figure(100, 74, 0.25).verdict(), Verdict::outside);
}

TEST(Figure, AtMostAllowsAnythingBelow) {
  EXPECT_EQ(at_most(figure(100, 1, 0)).verdict(), Verdict::pass);
  EXPECT_EQ(at_most(figure(100, 100, 0)).verdict(), Verdict::pass);
  EXPECT_EQ(at_most(figure(100, 101, 0)).verdict(), Verdict::outside);
}

TEST(Figure, WhereZeroIsExpectedOnlyZeroPasses) {
  EXPECT_EQ(figure(0, 0, 0.1).verdict(), Verdict::pass);
  EXPECT_EQ(figure(0, 1e-9, 0.1).verdict(), Verdict::outside);
  EXPECT_TRUE(std::isinf(figure(0, 1e-9, 0.1).error()));
  EXPECT_EQ(absolute(figure(0, 0.05, 0.1)).verdict(), Verdict::pass);
}

TEST(Figure, WhatIsNoNumberIsOutside) {
  EXPECT_EQ(figure(1, kNaN, 0.1).verdict(), Verdict::outside);
  EXPECT_EQ(figure(kNaN, 1, 0.1).verdict(), Verdict::outside);
  EXPECT_EQ(figure(0, kNaN, 0.1).verdict(), Verdict::outside);
  EXPECT_EQ(figure(1, 1, kNaN).verdict(), Verdict::outside);
  EXPECT_EQ(absolute(figure(0, kNaN, 0.1)).verdict(), Verdict::outside);
  EXPECT_EQ(at_most(figure(1, kNaN, 0.1)).verdict(), Verdict::outside);
  EXPECT_EQ(figure(1, std::numeric_limits<double>::infinity(), 0.1).verdict(), Verdict::outside);
}

TEST(Figure, ANegativeToleranceAllowsNothing) {
  EXPECT_EQ(figure(1, 1, -0.1).verdict(), Verdict::outside);
}

TEST(Figure, IsNotJudgedWhereThereIsAReason) {
  Figure f = figure(1, 2, 0.1);
  f.skipped = "not simulated";
  EXPECT_EQ(f.verdict(), Verdict::skipped);
}

TEST(Figure, IsAPredictionWhereNothingIsClaimed) {
  Figure f = figure(kNaN, 2, 0);
  f.claim = Claim::none;
  EXPECT_EQ(f.verdict(), Verdict::prediction);
  EXPECT_TRUE(std::isnan(f.error()));
  f.skipped = "not simulated";
  EXPECT_EQ(f.verdict(), Verdict::skipped);
}

TEST(Figure, MayBeWithinItsToleranceAndMissWhatIsWanted) {
  Figure f = absolute(figure(0, 0.05, 0.1));
  EXPECT_EQ(f.aim_met(), std::nullopt);
  f.aim = 0.05;
  EXPECT_EQ(f.aim_met(), true);
  f.aim = 0.04;
  EXPECT_EQ(f.aim_met(), false);
  EXPECT_EQ(f.verdict(), Verdict::pass);
  f.simulated = -0.05;
  EXPECT_EQ(f.aim_met(), false);
  f.simulated = kNaN;
  EXPECT_EQ(f.aim_met(), false);
  f.skipped = "no data";
  EXPECT_EQ(f.aim_met(), std::nullopt);
}

TEST(Figure, BelongsToTheGroupBeforeTheSlash) {
  EXPECT_EQ(figure(1, 1, 0).group(), "group");
}

TEST(Figures, AreCountedByVerdict) {
  std::vector<Figure> figures{figure(1, 1, 0), figure(1, 2, 0), figure(1, 1, 0)};
  figures.push_back(all_skipped({figure(1, 1, 0)}, "no data").front());
  figures.push_back(figure(kNaN, 1, 0));
  figures.back().claim = Claim::none;
  const Tally t = tally(figures);
  EXPECT_EQ(t.passed, 2U);
  EXPECT_EQ(t.outside, 1U);
  EXPECT_EQ(t.skipped, 1U);
  EXPECT_EQ(t.predicted, 1U);
  EXPECT_EQ(t.aims, 0U);
  figures[0].aim = 0;
  figures[1].aim = 0.5;
  figures[3].aim = 0;
  EXPECT_EQ(tally(figures).aims, 2U);
  EXPECT_EQ(tally(figures).aims_met, 1U);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
