#include "models/workload/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

struct Moments {
  double mean = 0;
  double cv = 0;
};

Moments measured(const LengthSpec& spec, int n = 200'000) {
  const LengthSampler sampler(spec);
  const auto random = stream("lengths");
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const auto x = static_cast<double>(sampler.sample(*random));
    sum += x;
    squares += x * x;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean};
}

TEST(LengthSampler, FixedLengthIsThatLength) {
  const Moments m = measured({.distribution = Distribution::fixed, .mean = 512}, 100);
  EXPECT_EQ(m.mean, 512);
  EXPECT_EQ(m.cv, 0);
}

// Uniform on {1, ..., 101}: mean 51, variance (101^2 - 1)/12 = 850, cv sqrt(850)/51 = 0.5717.
TEST(LengthSampler, UniformCoversBothEnds) {
  const LengthSpec spec{.distribution = Distribution::uniform, .min = 1, .max = 101};
  const Moments m = measured(spec);
  EXPECT_NEAR(m.mean, 51, 0.3);
  EXPECT_NEAR(m.cv, 0.5717, 0.005);
  const LengthSampler coin({.distribution = Distribution::uniform, .min = 7, .max = 8});
  const auto random = stream("coin");
  bool low = false, high = false;
  for (int i = 0; i < 100; ++i) (coin.sample(*random) == 7 ? low : high) = true;
  EXPECT_TRUE(low && high);
}

// Means are of the values: at cv 0.6 and mean 32,000 the standard error of 200,000 draws is 43.
TEST(LengthSampler, LognormalHasTheMeanAndCvOfItsValues) {
  const Moments m = measured({.distribution = Distribution::lognormal, .mean = 32'000, .cv = 0.6});
  EXPECT_NEAR(m.mean, 32'000, 4 * 43);
  EXPECT_NEAR(m.cv, 0.6, 0.02);
}

TEST(LengthSampler, ExponentialHasCvOne) {
  const Moments m = measured({.distribution = Distribution::exponential, .mean = 2'000});
  EXPECT_NEAR(m.mean, 2'000, 4 * 2'000 / std::sqrt(200'000));
  EXPECT_NEAR(m.cv, 1.0, 0.02);
}

TEST(LengthSampler, GammaHasItsMeanAndCv) {
  const Moments m = measured({.distribution = Distribution::gamma, .mean = 5'000, .cv = 2});
  EXPECT_NEAR(m.mean, 5'000, 4 * 10'000 / std::sqrt(200'000));
  EXPECT_NEAR(m.cv, 2.0, 0.05);
}

TEST(LengthSampler, EmpiricalDrawsOnlyTheGivenValuesEquallyOften) {
  const Moments m = measured({.distribution = Distribution::empirical, .values = {10, 20, 60}});
  EXPECT_NEAR(m.mean, 30, 0.3);
}

TEST(LengthSampler, BoundsHoldAndTakeTheSameDraws) {
  const LengthSampler free({.distribution = Distribution::lognormal, .mean = 1'000, .cv = 3});
  const LengthSampler bounded(
      {.distribution = Distribution::lognormal, .mean = 1'000, .cv = 3, .min = 200, .max = 2'000});
  const auto a = stream("lengths"), b = stream("lengths");
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t x = free.sample(*a);
    ASSERT_GE(x, 1);
    ASSERT_EQ(bounded.sample(*b), std::clamp<std::int64_t>(x, 200, 2'000));
  }
}

TEST(LengthSampler, NonsenseIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(problem_with({.distribution = Distribution::fixed, .mean = 0}), "mean is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem_with({.distribution = Distribution::lognormal, .mean = 10, .cv = 0}),
            "cv is 0, expected above 0, at most 100");
  EXPECT_EQ(problem_with({.distribution = Distribution::gamma, .mean = std::nan("")}),
            "mean is nan tokens, expected 1 to 10000000");
  EXPECT_EQ(problem_with({.min = 0}), "min is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem_with({.min = 9, .max = 8}), "max is 8 tokens, expected 9 (min) to 10000000");
  EXPECT_EQ(problem_with(LengthSpec{.distribution = Distribution::empirical}),
            "values is empty, expected at least one length");
  EXPECT_EQ(problem_with({.distribution = Distribution::empirical, .values = {3, -1}}),
            "values has -1 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem_with({.distribution = Distribution::uniform, .mean = 0, .min = 1, .max = 2}), "");
  EXPECT_THROW(LengthSampler({.min = 0}), schema::InputError);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
