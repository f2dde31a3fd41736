// Axes: round numbers beside them, all of them inside, whatever the values are.
#include "tools/plot/frame.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/plot/pictures.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

using Values = std::vector<double>;

void expect_ends(const Scale& scale, double least, double most) {
  EXPECT_DOUBLE_EQ(scale.least, least);
  EXPECT_DOUBLE_EQ(scale.most, most);
}

TEST(Scale, ALinearOneBeginsAtZeroAndEndsAtARoundNumber) {
  // 97 in about six steps are steps of 16.2: of 1, 2, 2.5 and 5 times powers of ten, 20 is the next.
  const Scale scale = scale_for(ScaleKind::linear, {3, 97});
  expect_ends(scale, 0, 100);
  EXPECT_EQ(scale.ticks(), (Values{0, 20, 40, 60, 80, 100}));
}

TEST(Scale, NegativeValuesMoveItsBeginning) {
  const Scale scale = scale_for(ScaleKind::linear, {-5, 12});
  expect_ends(scale, -5, 15);
  EXPECT_EQ(scale.ticks(), (Values{-5, 0, 5, 10, 15}));
  expect_ends(scale_for(ScaleKind::linear, {-3, -3}), -3, 0);
}

TEST(Scale, EqualValuesHaveARangeToo) {
  expect_ends(scale_for(ScaleKind::linear, {7, 7}), 0, 8);
  expect_ends(scale_for(ScaleKind::linear, {0, 0}), 0, 1);
  const Scale scale = scale_for(ScaleKind::logarithmic, {7, 7});
  EXPECT_LT(scale.least, 7);
  EXPECT_GT(scale.most, 7);
}

TEST(Scale, WithoutAnythingToShowThereIsStillAnAxis) {
  expect_ends(scale_for(ScaleKind::linear, {}), 0, 1);
  expect_ends(scale_for(ScaleKind::linear, {kNan, kInf, -kInf}), 0, 1);
  expect_ends(scale_for(ScaleKind::logarithmic, {}), 1, 10);
  expect_ends(scale_for(ScaleKind::logarithmic, {kNan, kInf, 0, -2}), 1, 10);
}

TEST(Scale, WhatCannotBeShownDoesNotMoveTheOthers) {
  expect_ends(scale_for(ScaleKind::linear, {kNan, 3, kInf, 97}), 0, 100);
  const Scale with = scale_for(ScaleKind::logarithmic, {0, 2, -1, 200, kNan});
  const Scale without = scale_for(ScaleKind::logarithmic, {2, 200});
  expect_ends(with, without.least, without.most);
}

TEST(Scale, TicksOfALogarithmicOneAreOneTwoAndFive) {
  EXPECT_EQ(scale_for(ScaleKind::logarithmic, {2, 200}).ticks(), (Values{2, 5, 10, 20, 50, 100, 200}));
  EXPECT_EQ((Scale{ScaleKind::logarithmic, 1, 1e5}.ticks()), (Values{1, 10, 100, 1000, 1e4, 1e5}));
}

TEST(Scale, WithinADecadeALogarithmicOneHasRoundSums) {
  // 100 / 1.12 = 89.3 to 110 x 1.12 = 123.2 has 100 alone of 1, 2 and 5 times powers of ten.
  EXPECT_EQ(scale_for(ScaleKind::logarithmic, {100, 110}).ticks(), (Values{90, 100, 110, 120}));
}

TEST(Scale, SharesAreOfTheRangeOrOfItsLogarithms) {
  const Scale linear{ScaleKind::linear, 10, 30}, logarithmic{ScaleKind::logarithmic, 1, 100};
  EXPECT_DOUBLE_EQ(linear.share(15), 0.25);
  EXPECT_DOUBLE_EQ(logarithmic.share(10), 0.5);
}

TEST(Scale, WhatLiesOutsideIsPutAtTheNearerEnd) {
  const Scale linear{ScaleKind::linear, 10, 30}, logarithmic{ScaleKind::logarithmic, 1, 100};
  EXPECT_EQ(linear.share(-kInf), 0);
  EXPECT_EQ(linear.share(1e9), 1);
  EXPECT_EQ(logarithmic.share(0), 0);
  EXPECT_EQ(logarithmic.share(-5), 0);
  EXPECT_EQ(logarithmic.share(kInf), 1);
  EXPECT_EQ(linear.share(kNan), 0);
}

TEST(Scale, TicksOfAnyRangeAscendInsideItAndAreFew) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> exponent(-12, 12), sign(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    const double a = std::pow(10, exponent(random)), b = std::pow(10, exponent(random));
    for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic}) {
      const bool negative = kind == ScaleKind::linear && sign(random) < 0;
      const Scale scale = scale_for(kind, {negative ? -a : a, b});
      const Values ticks = scale.ticks();
      ASSERT_GE(ticks.size(), 2) << a << " " << b;
      ASSERT_LE(ticks.size(), 26) << a << " " << b;
      const double slack = 1e-9 * (scale.most - scale.least);
      for (std::size_t k = 0; k < ticks.size(); ++k) {
        ASSERT_GE(ticks[k], scale.least - slack) << a << " " << b;
        ASSERT_LE(ticks[k], scale.most + slack) << a << " " << b;
        ASSERT_TRUE(k == 0 || ticks[k] > ticks[k - 1]) << a << " " << b;
      }
    }
  }
}

TEST(Scale, TheEndsOfFloatingPointAreNoTrap) {
  // 5e-324 less a margin is 0, 1.7e308 and a margin is infinite: neither has a logarithm to count from.
  for (const Values& values : {Values{5e-324}, Values{1.7e308}, Values{5e-324, 1.7e308}, Values{1, 1e-310}}) {
    for (const ScaleKind kind : {ScaleKind::linear, ScaleKind::logarithmic}) {
      const Scale scale = scale_for(kind, values);
      EXPECT_TRUE(std::isfinite(scale.least) && std::isfinite(scale.most)) << values.front();
      EXPECT_LT(scale.least, scale.most) << values.front();
      EXPECT_LE(scale.ticks().size(), 700) << values.front();
    }
  }
  const Scale both = scale_for(ScaleKind::linear, {-1.7e308, 1.7e308});
  EXPECT_TRUE(std::isfinite(both.most - both.least));
  EXPECT_LE(both.ticks().size(), 26);
}

TEST(Scale, TicksAreWrittenShort) {
  EXPECT_EQ(tick_text(0.25), "0.25");
  EXPECT_EQ(tick_text(0.1 + 0.2), "0.3");
  EXPECT_EQ(tick_text(1500), "1500");
  EXPECT_EQ(tick_text(15000), "15,000");
  EXPECT_EQ(tick_text(-150000), "-150,000");
  EXPECT_EQ(tick_text(2e7), "2e+07");
}

}  // namespace
}  // namespace kvsim::plot::KVSIM_FILE
