#include "planner/capacity/rate_search.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

RateSearchOptions from(double guess) {
  RateSearchOptions options;
  options.first_guess = guess;
  options.lowest = 1e-3;
  return options;
}

TEST(RateSearch, FindsAStepFromBelowWithinTheToleranceWhereverItBegins) {
  for (const double guess : {0.01, 0.9, 1.0, 1.1, 7.0, 300.0}) {
    const RateSearch found = search_rate([](double rate) { return rate <= 3.7; }, from(guess));
    EXPECT_LE(found.rate, 3.7) << guess;
    EXPECT_GE(found.rate * 1.02, 3.7) << guess;
    EXPECT_GT(found.fails_at, 3.7) << guess;
    EXPECT_TRUE(found.monotone);
    EXPECT_LE(found.probes.size(), 25U) << guess;
  }
}

RC_GTEST_PROP(RateSearch, AnyStepIsFoundAndNoRateIsProbedTwice, ()) {
  const double threshold = std::pow(10.0, *rc::gen::inRange(-2000, 3000) / 1000.0);
  const double guess = threshold * std::pow(10.0, *rc::gen::inRange(-2000, 2000) / 1000.0);
  const RateSearch found = search_rate([&](double rate) { return rate <= threshold; }, from(guess));
  RC_ASSERT(found.rate <= threshold);
  RC_ASSERT(found.rate * 1.0201 >= threshold);
  std::set<double> rates;
  for (const ProbedRate& p : found.probes) rates.insert(p.rate);
  RC_ASSERT(rates.size() == found.probes.size());
}

TEST(RateSearch, NothingPassesWhereTheLowestRateFails) {
  const RateSearch found = search_rate([](double) { return false; }, from(1));
  EXPECT_EQ(found.rate, 0);
  EXPECT_EQ(found.fails_at, 1e-3);
  EXPECT_TRUE(found.monotone);
  EXPECT_LE(found.probes.size(), 6U);
}

TEST(RateSearch, EverythingPassesUpToTheHighest) {
  RateSearchOptions options = from(1);
  options.highest = 100;
  const RateSearch found = search_rate([](double) { return true; }, options);
  EXPECT_EQ(found.rate, 100);
  EXPECT_TRUE(std::isinf(found.fails_at));
}

// Passes up to 1, fails up to 3, passes again up to 6: whatever is asked first, the answer lies below the gap once a
// rate within it has been probed, and the gap is said.
TEST(RateSearch, AGapIsDetectedAndTheAnswerLiesBelowIt) {
  const auto bimodal = [](double rate) { return rate <= 1 || (rate > 3 && rate <= 6); };
  for (const double guess : {0.1, 4.0, 5.0, 40.0}) {
    const RateSearch found = search_rate(bimodal, from(guess));
    for (const ProbedRate& p : found.probes) EXPECT_TRUE(p.rate > found.rate || p.passes) << guess;
    const bool saw_gap = std::any_of(found.probes.begin(), found.probes.end(),
                                     [](const ProbedRate& p) { return p.rate > 1 && p.rate <= 3; });
    const bool saw_above = std::any_of(found.probes.begin(), found.probes.end(),
                                       [](const ProbedRate& p) { return p.rate > 3 && p.rate <= 6; });
    EXPECT_EQ(found.monotone, !(saw_gap && saw_above)) << guess;
    if (saw_gap) {
      EXPECT_LE(found.rate, 1) << guess;
      EXPECT_GE(found.rate * 1.02, 1) << guess;
    }
  }
  EXPECT_FALSE(search_rate(bimodal, from(5)).monotone) << "half the answer lies in the gap";
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
