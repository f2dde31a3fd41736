// Margins are where the plan changes, factors change what they say, and alternatives are what the closed forms give.
#include <cmath>

#include <gtest/gtest.h>

#include "models/kernels/step_time.h"
#include "planner/explain/explain.h"
#include "tests/planner/explain_cases.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

struct Planned {
  scenario::Scenario scenario =
      testing::explain_scenario({"cluster.gpu.memory_fraction=0.4", "workload.closed.concurrency=100"});
  ScenarioPlan plan;
  Planned() {
    PlanRequest request;
    request.keep_ratios = {0.2, 0.3, 0.4};
    request.most_draft_length = 40;
    plan = planner::plan(scenario, request);
  }
};

/// 1 at 0, `factor` at 1.
double towards(double factor, double share) {
  return std::pow(factor, share);
}

TEST(Margins, AreWhereThePlanChanges) {
  const Planned p;
  std::size_t found = 0;
  for (const Margin& margin : margins(p.scenario, p.plan, 2)) {
    for (const MarginSide* side : {&margin.down, &margin.up}) {
      if (!side->factor) continue;
      ++found;
      const auto planned_at = [&](double factor) {
        return plan(scaled(p.scenario, margin.factor, factor), p.plan.request).optimum;
      };
      SCOPED_TRACE(std::string(name_of(margin.factor).name) + " " + side->change);
      EXPECT_TRUE(same_plan(planned_at(towards(*side->factor, 0.9)), p.plan.optimum));
      ASSERT_TRUE(side->plan);
      EXPECT_TRUE(same_plan(planned_at(*side->factor), *side->plan));
      EXPECT_FALSE(same_plan(*side->plan, p.plan.optimum));
      EXPECT_NE(side->change, "");
    }
  }
  EXPECT_GE(found, 6u);
}

TEST(Margins, NothingFitsIsAChange) {
  // 16.1 GB of weights, and one request's KV beside them, need more than half of 0.4 x 85.6 GB.
  const Planned p;
  const std::optional<OperatingPoint> none = optimum_of(scaled(p.scenario, Factor::hbm_capacity, 0.5), p.plan.request);
  EXPECT_EQ(none, std::nullopt);
}

TEST(Optimum, IsThePlans) {
  const Planned p;
  const std::optional<OperatingPoint> found = optimum_of(p.scenario, p.plan.request);
  ASSERT_TRUE(found);
  EXPECT_TRUE(same_plan(*found, p.plan.optimum));
  EXPECT_DOUBLE_EQ(found->throughput_tokens_per_s, p.plan.optimum.throughput_tokens_per_s);
}

TEST(Optimum, SpansCountOnlyWhereThereAreReloads) {
  OperatingPoint a;
  a.x = 8;
  OperatingPoint b = a;
  b.batch.l = 3;
  EXPECT_TRUE(same_plan(a, b));
  EXPECT_EQ(difference(a, b), "");
  a.batch.B_c = b.batch.B_c = 2;
  EXPECT_FALSE(same_plan(a, b));
  EXPECT_EQ(difference(a, b), "l 1 -> 3");
}

TEST(Alternatives, LoseAndAreNextToTheOptimum) {
  const Planned p;
  const std::vector<Alternative> all = alternatives(p.scenario, p.plan);
  ASSERT_GE(all.size(), 5u);
  for (const Alternative& a : all) {
    EXPECT_GE(a.loss, 0.0) << a.what;
    EXPECT_LE(a.loss, 1.0) << a.what;
    if (a.plan && a.what.starts_with("x = ")) {
      EXPECT_EQ(std::abs(a.plan->x - p.plan.optimum.x), 1);
      EXPECT_EQ(a.plan->c, p.plan.optimum.c);
    }
    if (a.plan && a.what.starts_with("c = ")) {
      EXPECT_EQ(a.plan->x, p.plan.optimum.x);
      EXPECT_NE(a.plan->c, p.plan.optimum.c);
    }
  }
}

models::AcceptanceModel law(const scenario::Scenario& s) {
  const serving::DecodeConfig& d = s.serving.decode;
  return {d.acceptance, d.compressor.agreement_at(d.keep_ratio), 30};
}

