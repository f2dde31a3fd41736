// The load over time of real runs: it changes nothing else, and adds up to what the result says of the measured time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "tests/results/cases.h"
#include "tools/results/result_document.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;

/// 40 s of which 30 s are measured.
const Sets kSomeTime = {"workload.requests=100000", "run.warmup=10 s", "run.duration=40 s"};

planner::ExperimentResult experiment(const scenario::Scenario& s, bool timeline) {
  planner::ExperimentOptions options;
  options.timeline = timeline;
  return planner::run_experiment(s, options);
}

Json document(const scenario::Scenario& s, bool timeline = true) {
  return results::result_document({s, experiment(s, timeline), ""}, false);
}

double mean(const Json& shares, std::size_t first) {
  double sum = 0;
  for (std::size_t i = first; i < shares.size(); ++i) sum += shares[i].get<double>();
  return sum / static_cast<double>(shares.size() - first);
}

class TimelineOf : public ::testing::TestWithParam<Case> {
 protected:
  [[nodiscard]] static scenario::Scenario scenario_with(const Sets& more) {
    return GetParam().make(together(GetParam().sets, more));
  }
};

TEST_P(TimelineOf, ChangesNoOtherFigure) {
  for (const Sets& more : {Sets{}, Sets{"run.warmup=1 s"}, Sets{"run.duration=7.77 s", "run.replications=2"}}) {
    const scenario::Scenario s = scenario_with(more);
    Json watched = document(s);
    EXPECT_EQ(watched.erase("timeline"), 1U);
    EXPECT_EQ(watched.dump(), document(s, false).dump());
  }
}

TEST_P(TimelineOf, HasGpuSharesThatMakeUpThoseOfTheResult) {
  const scenario::Scenario s = scenario_with(together(kSomeTime, {"run.sample_every=0.5 s"}));
  const planner::ExperimentResult r = experiment(s, true);
  const Json doc = results::result_document({s, r, ""}, false);
  const Json& gpu = doc["timeline"]["gpu"];
  constexpr std::size_t first = 20;  // 10 s of warm-up
  for (std::size_t i = 0; i < 80; ++i) {
    double sum = 0;
    for (const auto& [name, shares] : gpu.items()) {
      ASSERT_EQ(shares.size(), 80U);
      EXPECT_GE(shares[i].get<double>(), -1e-9);
      EXPECT_LE(shares[i].get<double>(), 1 + 1e-9);
      sum += shares[i].get<double>();
    }
    EXPECT_NEAR(sum, 1, 1e-9) << i;
  }
  // An iteration that is under way when the measured time begins or ends may be split in another way.
  const double iteration = 2 * r.measured.iteration_s.max() / 30;
  const Json& bound = doc["gpu"]["bound_by"];
  for (const char* part : {"hbm_bandwidth", "compute", "fixed"}) {
    EXPECT_NEAR(mean(gpu[part], first), bound[part].get<double>(), iteration) << part;
  }
  const double waiting = mean(gpu["link"], first), idle = mean(gpu["idle"], first);
  EXPECT_NEAR(waiting + idle, bound["link"].get<double>() + bound["idle"].get<double>(), iteration);
  // The result tells a node's idle times apart when they end, the timeline at every sample.
  if (s.serving.cluster.pools) return;
  EXPECT_NEAR(waiting, bound["link"].get<double>(), iteration);
  EXPECT_NEAR(idle, bound["idle"].get<double>(), iteration);
}

TEST_P(TimelineOf, HasLinkSharesThatMakeUpThoseOfTheResult) {
  const Json doc = document(scenario_with(together(kSomeTime, {"run.sample_every=0.5 s"})));
  const Json& links = doc["timeline"]["links"];
  ASSERT_EQ(links.size(), doc["links"].size());
  double most = 0;
  for (const auto& [name, link] : doc["links"].items()) {
    EXPECT_NEAR(mean(links[name], 20), link["utilisation"].get<double>(), 1e-9) << name;
    most = std::max(most, link["utilisation"].get<double>());
  }
  if (GetParam().name != "prefilled") {
    EXPECT_GT(most, 0);
  }
}

TEST_P(TimelineOf, ChoosesAPeriodThatLeavesAtMost120Samples) {
  // 40 s of 0.1 s: 120 samples at 12 s, then 0.2 s; at 24 s, then 0.4 s, which are 100.
  const Json t = document(scenario_with(kSomeTime))["timeline"];
  EXPECT_DOUBLE_EQ(t["period_s"].get<double>(), 0.4);
  EXPECT_EQ(t["warmup_s"], 10.0);
  ASSERT_EQ(t["time_s"].size(), 100U);
  EXPECT_DOUBLE_EQ(t["time_s"][99].get<double>(), 40);
  // What is left are means over the longer periods.
  const Json fine = document(scenario_with(together(kSomeTime, {"run.sample_every=0.2 s"})))["timeline"];
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(t["running"][i], fine["running"][2 * i + 1]);
    EXPECT_EQ(t["kv_bytes"][i], fine["kv_bytes"][2 * i + 1]);
    for (const auto& [name, shares] : t["gpu"].items()) {
      const Json& halves = fine["gpu"][name];
      const double both = halves[2 * i].get<double>() + halves[2 * i + 1].get<double>();
      // A node's idle time is told apart at samples, of which there are more.
      if (GetParam().name != "pools") {
        EXPECT_NEAR(shares[i].get<double>(), both / 2, 1e-9);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Runs, TimelineOf, ::testing::ValuesIn(kCases), [](const auto& one) { return one.param.name; });

TEST(TimelineDocument, TellsStreamingKvFromTheRest) {
  const Json verified = document(small_scenario(kSomeTime))["timeline"];
  const Json whole =
      document(small_scenario(together(kSomeTime, {"decode.policy=full_kv", "schedule={}"})))["timeline"];
  std::int64_t most = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const Json& parts = verified["kv_parts_bytes"];
    EXPECT_EQ(parts["resident"][i].get<std::int64_t>() + parts["streaming"][i].get<std::int64_t>(),
              verified["kv_bytes"][i]);
    most = std::max(most, parts["streaming"][i].get<std::int64_t>());
    EXPECT_EQ(whole["kv_parts_bytes"]["streaming"][i], 0);
    EXPECT_EQ(whole["kv_parts_bytes"]["resident"][i], whole["kv_bytes"][i]);
  }
  // A reload of three quarters of 16,000 tokens and more is 1.57 GB; it takes a tenth of 10 requests' drafting or more.
  EXPECT_GT(most, 1'570'000'000);
}

TEST(TimelineDocument, OfPoolsTellsReloadsFromTheRest) {
  const Json t = document(
      pools_scenario(together(kSomeTime, {"dispatch={policy: weighted, weights: {P1_stateless: 1}}"})))["timeline"];
  std::int64_t most = 0;
  for (std::size_t i = 0; i < 100; ++i) {
    const Json& parts = t["kv_parts_bytes"];
    EXPECT_EQ(parts["resident"][i].get<std::int64_t>() + parts["streaming"][i].get<std::int64_t>(), t["kv_bytes"][i]);
    most = std::max(most, parts["streaming"][i].get<std::int64_t>());
  }
  EXPECT_GT(most, 0);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
