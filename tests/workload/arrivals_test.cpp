#include "models/workload/distributions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

struct Gaps {
  double rate_per_s = 0;
  double cv = 0;
};

Gaps measured(const ArrivalSpec& spec, int n = 200'000) {
  ArrivalProcess arrivals(spec);
  const auto random = stream("arrivals");
  double squares = 0;
  std::int64_t last = 0;
  for (int i = 0; i < n; ++i) {
    const std::int64_t now = arrivals.next(*random);
    EXPECT_GE(now, last);
    const double gap = static_cast<double>(now - last) / 1e9;
    squares += gap * gap;
    last = now;
  }
  const double mean = static_cast<double>(last) / 1e9 / n;
  return {1 / mean, std::sqrt(squares / n - mean * mean) / mean};
}

TEST(Arrivals, PoissonGapsHaveTheRateAndCvOne) {
  const Gaps g = measured({.kind = ArrivalKind::poisson, .rate_per_s = 5});
  EXPECT_NEAR(g.rate_per_s, 5, 4 * 5 / std::sqrt(200'000));
  EXPECT_NEAR(g.cv, 1, 0.02);
}

TEST(Arrivals, GammaGapsHaveTheRateAndTheirCv) {
  for (const double cv : {0.3, 1.0, 3.0}) {
    const Gaps g = measured({.kind = ArrivalKind::gamma, .rate_per_s = 20, .cv = cv});
    EXPECT_NEAR(g.rate_per_s, 20, 4 * cv * 20 / std::sqrt(200'000)) << cv;
    EXPECT_NEAR(g.cv, cv, 0.05 * cv) << cv;
  }
}

// 3 a second: 1/3 s, 2/3 s, 1 s, ... each rounded on its own, so that the millionth is exact.
TEST(Arrivals, ConstantGapsDoNotDrift) {
  ArrivalProcess arrivals({.kind = ArrivalKind::constant, .rate_per_s = 3});
  const auto random = stream("arrivals");
  EXPECT_EQ(arrivals.next(*random), 333'333'333);
  EXPECT_EQ(arrivals.next(*random), 666'666'667);
  EXPECT_EQ(arrivals.next(*random), 1'000'000'000);
  std::int64_t last = 0;
  for (int i = 3; i < 300'000; ++i) last = arrivals.next(*random);
  EXPECT_EQ(last, 100'000'000'000'000);
}

TEST(Arrivals, NonsenseIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(problem_with(ArrivalSpec{.rate_per_s = 0}), "rate is 0/s, expected 1e-09/s to 1000000000/s");
  EXPECT_EQ(problem_with(ArrivalSpec{.rate_per_s = INFINITY}), "rate is inf/s, expected 1e-09/s to 1000000000/s");
  EXPECT_EQ(problem_with(ArrivalSpec{.kind = ArrivalKind::gamma, .cv = -1}), "cv is -1, expected above 0, at most 100");
  EXPECT_EQ(problem_with(ArrivalSpec{.cv = -1}), "");  // Poisson has none
}

TEST(Arrivals, TheClockEndsAfterAHundredYears) {
  ArrivalProcess arrivals({.kind = ArrivalKind::constant, .rate_per_s = 1e-6});  // one in 11.6 days
  const auto random = stream("arrivals");
  EXPECT_EQ(failure_of([&] {
              for (int i = 0; i < 4'000; ++i) arrivals.next(*random);
            }),
            "request 3156 arrives after a hundred years, expected a higher rate");
}

/// The first `n` arrivals.
std::vector<std::int64_t> arrivals_of(const ArrivalSpec& spec, int n) {
  ArrivalProcess arrivals(spec);
  const auto random = stream("arrivals");
  std::vector<std::int64_t> times;
  for (int i = 0; i < n; ++i) times.push_back(arrivals.next(*random));
  return times;
}

ArrivalSpec changing(ArrivalKind kind, const RateOverTime& rates) {
  return {kind, rates.table.empty() ? 2.0 : rates.mean_rate(), 1, rates};
}

std::int64_t within(const std::vector<std::int64_t>& times, double from_s, double until_s) {
  return std::count_if(times.begin(), times.end(), [&](std::int64_t t) {
    return static_cast<double>(t) >= from_s * 1e9 && static_cast<double>(t) < until_s * 1e9;
  });
}

TEST(RateOverTime, ThatStaysIsTheConstantRateToTheNanosecond) {
  for (const ArrivalKind kind : {ArrivalKind::poisson, ArrivalKind::gamma, ArrivalKind::constant}) {
    const std::vector<std::int64_t> constant = arrivals_of({kind, 0.7, 2}, 10'000);
    for (const RateOverTime& rates : {RateOverTime{.table = {{0, 0.7}}}, RateOverTime{.table = {{0, 0.7}, {13, 0.7}}},
                                      RateOverTime{.table = {{0, 0.7}, {13, 0.7}}, .linear = true, .period_s = 31}}) {
      EXPECT_EQ(arrivals_of({kind, rates.mean_rate(), 2, rates}, 10'000), constant);
    }
  }
}

// A table without period has no mean: its last rate lasts, and a rate beside it is that one.
TEST(RateOverTime, WithoutAPeriodIsScaledToItsLastRate) {
  const RateOverTime rates{.table = {{0, 1}, {10, 9}}};
  EXPECT_EQ(rates.mean_rate(), 9);
  const auto half = arrivals_of({ArrivalKind::constant, 4.5, 1, rates}, 500);
  EXPECT_EQ(within(half, 0, 10.001), 5);
  EXPECT_EQ(within(half, 10.001, 110.001), 450);
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 0}, {10, 4}}}), "") << "nothing comes before 10 s";
  EXPECT_EQ(within(arrivals_of(changing(ArrivalKind::constant, {.table = {{0, 0}, {10, 4}}}), 100), 0, 10), 0);
}

// 1 a second for 100 s, then 4 a second for 50 s, and again: 300 in a period.
TEST(RateOverTime, InStepsHasTheCountsOfItsTable) {
  const RateOverTime rates{.table = {{0, 1}, {100, 4}}, .period_s = 150};
  EXPECT_DOUBLE_EQ(rates.mean_rate(), 2);
  const auto regular = arrivals_of(changing(ArrivalKind::constant, rates), 700);
  EXPECT_EQ(regular[0], 1'000'000'000);
  EXPECT_EQ(regular[99], 100'000'000'000);
  EXPECT_EQ(regular[100], 100'250'000'000);
  EXPECT_EQ(regular[299], 150'000'000'000);
  EXPECT_EQ(regular[600], 301'000'000'000);
  const auto random = arrivals_of(changing(ArrivalKind::poisson, rates), 60'000);  // 200 periods
  std::int64_t low = 0, high = 0;
  for (int i = 0; i < 190; ++i) {
    low += within(random, i * 150, i * 150 + 100);
    high += within(random, i * 150 + 100, i * 150 + 150);
  }
  EXPECT_NEAR(static_cast<double>(low), 19'000, 4 * std::sqrt(19'000));
  EXPECT_NEAR(static_cast<double>(high), 38'000, 4 * std::sqrt(38'000));
}

TEST(RateOverTime, WithoutAPeriodTheLastRateStays) {
  const RateOverTime rates{.table = {{0, 1}, {10, 0}, {30, 5}}};
  const auto regular = arrivals_of({ArrivalKind::constant, 15, 1, rates}, 30);  // three times as many: the last is 5
  EXPECT_EQ(within(regular, 0, 10), 29);
  EXPECT_EQ(within(regular, 10.001, 30), 0);
}

// Evenly from 0 to 2 a second in 100 s: the n-th comes at 10 sqrt(n) s.
TEST(RateOverTime, ThatChangesEvenlyHasTheCountsOfItsIntegral) {
  const RateOverTime rates{.table = {{0, 0}, {100, 2}}, .linear = true};
  const auto regular = arrivals_of(changing(ArrivalKind::constant, rates), 150);
  for (int n = 1; n <= 100; ++n) {
    EXPECT_NEAR(static_cast<double>(regular[static_cast<std::size_t>(n - 1)]) * 1e-9, 10 * std::sqrt(n), 1e-8) << n;
  }
  EXPECT_EQ(regular[149], 125'000'000'000);  // 2 a second from there on
}

// With a period, evenly back to the first rate: 0 to 2 in 100 s, 2 to 0 in another 100 s.
TEST(RateOverTime, ThatChangesEvenlyEndsItsPeriodWhereItBegan) {
  const RateOverTime rates{.table = {{0, 0}, {100, 2}}, .linear = true, .period_s = 200};
  const auto regular = arrivals_of(changing(ArrivalKind::constant, rates), 400);
  EXPECT_NEAR(static_cast<double>(regular[199]), 200e9, 1e3);
  EXPECT_NEAR(static_cast<double>(regular[249]) * 1e-9, 200 + 10 * std::sqrt(50), 1e-6);
  // Symmetric: as long before the end as after the beginning.
  EXPECT_NEAR(static_cast<double>(regular[149]) * 1e-9, 200 - 10 * std::sqrt(50), 1e-6);
}

// 2 a second on average: by time t, 2 (t + a P / (2 pi) (cos(2 pi p / P) - cos(2 pi (t + p) / P))) have come.
TEST(RateOverTime, AsASineHasTheCountsOfItsIntegral) {
  for (const double amplitude : {0.5, 1.0}) {
    const RateOverTime rates{.period_s = 60, .amplitude = amplitude, .phase_s = 7};
    const auto regular = arrivals_of(changing(ArrivalKind::constant, rates), 1'000);
    const double w = 2 * std::numbers::pi / 60;
    for (int n = 1; n <= 1'000; ++n) {
      const double t = static_cast<double>(regular[static_cast<std::size_t>(n - 1)]) * 1e-9;
      EXPECT_NEAR(2 * (t + amplitude / w * (std::cos(w * 7) - std::cos(w * (t + 7)))), n, 1e-6) << n;
    }
    const auto random = arrivals_of(changing(ArrivalKind::poisson, rates), 50'000);
    const double peak_s = 15 - 7;  // of the sine: the 20 s about it have 2 (20 + 2 a / w sin(10 w))
    std::int64_t about = 0;
    for (int i = 0; i < 400; ++i) about += within(random, i * 60 + peak_s - 8, i * 60 + peak_s + 8);
    const double expected = 400 * 2 * (16 + 2 * amplitude / w * std::sin(8 * w));
    EXPECT_NEAR(static_cast<double>(about), expected, 4 * std::sqrt(expected));
  }
}

TEST(RateOverTime, NonsenseIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(problem_with(RateOverTime{.table = {{1, 1}}}), "table begins at 1 s, expected its first point at 0 s");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 1}, {5, 1}, {5, 2}}}),
            "table has 5 s after 5 s, expected times that go up, to 31557600 s");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, -1}}}), "table has -1/s, expected 0/s to 1000000000/s");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 1}, {5, 2}}, .period_s = 5}),
            "period is 5 s, expected more than the 5 s of the table's last point, to 31557600");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 1}, {5, 0}}}),
            "table ends with a rate of 0, after which nothing would ever arrive: give period, or a last rate above 0");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 0}, {5, 0}}, .period_s = 9}),
            "the mean rate of the table is 0 over its period: expected arrivals in it");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 1}}, .amplitude = 1}),
            "amplitude belongs to a sine, and there is a table: remove one of them");
  EXPECT_EQ(problem_with(RateOverTime{.table = {{0, 1}}, .phase_s = 1}),
            "phase belongs to a sine, and there is a table: remove one of them");
  EXPECT_EQ(problem_with(RateOverTime{.period_s = 60}), "amplitude is 0, expected above 0, at most 1 (or a table)");
  EXPECT_EQ(problem_with(RateOverTime{.amplitude = 0.5}), "period is 0 s, expected above 0, at most 31557600");
  EXPECT_EQ(problem_with(RateOverTime{.linear = true, .period_s = 60, .amplitude = 0.5}),
            "linear belongs to a table, and there is none: remove it");
  EXPECT_EQ(problem_with(ArrivalSpec{.over_time = RateOverTime{}}),
            "over_time: amplitude is 0, expected above 0, at most 1 (or a table)");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
