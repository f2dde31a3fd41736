// The thread that tokenises is a candidate for what binds, and a queue for what limits a capacity.
#include <gtest/gtest.h>

#include <string>

#include "planner/sweep/design.h"
#include "tests/planner/capacity_scenario.h"
#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/capacity.h"
#include "tools/results/run_page.h"
#include "tools/results/sweep.h"

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

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
