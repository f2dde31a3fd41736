// The thread that tokenises is a candidate for what binds, and a queue for what limits a capacity.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "planner/sweep/design.h"
#include "tests/planner/capacity_scenario.h"
#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/capacity.h"
#include "tools/results/comparison.h"
#include "tools/results/run_page.h"
#include "tools/results/sweep.h"
#include "tools/results/time_account.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

const Sets kEngine{"decode={policy: full_kv}", "schedule={policy: fcfs, engine: vllm}", "prefill=recompute"};

/// At work for this share of ten seconds.
results::Outcome tokenising(const scenario::Scenario& scenario, double share) {
  serving::Measurements m;
  m.measured_s = m.capacity_s = m.tokenisers_s = 10;
  m.busy_s = m.bound_s[static_cast<std::size_t>(models::Resource::hbm_bandwidth)] = 8;
  m.tokenising_s = share * m.tokenisers_s;
  return outcome_of(scenario, m);
}

std::string page_of(const results::Outcome& outcome) {
  return results::to_text(results::run_page(outcome, false));
}

TEST(Tokeniser, StandsBesideTheTimeOfTheGpus) {
  EXPECT_NE(page_of(tokenising(small_scenario(kEngine), 0.625)).find("tokenising thread busy      62.5 %"),
            std::string::npos)
      << page_of(tokenising(small_scenario(kEngine), 0.625));
  EXPECT_EQ(page_of(tokenising(small_scenario(), 0)).find("tokenising"), std::string::npos);
}

TEST(Tokeniser, BindsAPointSweptWhereItNeverRests) {
  const auto swept = [](double share) {
    const results::Outcome o = tokenising(small_scenario(kEngine), share);
    results::Sweep sweep;
    sweep.metric = "gpu.bound_by.hbm_bandwidth";
    sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("run.seed=1")});
    sweep.points.push_back({0, "", results::encoded_figures(o.scenario, o.result)});
    return results::to_text(results::sweep_page(sweep));
  };
  EXPECT_NE(swept(0.97).find("tokeniser 97 %"), std::string::npos) << swept(0.97);
  EXPECT_NE(swept(0.94).find("HBM 80 %"), std::string::npos) << swept(0.94);
}

TEST(Tokeniser, BindsACapacityWhereItNeverRestsAndAQueueLimitsIt) {
  results::CapacityOutcome outcome;
  outcome.plan.request.probe = quick_probe();
  outcome.plan.request.prices = models::PriceTable::built_in();
  planner::capacity::Configuration c;
  c.scenario = quick_chat();
  c.machine = "h100-sxm";
  c.policy = "full_kv";
  c.search.rate = 1;
  c.search.fails_at = 2;
  c.probes.resize(2);
  c.probes[0].rate = 1;
  c.probes[0].meets = c.probes[0].passes = true;
  c.probes[0].tokeniser_busy = 0.97;
  c.probes[0].bound_by.hbm_bandwidth.share = 0.8;
  c.probes[1].rate = 2;
  c.probes[1].meets = true;
  c.probes[1].unsteady = "the queue grows";
  outcome.plan.configurations.push_back(c);
  const auto page = [&outcome] { return results::to_text(results::capacity_page(outcome)); };
  EXPECT_NE(page().find("tokeniser 97 %"), std::string::npos) << page();
  EXPECT_NE(page().find(" queue "), std::string::npos) << page();
  EXPECT_NE(page().find("at 2.000 requests/s the system does not keep up: the queue grows"), std::string::npos)
      << page();
  outcome.plan.configurations.front().probes[0].tokeniser_busy = 0.5;
  EXPECT_NE(page().find("HBM 80 %"), std::string::npos) << page();
}

TEST(TimeAccount, WhatBindsIsNamedByItsPartsTheLargestFirst) {
  serving::Bottleneck b;
  b.fixed.share = 0.489;
  b.hbm_bandwidth.share = 0.209;
  b.host.share = 0.152;
  b.collectives.share = 0.131;
  b.compute.share = 0.019;
  EXPECT_EQ(results::bound_words(b), "fixed times 49 %, HBM 21 %, host 15 %, collectives 13 %");
}

TEST(TimeAccount, IterationsLaunchedForTheirSizeAreSaidWhereTheyAreMany) {
  EXPECT_EQ(results::launched_words({{"a", 0.02}, {"b", 0.0}, {"c", results::kNone}}), "");
  EXPECT_EQ(results::launched_words({{"a", 0.12}, {"b", 0.31}, {"c", 0.01}}),
            "iterations launched kernel by kernel, as they have more tokens than captured ones: 31 % of b, 12 % of a");
  std::vector<std::pair<std::string, double>> many;
  for (int i = 1; i <= 7; ++i) many.emplace_back(std::to_string(i), i / 10.0);
  EXPECT_NE(
      results::launched_words(many).find("70 % of 7, 60 % of 6, 50 % of 5, 40 % of 4, 30 % of 3 and fewer of 2 more"),
      std::string::npos);
}

TEST(TimeAccount, ComparisonsAndSweepsRemarkLaunchesForSize) {
  const auto launched = [](std::int64_t iterations) {
    serving::Measurements m;
    m.measured_s = m.capacity_s = 10;
    m.iteration_s.add(0.01, 100);
    m.launched_iterations = iterations;
    results::Outcome o = outcome_of(small_scenario(kEngine), m);
    o.policy = iterations > 0 ? "many" : "none";
    return o;
  };
  const std::string words = "captured ones: 40 % of ";
  results::TextStyle wide;
  wide.width = 1000;
  results::Comparison c;
  c.outcomes = {launched(0), launched(40)};
  const std::string compared = results::to_text(compare_page(c, false, results::Labels::full), wide);
  EXPECT_NE(compared.find(words + "many"), std::string::npos) << compared;
  results::Sweep sweep;
  sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("run.seed=1,2")});
  for (std::size_t i = 0; i < 2; ++i) {
    const results::Outcome& o = c.outcomes[i];
    sweep.points.push_back({i, "", results::encoded_figures(o.scenario, o.result)});
  }
  const std::string swept = results::to_text(results::sweep_page(sweep), wide);
  EXPECT_NE(swept.find(words + "point 1"), std::string::npos) << swept;
}

TEST(Objectives, PagesSayHowItlIsJudged) {
  Sets sets = kEngine;
  sets.push_back("slo={itl_p90: 100 ms}");
  results::Outcome o = tokenising(small_scenario(sets), 0.1);
  o.policy = "full_kv";
  const std::string words = "each request's largest gap between two tokens";
  results::TextStyle wide;
  wide.width = 1000;
  EXPECT_NE(results::to_text(results::run_page(o, false), wide).find(words), std::string::npos);
  results::Comparison c;
  c.outcomes = {o, o};
  EXPECT_NE(results::to_text(compare_page(c, false, results::Labels::full), wide).find(words), std::string::npos);
  results::Sweep sweep;
  sweep.plan.design = planner::sweep::Design::grid({planner::sweep::parse_axis("run.seed=1")});
  sweep.points.push_back({0, "", results::encoded_figures(o.scenario, o.result)});
  EXPECT_NE(results::to_text(results::sweep_page(sweep), wide).find(words), std::string::npos);
  EXPECT_EQ(page_of(tokenising(small_scenario(kEngine), 0.1)).find(words), std::string::npos);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
