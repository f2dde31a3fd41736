#include "sim/engine/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/random.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

Sample sample_of(std::initializer_list<double> values) {
  Sample sample;
  for (const double value : values) sample.add(value);
  return sample;
}

TEST(TimeWeighted, theMeanIsTheAreaUnderTheCurveOverTheTime) {
  // 2 over [0, 1) s, 5 over [1, 3) s: area 12, mean 4.
  TimeWeighted level(2);
  level.set(5, {1'000'000'000});
  EXPECT_DOUBLE_EQ(level.integral({3'000'000'000}), 12);
  EXPECT_DOUBLE_EQ(level.mean({3'000'000'000}), 4);
  level.reset({3'000'000'000});
  EXPECT_DOUBLE_EQ(level.mean({3'000'000'000}), 5);  // no time has passed: the level itself
  EXPECT_THROW(level.set(1, {2'000'000'000}), InvariantViolation);
}

TEST(Sample, quantilesInterpolateLikeHyndmanAndFanTypeSeven) {
  // h = (4 - 1) q over 1, 2, 4, 8: q = 0.5 gives h = 1.5, between 2 and 4; q = 0.9 gives h = 2.7, 4 + 0.7 x 4.
  const Sample sample = sample_of({8, 1, 4, 2});
  EXPECT_DOUBLE_EQ(sample.quantile(0), 1);
  EXPECT_DOUBLE_EQ(sample.quantile(0.5), 3);
  EXPECT_DOUBLE_EQ(sample.quantile(0.9), 6.8);
  EXPECT_DOUBLE_EQ(sample.quantile(1), 8);
}

TEST(Sample, aSingleValueIsEveryQuantile) {
  const Sample sample = sample_of({3});
  for (const double q : {0.0, 0.3, 0.99, 1.0}) EXPECT_EQ(sample.quantile(q), 3);
  EXPECT_TRUE(std::isnan(sample.variance()));
}

TEST(Sample, infinityIsAValueAndNotANumberIsNone) {
  Sample sample = sample_of({1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(sample.quantile(0), 1);
  EXPECT_EQ(sample.quantile(1), std::numeric_limits<double>::infinity());
  EXPECT_THROW(sample.add(std::nan("")), InvariantViolation);
}

TEST(Sample, anEmptySampleHasNoStatistics) {
  const Sample sample;
  EXPECT_TRUE(std::isnan(sample.mean()));
  EXPECT_TRUE(std::isnan(sample.min()));
  EXPECT_TRUE(std::isnan(sample.max()));
  EXPECT_TRUE(std::isnan(sample.quantile(0.5)));
}

TEST(Sample, meanAndVarianceOfASmallSample) {
  // Mean 5, squared deviations 9 + 1 + 1 + 9 = 20, over n - 1 = 3.
  const Sample sample = sample_of({2, 4, 6, 8});
  EXPECT_DOUBLE_EQ(sample.mean(), 5);
  EXPECT_DOUBLE_EQ(sample.variance(), 20.0 / 3);
  EXPECT_EQ(sample.min(), 2);
  EXPECT_EQ(sample.max(), 8);
}

TEST(Sample, answersDoNotDependOnWhatWasAskedBefore) {
  Sample asked;
  Sample untouched;
  RandomStream random(3, "values");
  for (int i = 0; i < 1000; ++i) {
    const double value = std::exp(20 * random.normal());
    asked.add(value);
    untouched.add(value);
    static_cast<void>(asked.quantile(0.5));
  }
  EXPECT_EQ(asked.mean(), untouched.mean());
  EXPECT_EQ(asked.variance(), untouched.variance());
  EXPECT_EQ(asked.quantile(0.99), untouched.quantile(0.99));
  EXPECT_EQ(asked.values(), untouched.values());
}

TEST(Sample, addingAValueSeveralTimesIsAddingItThatOften) {
  Sample together, singly, merged;
  RandomStream draw(7, "runs");
  for (int run = 0; run < 400; ++run) {
    const double value = std::floor(draw.uniform_open() * 9) * 0.1;  // equal neighbours occur
    const auto count = static_cast<std::size_t>(draw.uniform_open() * 5);
    together.add(value, count);
    for (std::size_t i = 0; i < count; ++i) singly.add(value);
  }
  merged.add(together);
  for (const Sample* sample : {&together, &merged}) {
    EXPECT_EQ(sample->count(), singly.count());
    EXPECT_EQ(sample->values(), singly.values());
    EXPECT_EQ(sample->min(), singly.min());
    EXPECT_EQ(sample->max(), singly.max());
    EXPECT_DOUBLE_EQ(sample->mean(), singly.mean());
    EXPECT_DOUBLE_EQ(sample->variance(), singly.variance());
    for (int percent = 0; percent <= 100; ++percent) {
      EXPECT_EQ(sample->quantile(percent / 100.0), singly.quantile(percent / 100.0)) << percent;
    }
  }
}

TEST(Sample, aQuantileIsRightAfterMoreOfTheLastValueCame) {
  Sample sample = sample_of({1, 2});
  EXPECT_EQ(sample.quantile(0.5), 1.5);
  sample.add(2, 3);
  EXPECT_EQ(sample.quantile(0.5), 2);
}

TEST(CompensatedSum, keepsWhatPlainSummationLoses) {
  // In plain doubles 1 + 1e100 - 1e100 is 0.
  CompensatedSum sum;
  for (const double value : {1.0, 1e100, 1.0, -1e100}) sum.add(value);
  EXPECT_EQ(sum.value(), 2);
}

TEST(StudentT, quantilesAgreeWithThePrintedTables) {
  EXPECT_NEAR(student_t_quantile(0.975, 1), 12.7062, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 4), 2.7764, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 19), 2.0930, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.975, 1e6), 1.9600, 5e-5);
  EXPECT_NEAR(student_t_quantile(0.95, 10), 1.8125, 5e-5);
}

TEST(ConfidenceInterval, ofFiveObservationsByHand) {
  // Mean 3, s^2 = 2.5, half-width 2.7764 sqrt(2.5 / 5) = 1.9632.
  const std::vector<double> observations{1, 2, 3, 4, 5};
  const ConfidenceInterval interval = confidence_95(observations);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_NEAR(interval.half_width_95, 1.9632, 1e-4);
  EXPECT_EQ(interval.observations, 5U);
}

TEST(ConfidenceInterval, ofOneObservationHasNoWidth) {
  EXPECT_TRUE(std::isnan(confidence_95(std::vector<double>{1}).half_width_95));
  EXPECT_TRUE(std::isnan(confidence_95({}).mean));
}

TEST(BatchMeans, dropTheRemainderAtTheStart) {
  // Five values in two batches of two: the first is dropped; batch means 2 and 4.
  const std::vector<double> series{100, 1, 3, 4, 4};
  const ConfidenceInterval interval = batch_means_95(series, 2);
  EXPECT_DOUBLE_EQ(interval.mean, 3);
  EXPECT_EQ(interval.observations, 2U);
  EXPECT_TRUE(std::isnan(batch_means_95(series, 6).half_width_95));
  EXPECT_THROW(batch_means_95(series, 1), InvariantViolation);
}

TEST(BatchMeans, coverTheTrueMeanOfACorrelatedSeriesAboutNinetyFiveTimesInAHundred) {
  // x_i = 0.8 x_(i-1) + noise has mean 0. An interval that took the 4,000 values for independent would cover it about
  // half as often. 400 series: 95 % +- 3 standard deviations (1.1 %).
  int covered = 0;
  for (std::uint64_t series_number = 0; series_number < 400; ++series_number) {
    RandomStream random(11, "noise", series_number);
    std::vector<double> series(4000);
    double x = random.normal() / 0.6;  // stationary: variance 1 / (1 - 0.64)
    for (double& value : series) value = x = 0.8 * x + random.normal();
    const ConfidenceInterval interval = batch_means_95(series);
    if (std::abs(interval.mean) <= interval.half_width_95) ++covered;
  }
  EXPECT_GE(covered, 367);
  EXPECT_LE(covered, 393);
}

}  // namespace
}  // namespace KVSIM_FILE
