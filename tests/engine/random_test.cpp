#include "sim/engine/random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/statistics.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

using Words = std::array<std::uint32_t, 4>;

constexpr int draws = 200'000;

struct Moments {
  double mean;
  double variance;
};

Moments moments_of(const std::function<double()>& draw) {
  std::vector<double> values(draws);
  std::generate(values.begin(), values.end(), draw);
  return {mean(values), variance(values)};
}

// Mean within 5 standard errors; variance within 5 % (its error depends on the fourth moment).
void expect_moments(const Moments& seen, double mean, double variance) {
  EXPECT_NEAR(seen.mean, mean, 5 * std::sqrt(variance / draws));
  EXPECT_NEAR(seen.variance, variance, 0.05 * variance);
}

TEST(Philox, agreesWithTheKnownAnswersOfItsAuthors) {
  // Random123's kat_vectors, philox4x32-10.
  constexpr std::uint32_t ones = 0xffffffff;
  EXPECT_EQ(philox4x32_10({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32_10({ones, ones, ones, ones}, {ones, ones}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32_10({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(RandomStream, theSameSeedNameAndIndexGiveTheSameDraws) {
  RandomStream a(7, "arrivals", 3);
  RandomStream b(7, "arrivals", 3);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next_u64(), b.next_u64());
}

TEST(RandomStream, theFirstDrawsNeverChangeBetweenVersions) {
  // A golden: published results depend on it.
  RandomStream stream(1, "arrivals", 0);
  EXPECT_EQ(stream.next_u64(), 0x97a84c17bcc47f3dU);
  EXPECT_EQ(stream.next_u64(), 0xa532b09b27adca0eU);
}

TEST(RandomStream, streamsThatDifferInSeedNameOrIndexShareNoDraw) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 3; ++seed) {
    for (const char* name : {"arrivals", "acceptance", ""}) {
      for (std::uint64_t index = 0; index < 3; ++index) {
        RandomStream stream(seed, name, index);
        for (int i = 0; i < 1000; ++i) seen.insert(stream.next_u64());
      }
    }
  }
  EXPECT_EQ(seen.size(), 27'000U);
}

TEST(RandomStream, streamsAreUncorrelated) {
  RandomStream a(7, "arrivals", 0);
  RandomStream b(7, "arrivals", 1);
  double products = 0;
  for (int i = 0; i < draws; ++i) products += a.normal() * b.normal();
  EXPECT_NEAR(products / draws, 0, 5 / std::sqrt(draws));
}

TEST(RandomStream, drawingFromOneStreamLeavesAnotherUntouched) {
  RandomStream a(7, "a");
  RandomStream b(7, "b");
  const std::uint64_t first = RandomStream(7, "b").next_u64();
  for (int i = 0; i < 10; ++i) a.normal();
  EXPECT_EQ(b.next_u64(), first);
}

TEST(Distributions, haveTheirMeansAndVariances) {
  RandomStream r(5, "moments");
  expect_moments(moments_of([&] { return r.uniform(); }), 0.5, 1.0 / 12);
  expect_moments(moments_of([&] { return r.uniform_open(); }), 0.5, 1.0 / 12);
  expect_moments(moments_of([&] { return r.exponential(3); }), 3, 9);
  expect_moments(moments_of([&] { return r.normal(); }), 0, 1);
  expect_moments(moments_of([&] { return r.lognormal(4, 0.5); }), 4, 4);  // (4 x 0.5)^2
  expect_moments(moments_of([&] { return r.gamma(2, 0.5); }), 2, 1);      // shape 4
  expect_moments(moments_of([&] { return r.gamma(2, 1.5); }), 2, 9);      // shape 0.44
  expect_moments(moments_of([&] { return r.beta(2, 3); }), 0.4, 0.04);    // ab / ((a+b)^2 (a+b+1))
  expect_moments(moments_of([&] { return r.beta(0.5, 0.5); }), 0.5, 0.125);
  expect_moments(moments_of([&] { return static_cast<double>(r.below(10)); }), 4.5, 8.25);
}

TEST(Distributions, stayWithinTheirRange) {
  RandomStream r(5, "range");
  for (int i = 0; i < draws; ++i) {
    const double u = r.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    ASSERT_LT(r.below(3), 3U);
    ASSERT_GE(r.exponential(1), 0);
    const double b = r.beta(0.01, 0.01);  // nearly always 0 or 1, and never not a number
    ASSERT_TRUE(b >= 0 && b <= 1);
  }
  EXPECT_EQ(r.lognormal(3, 0), 3);
  EXPECT_EQ(r.below(1), 0U);
}

TEST(Distributions, zipfRanksFollowTheirLaw) {
  // P(k) = (k + 1)^-s / H over n = 5 ranks.
  for (const double s : {0.0, 0.5, 1.0, 1.0 + 1e-9, 2.5}) {
    RandomStream r(5, "zipf");
    std::vector<int> count(5);
    for (int i = 0; i < draws; ++i) ++count.at(r.zipf(5, s));
    double H = 0;
    for (int k = 0; k < 5; ++k) H += std::pow(k + 1, -s);
    for (int k = 0; k < 5; ++k) {
      const double p = std::pow(k + 1, -s) / H;
      EXPECT_NEAR(count[static_cast<std::size_t>(k)], p * draws, 5 * std::sqrt(p * draws))
          << "s " << s << " rank " << k;
    }
  }
}

TEST(Distributions, zipfCopesWithABillionRanks) {
  RandomStream r(5, "zipf");
  for (int i = 0; i < 1000; ++i) EXPECT_LT(r.zipf(1'000'000'000, 0.9), 1'000'000'000U);
  EXPECT_EQ(r.zipf(1, 2), 0U);
}

TEST(Distributions, impossibleParametersAreRefused) {
  RandomStream r(5, "bad");
  EXPECT_THROW(r.exponential(0), InvariantViolation);
  EXPECT_THROW(r.below(0), InvariantViolation);
  EXPECT_THROW(r.lognormal(1, -1), InvariantViolation);
  EXPECT_THROW(r.gamma(1, 0), InvariantViolation);
  EXPECT_THROW(r.beta(0, 1), InvariantViolation);
  EXPECT_THROW(r.zipf(0, 1), InvariantViolation);
}

}  // namespace
}  // namespace KVSIM_FILE
