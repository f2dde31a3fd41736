#include "planner/traffic/law_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/traffic/traffic_support.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

using models::ArrivalKind;
using models::ArrivalSpec;
using models::Distribution;
using models::LengthSpec;

// Of 1, 2, 2, 7: mean 3, variance (4 + 1 + 1 + 16) / 4 = 5.5.
TEST(LawFit, MomentsByHand) {
  const std::vector<std::int64_t> sample{1, 2, 2, 7};
  const Moments m = moments_of(sample);
  EXPECT_DOUBLE_EQ(m.mean.value, 3);
  EXPECT_DOUBLE_EQ(m.cv.value, std::sqrt(5.5) / 3);
  // The mean's standard error is that of one request / sqrt(4).
  EXPECT_NEAR(m.mean.high - 3, 2.5758 * std::sqrt(5.5) / 2, 1e-3);
}

// Uniform on 1 to 4: shares 1/4, 1/2, 3/4, 1. Of 1, 1, 4 the shares are 2/3, 2/3, 2/3, 1: farthest at 1, 5/12.
TEST(LawFit, DistanceFromALawByHand) {
  const LengthSpec law{.distribution = Distribution::uniform, .min = 1, .max = 4};
  const std::vector<std::int64_t> sample{1, 1, 4};
  EXPECT_DOUBLE_EQ(share_up_to(law, 0), 0);
  EXPECT_DOUBLE_EQ(share_up_to(law, 3), 0.75);
  EXPECT_DOUBLE_EQ(distance(sample, law), 2.0 / 3 - 0.25);
}

// Shares of 1, 3 are 1/2 from 1 on; of 2, 3, 3, 3 they are 0, 1/4, 1: farthest at 1.
TEST(LawFit, DistanceOfTwoSamplesByHand) {
  const std::vector<std::int64_t> a{1, 3}, b{2, 3, 3, 3};
  EXPECT_DOUBLE_EQ(distance(a, std::span<const std::int64_t>(b)), 0.5);
  EXPECT_DOUBLE_EQ(distance(a, std::span<const std::int64_t>(a)), 0);
  EXPECT_NEAR(distance_by_chance(100, 100), 1.358 * std::sqrt(2.0 / 100), 1e-4);
}

