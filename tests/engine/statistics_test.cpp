#include "sim/engine/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/random.h"
#include "tests/engine/allocation_count.h"

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
}

TEST(Sample, infinityIsAValueAndNotANumberIsNone) {
  Sample sample = sample_of({1, std::numeric_limits<double>::infinity()});
  EXPECT_EQ(sample.quantile(0), 1);
  EXPECT_EQ(sample.quantile(1), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sample.mean(), std::numeric_limits<double>::infinity());
  EXPECT_THROW(sample.add(std::nan("")), InvariantViolation);
}

TEST(Sample, anEmptySampleHasNoStatistics) {
  const Sample sample;
  EXPECT_TRUE(std::isnan(sample.mean()));
  EXPECT_TRUE(std::isnan(sample.min()));
  EXPECT_TRUE(std::isnan(sample.max()));
  EXPECT_TRUE(std::isnan(sample.quantile(0.5)));
}

TEST(Sample, meanMinimumAndMaximumOfASmallSample) {
  const Sample sample = sample_of({2, 4, 6, 8});
  EXPECT_EQ(sample.mean(), 5);
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
    EXPECT_EQ(sample->mean(), singly.mean());
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

TEST(Sample, isExactUpToTenThousandValuesAndASketchFromTheNextOneOn) {
  // 1, 1.00005, ..., all in the first buckets above 1: what is asked for exactly differs from its bucket's middle.
  Sample sample;
  for (std::size_t i = 0; i < Sample::kExact; ++i) sample.add(1 + 0.00005 * static_cast<double>(i));
  EXPECT_FALSE(sample.sketched());
  EXPECT_EQ(sample.quantile(0.5), (1 + 0.00005 * 4999) + 0.5 * ((1 + 0.00005 * 5000) - (1 + 0.00005 * 4999)));
  EXPECT_EQ(sample.values().size(), Sample::kExact);
  sample.add(1.5);
  EXPECT_TRUE(sample.sketched());
  EXPECT_THROW(static_cast<void>(sample.values()), InvariantViolation);
  // Rank 5,000 is 1.25: the first value of the bucket [1.25, 1.25 + 1/512).
  EXPECT_EQ(sample.quantile(0.5), 1.25 + 1.0 / 1024);
  EXPECT_EQ(sample.quantile(0), 1);
  EXPECT_EQ(sample.quantile(1), 1.5);
}

TEST(Sample, equalValuesAreCountedAsOftenAsTheyCome) {
  Sample sample;
  sample.add(3, Sample::kExact);
  EXPECT_FALSE(sample.sketched());
  sample.add(3);
  EXPECT_TRUE(sample.sketched());
  for (const double q : {0.0, 0.3, 0.99, 1.0}) EXPECT_EQ(sample.quantile(q), 3);  // no further than min and max
  EXPECT_EQ(sample.mean(), 3);
}

TEST(Sample, countsMoreValuesThanAnyMemoryHolds) {
  // Half of them 1, half 2, and the ranks of the middle beside each other.
  Sample sample;
  const std::size_t many = std::size_t{1} << 40U;
  sample.add(1, many);
  sample.add(2, many);
  EXPECT_EQ(sample.count(), 2 * many);
  EXPECT_EQ(sample.mean(), 1.5);
  EXPECT_EQ(sample.quantile(0.25), 1 + 1.0 / 1024);
  EXPECT_EQ(sample.quantile(0.75), 2);  // the middle of its bucket lies beyond the maximum
}

TEST(Sample, quantilesOfHugeValuesOfBothSignsAreFinite) {
  const double huge = std::numeric_limits<double>::max();
  EXPECT_DOUBLE_EQ(sample_of({-huge, huge}).quantile(0.75), 0.5 * huge);
}

TEST(Sample, aSketchedSampleRefusesNotANumberAndHoldsInfinity) {
  Sample sample;
  sample.add(1, 20'000);
  EXPECT_THROW(sample.add(std::nan("")), InvariantViolation);
  sample.add(std::numeric_limits<double>::infinity(), 20'000);
  EXPECT_NEAR(sample.quantile(0.25), 1, 0.001);
  EXPECT_EQ(sample.quantile(0.75), std::numeric_limits<double>::infinity());
}

TEST(Sample, anyNumberOfValuesNeedsTheMemoryOfTheirOctavesAndNoMoreAllocations) {
  // From a nanosecond to a thousand seconds: 40 octaves.
  QuantileSketch sketch;
  Sample sample;
  RandomStream draw(5, "values");
  const auto value = [&draw] { return std::pow(10, 12 * draw.uniform_open() - 9); };
  for (int i = 0; i < 50'000; ++i) {
    const double v = value();
    sketch.add(v, 1);
    sample.add(v);
  }
  EXPECT_EQ(sketch.buckets(), 40U * 512);  // log2(10^12) = 39.9
  const std::size_t before = allocation_count();
  for (int i = 0; i < 200'000; ++i) {
    const double v = value();
    sketch.add(v, 3);
    sample.add(v, 3);
  }
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(sketch.buckets(), 40U * 512);
}

TEST(QuantileSketch, everyDoubleHasABucketAndThereIsAnEndOfThem) {
  QuantileSketch sketch;
  for (int exponent = -1074; exponent < 1024; ++exponent) {
    for (const double sign : {-1.0, 1.0}) sketch.add(sign * std::ldexp(1, exponent), 1);
  }
  const double infinity = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -infinity, infinity}) sketch.add(value, 1);
  EXPECT_EQ(sketch.buckets(), 4199U * 512);
  EXPECT_EQ(sketch.at_rank(0), -infinity);
  EXPECT_EQ(sketch.at_rank(2098), -std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(sketch.at_rank(2099), 0);
  EXPECT_EQ(sketch.at_rank(2100), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(sketch.at_rank(2 * 2098 + 2), infinity);
  EXPECT_THROW(static_cast<void>(sketch.at_rank(2 * 2098 + 3)), InvariantViolation);
}

TEST(Sample, batchMeansOfASketchedSampleAreThoseOfItsSeries) {
  // 20,000 values, a total after every 8: 20 batches of 125 times 8, nothing is dropped.
  Sample sample;
  std::vector<double> series;
  RandomStream draw(3, "values");
  for (int i = 0; i < 20'000; ++i) {
    series.push_back(std::exp(draw.normal()));
    sample.add(series.back());
  }
  ASSERT_TRUE(sample.sketched());
  const ConfidenceInterval exact = batch_means_95(series), kept = sample.batch_means_95();
  EXPECT_NEAR(kept.mean, exact.mean, 1e-12);
  EXPECT_NEAR(kept.half_width_95, exact.half_width_95, 1e-12);
  EXPECT_EQ(kept.observations, 20U);
  EXPECT_EQ(sample.batch_means_95(2501).observations, 0U);  // of 2,500 totals
  EXPECT_THROW(static_cast<void>(sample.batch_means_95(1)), InvariantViolation);
}

TEST(Sample, batchMeansDropLessThanAHundredthHoweverLongTheSeries) {
  // Value i is i: beyond 20,000 the mean of the last 99 % to all is within 1 %, and steps grow as the batches do.
  Sample sample;
  for (std::size_t n = 0; n < 300'000;) {
    sample.add(static_cast<double>(n++));
    if (n < 10'001 || n % 4999 != 0) continue;
    const ConfidenceInterval interval = sample.batch_means_95();
    EXPECT_NEAR(interval.mean, sample.mean(), 0.01 * sample.mean()) << n;
    EXPECT_EQ(interval.observations, 20U);
    EXPECT_GT(interval.half_width_95, 0.2 * sample.mean()) << n;
  }
}

TEST(Sample, batchMeansTakeEqualValuesOneByOneOrTogether) {
  Sample together, singly;
  for (int i = 0; i < 300; ++i) {
    together.add(i, 1000);
    for (int k = 0; k < 1000; ++k) singly.add(i);
  }
  EXPECT_EQ(together.batch_means_95().half_width_95, singly.batch_means_95().half_width_95);
  EXPECT_EQ(together.batch_means_95().mean, singly.batch_means_95().mean);
}

TEST(Sample, samplesAddedInOrderAreOneSeriesUnlessASketchedOneIsAmongThem) {
  Sample parts, whole, sketched;
  for (int part = 0; part < 4; ++part) {
    Sample one;
    for (int i = 0; i < 5000; ++i) {
      one.add(1000 * part + i);
      whole.add(1000 * part + i);
    }
    parts.add(one);
  }
  EXPECT_EQ(parts.batch_means_95().half_width_95, whole.batch_means_95().half_width_95);
  sketched.add(whole);  // into nothing: it is the same
  EXPECT_EQ(sketched.batch_means_95().half_width_95, whole.batch_means_95().half_width_95);
  sketched.add(whole);
  EXPECT_TRUE(std::isnan(sketched.batch_means_95().half_width_95));
  EXPECT_EQ(sketched.batch_means_95().mean, whole.mean());
  EXPECT_EQ(sketched.batch_means_95().observations, 0U);
}

TEST(Sample, canBeAddedToItself) {
  Sample sample = sample_of({1, 1, 2});
  sample.add(sample);
  EXPECT_EQ(sample.values(), (std::vector<double>{1, 1, 2, 1, 1, 2}));
}

TEST(ExactSum, roundsOnceAndToEven) {
  const auto sum_of = [](std::initializer_list<double> values) {
    ExactSum sum;
    for (const double value : values) sum.add(value);
    return sum.value();
  };
  const double ulp = std::ldexp(1, -52), max = std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity(), least = std::numeric_limits<double>::denorm_min();
  EXPECT_EQ(sum_of({}), 0);
  EXPECT_EQ(sum_of({1, 1e100, 1, -1e100}), 2);
  EXPECT_EQ(sum_of({1, ulp / 2}), 1);                  // half way: the even one below
  EXPECT_EQ(sum_of({1 + ulp, ulp / 2}), 1 + 2 * ulp);  // half way: the even one above
  EXPECT_EQ(sum_of({1, ulp / 2, least}), 1 + ulp);     // more than half
  EXPECT_EQ(sum_of({-1, -ulp / 2, -least}), -1 - ulp);
  EXPECT_EQ(sum_of({2 - ulp, ulp / 2}), 2);  // rounded into the next octave
  EXPECT_EQ(sum_of({least, least, -3 * least}), -least);
  EXPECT_EQ(sum_of({max, max, -max}), max);
  EXPECT_EQ(sum_of({max, max}), infinity);
  EXPECT_EQ(sum_of({max, -infinity}), -infinity);
  EXPECT_TRUE(std::isnan(sum_of({infinity, -infinity})));
}

TEST(ExactSum, takesAnyNumberOfTheSameValue) {
  // 2^63 + 3 times 2^-60 is 8 + 3 x 2^-60, which is 8 in a double.
  ExactSum sum;
  sum.add(std::ldexp(1, -60), (std::uint64_t{1} << 63U) + 3);
  EXPECT_EQ(sum.value(), 8);
  sum.add(-8);
  EXPECT_EQ(sum.value(), std::ldexp(3, -60));
  // The largest double 2^64 - 1 times, and back again: no digit overflows.
  const double max = std::numeric_limits<double>::max();
  for (const double value : {max, -max}) sum.add(value, ~std::uint64_t{0});
  EXPECT_EQ(sum.value(), std::ldexp(3, -60));
}

TEST(CompensatedSum, keepsWhatPlainSummationLoses) {
  // In plain doubles 1 + 1e100 - 1e100 is 0.
  CompensatedSum sum;
  for (const double value : {1.0, 1e100, 1.0, -1e100}) sum.add(value);
  EXPECT_EQ(sum.value(), 2);
}

TEST(Moments, meanAndVarianceByHand) {
  // Mean 5, squared deviations 9 + 1 + 1 + 9 = 20, over n - 1 = 3.
  const std::vector<double> values{2, 4, 6, 8};
  EXPECT_DOUBLE_EQ(mean(values), 5);
  EXPECT_DOUBLE_EQ(variance(values), 20.0 / 3);
  EXPECT_TRUE(std::isnan(variance(std::vector<double>{3})));
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
