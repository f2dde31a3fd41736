#include "models/workload/distributions.h"

#include <gtest/gtest.h>

#include <cmath>

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
  EXPECT_EQ(problem_with(ArrivalSpec{.rate_per_s = 0}), "rate is 0 requests/s, expected 1e-06 to 1e+09");
  EXPECT_EQ(problem_with(ArrivalSpec{.rate_per_s = INFINITY}), "rate is inf requests/s, expected 1e-06 to 1e+09");
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

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