// Shares and moments of what is drawn are those that many draws have.
TEST(LawFit, SharesAndMomentsAreThoseOfDraws) {
  for (const LengthSpec& law :
       {LengthSpec{.distribution = Distribution::lognormal, .mean = 800, .cv = 1.5, .min = 20, .max = 3000},
        LengthSpec{.distribution = Distribution::gamma, .mean = 50, .cv = 0.7, .min = 1, .max = 400},
        LengthSpec{.distribution = Distribution::exponential, .mean = 300, .min = 10, .max = 900},
        LengthSpec{.distribution = Distribution::uniform, .min = 5, .max = 90},
        LengthSpec{.distribution = Distribution::empirical, .values = {3, 3, 8, 100}}}) {
    const auto lengths = drawn(law, 40'000);
    std::vector<std::int64_t> sorted(lengths.begin(), lengths.end());
    std::sort(sorted.begin(), sorted.end());
    EXPECT_LT(distance(sorted, law), 1.36 / std::sqrt(40'000.0)) << static_cast<int>(law.distribution);
    const Moments of_draws = moments_of(sorted);
    EXPECT_TRUE(of_draws.mean.holds(drawn_by(law).mean)) << static_cast<int>(law.distribution);
    EXPECT_NEAR(drawn_by(law).cv, of_draws.cv.value, 0.02) << static_cast<int>(law.distribution);
  }
}

// The law that lengths were drawn from, and its parameters within what is stated of them.
TEST(LawFit, FindsTheLawOfLengths) {
  const auto fitted = [](const LengthSpec& law) { return fit_lengths(drawn(law, 20'000)); };
  const LengthFit lognormal = fitted({.distribution = Distribution::lognormal, .mean = 900, .cv = 1.1});
  EXPECT_EQ(lognormal.law.distribution, Distribution::lognormal);
  EXPECT_TRUE(lognormal.parameters.mean.holds(900)) << lognormal.law.mean;
  EXPECT_TRUE(lognormal.parameters.cv.holds(1.1)) << lognormal.law.cv;
  const LengthFit gamma = fitted({.distribution = Distribution::gamma, .mean = 900, .cv = 0.4});
  EXPECT_EQ(gamma.law.distribution, Distribution::gamma);
  EXPECT_TRUE(gamma.parameters.mean.holds(900)) << gamma.law.mean;
  EXPECT_TRUE(gamma.parameters.cv.holds(0.4)) << gamma.law.cv;
  const LengthFit uniform = fitted({.distribution = Distribution::uniform, .min = 20, .max = 700});
  EXPECT_EQ(uniform.law.distribution, Distribution::uniform);
  EXPECT_EQ(uniform.law.min, 20);
  EXPECT_EQ(uniform.law.max, 700);
  const LengthFit fixed = fitted({.mean = 77});
  EXPECT_EQ(fixed.law.distribution, Distribution::fixed);
  EXPECT_EQ(fixed.law.mean, 77);
}

// 99 of 100 intervals hold the parameter; of 200, 193 or more do with a chance above 99.9 %.
TEST(LawFit, IntervalsHoldWhatTheySay) {
  int mean = 0, cv = 0, gap_cv = 0, rate = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const LengthFit fit =
        fit_lengths(drawn({.distribution = Distribution::lognormal, .mean = 5000, .cv = 0.8}, 2'000, seed));
    mean += fit.parameters.mean.holds(5000) ? 1 : 0;
    cv += fit.parameters.cv.holds(0.8) ? 1 : 0;
    models::ArrivalProcess process(ArrivalSpec{ArrivalKind::gamma, 10, 2});
    const auto random = stream("arrivals", seed);
    std::vector<std::int64_t> gaps;
    for (std::int64_t last = 0; gaps.size() < 2'000;) {
      const std::int64_t next = process.next(*random);
      gaps.push_back(next - std::exchange(last, next));
    }
    const ArrivalFit arrivals = fit_gaps(gaps);
    rate += arrivals.rate_per_s.holds(10) ? 1 : 0;
    gap_cv += arrivals.cv.holds(2) ? 1 : 0;
  }
  for (const int held : {mean, cv, rate, gap_cv}) EXPECT_GE(held, 193);
}

// Half of all requests have 100 tokens, half 1,000: no law does. 200 values keep both, and the mean.
TEST(LawFit, LengthsThatFollowNoLawAreKeptAsValues) {
  std::vector<std::int32_t> lengths(1'001, 100);
  for (std::size_t i = 0; i < 500; ++i) lengths[i] = 1'000;
  const LengthFit fit = fit_lengths(lengths);
  EXPECT_EQ(fit.law.distribution, Distribution::empirical);
  EXPECT_EQ(fit.law.values.size(), 200U);
  EXPECT_LT(fit.distance, 0.006);
  EXPECT_GT(fit.nearest_law, kNearLaw);
  EXPECT_NEAR(drawn_by(fit.law).mean, fit.parameters.mean.value, 3);
}

// Two of 20 values stand for a tenth of the lengths each: shares differ by at most 0.1, mean and cv by rounding.
TEST(LawFit, FewValuesKeepMeanAndCvAndMostOfTheShares) {
  std::vector<std::int32_t> lengths = drawn({.distribution = Distribution::lognormal, .mean = 300, .cv = 1}, 3'000);
  for (std::size_t i = 0; i < 1'000; ++i) lengths[3 * i] = 9'000;
  const LengthSpec all = fit_lengths(lengths).law;
  ASSERT_EQ(all.values.size(), 200U);
  const LengthSpec few = with_few_values(all);
  EXPECT_EQ(few.values.size(), 20U);
  EXPECT_NEAR(drawn_by(few).mean, drawn_by(all).mean, 1);
  EXPECT_NEAR(drawn_by(few).cv, drawn_by(all).cv, 0.01);
  EXPECT_LE(distance(all.values, few), 0.1);
  const LengthSpec law{.distribution = Distribution::uniform, .min = 3, .max = 9};
  EXPECT_EQ(with_few_values(law).max, 9);
  EXPECT_TRUE(with_few_values(law).values.empty());
}

TEST(LawFit, FindsTheLawOfGaps) {
  const auto fitted = [](const ArrivalSpec& law) {
    models::ArrivalProcess process(law);
    const auto random = stream("arrivals");
    std::vector<std::int64_t> gaps;
    for (std::int64_t last = 0; gaps.size() < 10'000;) {
      const std::int64_t next = process.next(*random);
      gaps.push_back(next - std::exchange(last, next));
    }
    return fit_gaps(gaps);
  };
  const ArrivalFit poisson = fitted({ArrivalKind::poisson, 5, 1});
  EXPECT_EQ(poisson.law.kind, ArrivalKind::poisson);
  EXPECT_TRUE(poisson.rate_per_s.holds(5));
  EXPECT_LT(poisson.distance, 1.36 / 100);
  const ArrivalFit bursty = fitted({ArrivalKind::gamma, 5, 3});
  EXPECT_EQ(bursty.law.kind, ArrivalKind::gamma);
  EXPECT_TRUE(bursty.cv.holds(3)) << bursty.cv.value;
  EXPECT_LT(bursty.distance, 1.5 / 100);
  const ArrivalFit even = fitted({ArrivalKind::constant, 5, 1});
  EXPECT_EQ(even.law.kind, ArrivalKind::constant);
}

// Ranks of 1, 5, 9 and of 2, 2, 7 are 0, 1, 2 and 0.5, 0.5, 2: covariance 1.5, variances 2 and 1.5.
TEST(LawFit, RankCorrelationByHand) {
  const std::vector<std::int32_t> a{1, 5, 9}, b{2, 2, 7}, equal{4, 4, 4};
  EXPECT_DOUBLE_EQ(rank_correlation(a, b), 1.5 / std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(rank_correlation(a, a), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(a, equal), 0);
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
