// Traces of more requests, or sessions, than a sample keeps.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "models/workload/distributions.h"
#include "planner/traffic/traffic_comparison.h"
#include "tests/traffic/traffic_support.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

TEST(LongTrace, RunsOfConsecutiveOnesAreKept) {
  Runs runs;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < 100 * Runs::kRun; ++i) {
    if (runs.next()) kept.push_back(i);
    if (kept.size() < 8 * Runs::kRun) continue;
    runs.thin();
    Runs::halve(kept);
  }
  EXPECT_EQ(runs.count(), 100 * Runs::kRun);
  ASSERT_EQ(kept.size(), 7 * Runs::kRun) << "of runs 0, 16, 32, ... 96";
  for (std::size_t i = 0; i < kept.size(); ++i) {
    EXPECT_EQ(kept[i], i / Runs::kRun * 16 * Runs::kRun + i % Runs::kRun);
  }
}

// Times of all are counted where not all are kept: 1/s for 400 s, then 4/s for 800 s, so that the 1,200 s are 24 parts
// of 50 s.
TEST(LongTrace, WhenRequestsCameIsCountedOfAll) {
  ArrivalTimes times(2 * Runs::kRun);
  std::vector<std::int64_t> all;
  for (std::int64_t ms = 0; ms <= 400'000; ms += 1'000) all.push_back(ms);
  for (std::int64_t ms = 400'250; ms <= 1'200'000; ms += 250) all.push_back(ms);
  for (const std::int64_t ms : all) {
    times.add(ms * 1'000'000);
    if (times.full()) times.halve();
  }
  EXPECT_EQ(times.count(), all.size());
  EXPECT_LT(times.kept().size(), all.size() / 2);
  const std::vector<double> counts = times.counts(24);
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    sum += counts[i];
    EXPECT_NEAR(counts[i], i < 8 ? 50 : 200, 3) << i;
  }
  EXPECT_EQ(sum, static_cast<double>(all.size()));
  for (const std::int64_t gap : times.gaps_ns()) EXPECT_TRUE(gap == 1'000'000'000 || gap == 250'000'000) << gap;
}

// 1.2 million requests of 300,000 sessions: laws of a part of them are those of all, whose number is right.
TEST(LongTrace, LawsAreThoseOfAPartOfIt) {
  TrafficSample sample(0);
  models::ArrivalProcess process(models::ArrivalSpec{models::ArrivalKind::gamma, 50, 2});
  const models::LengthSampler prompts({.distribution = models::Distribution::lognormal, .mean = 800, .cv = 1.2});
  const models::LengthSampler outputs({.distribution = models::Distribution::gamma, .mean = 150, .cv = 0.8});
  const auto gaps = stream("gaps"), lengths = stream("lengths");
  constexpr std::int32_t kSessions = 300'000, kTurns = 4;
  for (std::int32_t i = 0; i < kSessions * kTurns; ++i) {
    models::RequestSpec r;
    r.arrival_ns = process.next(*gaps);
    r.prompt_tokens = prompts.sample(*lengths);
    r.output_tokens = outputs.sample(*lengths);
    r.session = i / 40 * 10 + i % 10;  // ten at a time
    r.turn = i / 10 % kTurns + 1;
    if (r.turn > 1) r.think_ns = 5'000'000'000;
    sample.add(r);
  }
  EXPECT_LT(sample.kept(), TrafficSample::kMostRequests);
  EXPECT_GT(sample.kept(), TrafficSample::kMostRequests / 3);
  EXPECT_LT(sample.growth().size(), TrafficSample::kMostTurns);
  EXPECT_GT(sample.growth().size(), TrafficSample::kMostTurns / 3);
  EXPECT_EQ(sample.growth().size(), 3 * sample.turns().size()) << "sessions as a whole";
  const TrafficFit fit = fit_traffic(sample);
  EXPECT_EQ(fit.requests, 1'200'000U);
  EXPECT_EQ(fit.sessions->sessions, 300'000U);
  EXPECT_EQ(fit.sessions->turns.mean.value, 4);
  EXPECT_EQ(fit.sessions->think_ns->mean.value, 5e9);
  EXPECT_EQ(fit.arrivals->law.kind, models::ArrivalKind::gamma);
  EXPECT_TRUE(fit.arrivals->rate_per_s.holds(50)) << fit.arrivals->rate_per_s.value;
  EXPECT_TRUE(fit.arrivals->cv.holds(2)) << fit.arrivals->cv.value;
  EXPECT_FALSE(fit.rate.beyond_chance);
  EXPECT_TRUE(fit.prompt.parameters.mean.holds(800)) << fit.prompt.parameters.mean.value;
  EXPECT_TRUE(fit.output.parameters.cv.holds(0.8)) << fit.output.parameters.cv.value;
  const TrafficComparison same = compare_traffic(sample, sample);
  EXPECT_EQ(same.a.requests, 1'200'000U);
  EXPECT_EQ(same.prompts.distance, 0);
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
