#include "planner/capacity/rate_search.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/planner/capacity_scenario.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

using testing::quick_chat;
using testing::quick_plan;
using testing::quick_probe;

TEST(Confirmation, ARateThatPassesStandsAfterOneProbe) {
  int probes = 0;
  const ConfirmedRate c = confirm_rate(5, [&](double) { return ++probes > 0; }, {});
  EXPECT_EQ(c.rate, 5);
  EXPECT_EQ(c.fails_at, 0);
  EXPECT_EQ(probes, 1);
}

TEST(Confirmation, ARateThatFailsIsLoweredToTheStepBelow) {
  for (const double step : {4.99, 4.85, 4.4, 3.1, 0.7}) {
    const ConfirmedRate c = confirm_rate(5, [step](double rate) { return rate <= step; }, {});
    EXPECT_LE(c.rate, step);
    EXPECT_GE(c.rate * 1.02, step * (1 - 1e-12));
    EXPECT_GT(c.fails_at, step);
  }
}

TEST(Confirmation, WhereTheLowestRateFailsNothingPasses) {
  std::vector<double> probed;
  const ConfirmedRate c = confirm_rate(5,
                                       [&](double rate) {
                                         probed.push_back(rate);
                                         return false;
                                       },
                                       {1.0, 0.02});
  EXPECT_EQ(c.rate, 0);
  EXPECT_EQ(c.fails_at, 1.0);
  EXPECT_EQ(probed.back(), 1.0);
}

// A TTFT objective alone, where near saturation the queue relaxes for minutes: plain simulations, each twenty times as
// long as the search's with a seed of its own, must each reach the target at the rate found.
TEST(Confirmation, TheRateFoundHoldsInEachOfMuchLongerRuns) {
  const std::vector<std::string> ttft_only{"slo={ttft_p99: 500 ms}"};
  const CapacityPlan plan = quick_plan(ttft_only, {}, testing::confirming_probe());
  const Configuration& c = plan.configurations.front();
  ASSERT_GT(c.search.rate, 0);
  const Probe& best = *c.sustained();
  EXPECT_EQ(best.stage, Stage::confirmation);
  EXPECT_GE(best.length.judged_s, 1800);
  EXPECT_GE(best.length.warmup_s, 300);
  for (const std::uint64_t seed : {1001U, 2001U, 3001U}) {
    scenario::Scenario fresh = quick_chat(ttft_only);
    fresh.serving.run.seed = seed;
    fresh.serving.run.duration_s = 1860;
    fresh.serving.run.warmup_s = 60;
    ProbeOptions one = quick_probe();
    one.replications = 1;
    const Attainment a = probe_rate(fresh, c.search.rate, one).attainment;
    std::printf("rate %.3f/s, seed %u: attainment %.4f of %u requests\n", c.search.rate, static_cast<unsigned>(seed),
                a.share, static_cast<unsigned>(a.requests));
    EXPECT_GE(a.share, one.target) << "seed " << seed;
  }
}

TEST(Confirmation, AHopelessRunIsGivenUpWhateverTheThreads) {
  ProbeOptions options = quick_probe();
  options.stage = Stage::confirmation;
  const Probe one = probe_rate(quick_chat(), 120, options, 1);
  const Probe three = probe_rate(quick_chat(), 120, options, 3);
  EXPECT_TRUE(one.given_up);
  EXPECT_FALSE(one.passes);
  EXPECT_LT(one.attainment.share, *options.target);
  EXPECT_EQ(one.attainment.requests, three.attainment.requests);
  EXPECT_EQ(one.attainment.misses, three.attainment.misses);
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
