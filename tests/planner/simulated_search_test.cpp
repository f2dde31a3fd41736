// The search with the simulator in the loop.
#include <algorithm>

#include <gtest/gtest.h>

#include "planner/simulated/simulated_search.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

SimulatedPlan search_small(int jobs) {
  const scenario::Scenario s = testing::small_scenario({"workload.requests=30", "decode.draft_length=5"});
  PlanRequest request;
  request.keep_ratios = {0.15, 0.25, 0.4};
  SimulatedSearchOptions options;
  options.jobs = jobs;
  options.seeds = 4;
  return simulate_plans(s, plan(s, request), options);
}

TEST(SimulatedSearch, ReturnsTheBestOfWhatItTried) {
  const SimulatedPlan found = search_small(2);
  ASSERT_GT(found.candidates.size(), 5U);
  for (const SimulatedCandidate& c : found.candidates) {
    if (!c.stopped) {
      EXPECT_GE(found.best().mean(), c.mean());
      EXPECT_EQ(c.tokens_per_s.size(), 4U) << c.origin;
    } else {
      EXPECT_GE(c.tokens_per_s.size(), 3U);
      EXPECT_LT(c.mean(), found.best().mean());
    }
  }
  EXPECT_FALSE(found.best().stopped);
  ASSERT_TRUE(found.speedup);
  EXPECT_GT(found.speedup->mean, 1);
  EXPECT_GT(found.throughput.half_width_95, 0);
  ASSERT_TRUE(found.gap());
  EXPECT_LT(std::abs(*found.gap()), 0.5);
}

TEST(SimulatedSearch, BeatsADraftLengthThatIsTooShort) {
  const SimulatedPlan found = search_small(2);
  const auto own = std::find_if(found.candidates.begin(), found.candidates.end(),
                                [](const SimulatedCandidate& c) { return c.origin == "the scenario's own"; });
  ASSERT_NE(own, found.candidates.end());
  EXPECT_TRUE(own->stopped);
  EXPECT_GT(found.best().mean(), own->mean() * 1.05);
}

TEST(SimulatedSearch, DoesNotDependOnTheNumberOfThreads) {
  const SimulatedPlan one = search_small(1), three = search_small(3);
  EXPECT_EQ(one.throughput.mean, three.throughput.mean);
  EXPECT_EQ(one.simulations, three.simulations);
  ASSERT_EQ(one.candidates.size(), three.candidates.size());
  for (std::size_t i = 0; i < one.candidates.size(); ++i) {
    EXPECT_EQ(one.candidates[i].tokens_per_s, three.candidates[i].tokens_per_s);
  }
}

TEST(SimulatedSearch, StopsWhenToldTo) {
  const scenario::Scenario s = testing::small_scenario();
  SimulatedSearchOptions options;
  options.progress = [](std::size_t, std::size_t) { return false; };
  EXPECT_TRUE(simulate_plans(s, plan(s, {}), options).interrupted);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