TEST(Factor, AgreementRaisesTheSurvivalOfDraftsOfEveryLaw) {
  for (const char* acceptance :
       {"{model: compressor}", "{model: constant, agreement: 0.95}", "{model: step_kl, step_kl: 0.05}",
        "{model: curve, points: [{draft_length: 10, accepted: 8}, {draft_length: 20, accepted: 13}]}",
        "{model: recorded, lengths: [3, 7, 7, 12, 20]}"}) {
    const scenario::Scenario s = testing::explain_scenario({std::string("decode.acceptance=") + acceptance});
    const models::AcceptanceModel before = law(s), after = law(scaled(s, Factor::agreement, 1.1));
    for (std::int64_t i = 1; i <= 30; ++i) {
      EXPECT_NEAR(after.survival(i), std::pow(before.survival(i), 1 / 1.1), 1e-12) << acceptance << " at " << i;
    }
  }
}

TEST(Factor, StepsFollowTheMachine) {
  // A fitted profile, on the GPU it was measured on and on one of its relatives.
  for (const char* gpu : {"h100-sxm", "h200"}) {
    const scenario::Scenario s = testing::explain_scenario({std::string("cluster.gpu.type=") + gpu});
    models::StepWork work;
    work.decode = {.query_tokens = 8, .kv_bytes = 16e9, .pairs = 8 * 16e3, .requests = 8, .longest_kv = 16e3};
    work.logit_tokens = 8;
    const auto seconds = [&](Factor factor, double by) {
      const serving::ServingConfig c = scaled(s, factor, by).serving;
      return models::StepTimer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link,
                               c.cluster.groups.front().profile, c.model, 1)
          .time(work)
          .total_s;
    };
    const double before = seconds(Factor::hbm_bandwidth, 1.0);
    const double bandwidth = before / seconds(Factor::hbm_bandwidth, 1.1) - 1;
    EXPECT_GT(bandwidth, 0.06) << gpu;  // the rest are fixed times
    EXPECT_LT(bandwidth, 0.1 + 1e-9) << gpu;
    EXPECT_NEAR(before / seconds(Factor::compute, 1.1), 1.0, 0.01) << gpu;
    // No jump where the machine stops being the measured one.
    EXPECT_NEAR(before / seconds(Factor::hbm_bandwidth, 1 + 1e-6), 1.0, 1e-4) << gpu;
  }
}

TEST(Factor, ContextsScaleWithTheirBounds) {
  const scenario::Scenario s = testing::explain_scenario(
      {"workload.context={distribution: lognormal, mean: 16k tokens, cv: 0.3, max: 20k tokens}"});
  const scenario::Scenario longer = scaled(s, Factor::context, 1.5);
  EXPECT_DOUBLE_EQ(longer.workload.context->mean, 24'000.0);
  EXPECT_EQ(longer.workload.context->max, 30'000);
  EXPECT_EQ(longer.workload.context->min, s.workload.context->min == 1 ? 2 : s.workload.context->min * 3 / 2);
  const scenario::Scenario shared = testing::explain_scenario({"workload.prefixes={count: 3, tokens: 2k tokens}"});
  EXPECT_DOUBLE_EQ(scaled(shared, Factor::context, 1.5).workload.prefixes->tokens.mean, 3'000.0);
  const auto chunks = [](const char* tokens) {
    return testing::explain_scenario(
        {"model.max_context=20M tokens",
         std::string("workload.chunks={count: 30, per_request: 4, tokens: ") + tokens + "}"});
  };
  const scenario::Scenario longer_chunks = scaled(chunks("400 tokens"), Factor::context, 1.5);
  EXPECT_EQ(longer_chunks.workload.chunks->tokens, 600);
  EXPECT_EQ(longer_chunks.serving.chunks->tokens, 600) << "what is stored beforehand";
  EXPECT_EQ(scaled(chunks("2M tokens"), Factor::context, 1.5).workload.chunks->tokens, 2'499'999)
      << "the longest request";
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
