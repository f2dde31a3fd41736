// Explanations: the resource that binds by construction is the one that is named, more of anything is not slower, sums
// add up, and the number of threads does not matter.
#include <cmath>

#include <gtest/gtest.h>

#include "planner/explain/explain.h"
#include "tests/planner/explain_cases.h"
#include "tests/support/time_parts.h"
#include "tools/results/plan.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using testing::ExplainCase;

const Elasticity& of(const Explanation& e, Factor factor) {
  for (const Elasticity& one : e.elasticities) {
    if (one.factor == factor) return one;
  }
  throw std::invalid_argument("no such elasticity");
}

TEST(Explain, HbmBandwidthBindsWhereKernelsHaveNoFixedTimes) {
  // Four requests that fit as often as one likes: T_iter = (M + B KV_avg) / BW_hbm, so T grows as BW does.
  const Explanation& e = testing::hbm_bandwidth_bound().explanation;
  EXPECT_EQ(e.binding, Factor::hbm_bandwidth);
  EXPECT_NEAR(of(e, Factor::hbm_bandwidth).value(), 1.0, 0.05);
  EXPECT_NEAR(of(e, Factor::link_bandwidth).value(), 0.0, 0.05);
  EXPECT_NEAR(of(e, Factor::hbm_capacity).value(), 0.0, 0.05);
  EXPECT_GT(e.shares.of.hbm_bandwidth.share, 0.99);
  EXPECT_EQ(e.shares.short_of_memory, 0);
}

TEST(Explain, TheLinkBindsWherePromptsComeOverASlowOne) {
  // 2.1 GB of prompt over 10 GB/s for 20 tokens of output.
  const Explanation& e = testing::link_bound().explanation;
  EXPECT_EQ(e.binding, Factor::link_bandwidth);
  EXPECT_GT(of(e, Factor::link_bandwidth).value(), 0.4);
  EXPECT_GT(e.shares.of.link.share, 0.4);
  EXPECT_GT(e.utilisation.link_to_gpu, 0.4);
}

TEST(Explain, CapacityBindsWhereRequestsQueueForMemory) {
  const Explanation& e = testing::capacity_bound().explanation;
  EXPECT_EQ(e.binding, Factor::hbm_capacity);
  EXPECT_GT(of(e, Factor::hbm_capacity).value(), 0.9);
  EXPECT_GT(e.shares.short_of_memory, 0.5);
  EXPECT_LE(e.shares.short_of_memory, 1 + 1e-9);
  // The plan's own batch is a limit, so that only another plan uses the memory.
  EXPECT_FALSE(of(e, Factor::hbm_capacity).same_plan);
  EXPECT_GT(of(e, Factor::hbm_capacity).replanned.relative, of(e, Factor::hbm_capacity).kept.relative);
  EXPECT_GT(e.utilisation.hbm_peak_bytes / e.utilisation.hbm_bytes, 0.9);
}

TEST(Explain, MoreOfAnythingIsNotSlower) {
  for (const ExplainCase* each : testing::explain_cases()) {
    for (const Elasticity& e : each->explanation.elasticities) {
      EXPECT_GE(e.better().relative, -std::max(e.better().half_width_95, 1e-9)) << name_of(e.factor).name;
    }
  }
}

TEST(Explain, SharesAddUpToOne) {
  for (const ExplainCase* each : testing::explain_cases()) {
    const Explanation& e = each->explanation;
    EXPECT_NEAR(testing::sum_of_shares(e.shares.of), 1.0, 1e-9);
    const Stalls& s = e.stalls;
    EXPECT_NEAR(s.drafting + s.verifying + s.late_reload + s.otherwise, 1.0, 1e-12);
    EXPECT_GE(s.otherwise, 0);
    EXPECT_GT(s.request_iterations, 0u);
  }
}

TEST(Explain, DoesNotDependOnTheNumberOfThreads) {
  const ExplainCase& one = testing::capacity_bound();
  ExplainOptions options = testing::quick_options();
  options.jobs = 1;
  const auto document = [](const Explanation& e) { return object(results::explanation_fields(), e).dump(); };
  EXPECT_EQ(document(explain(one.scenario, one.plan, options)), document(one.explanation));
}

TEST(Explain, OneReplicationHasIntervalsOfBatchMeans) {
  const scenario::Scenario s = testing::explain_scenario({"run.duration=30 s"});
  PlanRequest request;
  request.keep_ratios = {0.25};
  request.most_draft_length = 8;
  ExplainOptions options = testing::quick_options();
  options.replications = 1;
  const Explanation e = explain(s, plan(s, request), options);
  EXPECT_EQ(e.replications, 1u);
  EXPECT_TRUE(std::isfinite(e.half_width_95));
  for (const Elasticity& one : e.elasticities) EXPECT_TRUE(std::isfinite(one.kept.half_width_95));
}

TEST(Explain, NothingBindsWhereAllThatIsOfferedIsServed) {
  const scenario::Scenario s = scenario::load_scenario_text(
      R"(
name: idle
model: llama-3.1-8b
cluster: {gpu: {type: h100-sxm, activations: 0 B}, host: {memory: 512 GiB, link: pcie5-x16}}
workload: {arrivals: {process: poisson, rate: 0.2/s}, context: 16k tokens, output: 50 tokens}
prefill: stored
decode: {policy: draft_verify, compressor: kvzip, keep_ratio: 0.25, draft_length: 8}
schedule: {policy: staggered}
run: {duration: 200 s}
)",
      "idle.yaml");
  PlanRequest request;
  request.keep_ratios = {0.25};
  request.most_draft_length = 8;
  const Explanation e = explain(s, plan(s, request), testing::quick_options());
  EXPECT_TRUE(e.load_bound);
  EXPECT_EQ(e.binding, std::nullopt);
  EXPECT_GT(e.shares.of.idle.share, 0.8);
  EXPECT_TRUE(results::explain_sentence(e).starts_with("No resource binds: the plan serves all that is offered"));
}

TEST(Explain, AnInterruptionIsSaid) {
  const ExplainCase& one = testing::capacity_bound();
  ExplainOptions options = testing::quick_options();
  options.go_on = [] { return false; };
  EXPECT_TRUE(explain(one.scenario, one.plan, options).interrupted);
}

TEST(ExplainPage, BeginsWithTheDecision) {
  const Explanation& e = testing::capacity_bound().explanation;
  EXPECT_TRUE(results::explain_sentence(e).starts_with("HBM capacity binds: +10 % of it gives +"));
  const results::Page page = results::explain_page(e);
  ASSERT_FALSE(page.subtitle.empty());
  EXPECT_EQ(page.subtitle.front(), results::explain_sentence(e));
  EXPECT_EQ(page.tables.size(), 6u);
}

TEST(ExplainDocument, HasItsSectionsAndReasons) {
  results::PlanOutcome outcome;
  outcome.scenario = testing::link_bound().scenario;
  outcome.plan = testing::link_bound().plan;
  outcome.explanation = testing::link_bound().explanation;
  const results::Json document = results::plan_document(outcome, false);
  for (const char* key : {"binding", "utilisation", "stalls", "elasticities", "margins", "runner_up"}) {
    EXPECT_TRUE(document["explanation"].contains(key)) << key;
  }
  EXPECT_EQ(document["explanation"]["binding"]["resource"], "link_bandwidth");
  // A null has its reason under its path.
  const results::Json& compute = document["explanation"]["margins"]["compute"]["up"];
  ASSERT_TRUE(compute["factor"].is_null());
  EXPECT_TRUE(document["details"]["reasons"].contains("explanation.margins.compute.up.factor"));
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
