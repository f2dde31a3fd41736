// Plans for scenarios: what goes in, what is refused, what each refinement is for.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/closed_form/symbols.h"
#include "planner/infeasible.h"
#include "planner/plan/scenario_costs.h"
#include "planner/plan/scenario_plan.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using testing::small_scenario;

PlanRequest plain_request(TransferModel model = TransferModel::rings) {
  PlanRequest request;
  request.model = model;
  request.refinements = kNoRefinements;
  request.keep_ratios = {0.1, 0.25, 0.5};
  return request;
}

TEST(ScenarioPlan, WithoutRefinementsItIsThePlanFromSymbols) {
  const scenario::Scenario s = small_scenario();
  const serving::ServingConfig& c = s.serving;
  for (const TransferModelName& entry : kTransferModels) {
    const PlanRequest request = plain_request(entry.model);
    const ScenarioPlan found = plan(s, request);
    SymbolsProblem p;
    p.model = entry.model;
    p.keep_ratios = request.keep_ratios;
    p.symbols.M = c.model.weight_bytes();
    p.symbols.KV = 16000 * c.model.kv_bytes_per_token();
    p.symbols.HBM = c.cluster.groups.front().gpu.memory_bytes.value / 2;
    p.symbols.BW_hbm = c.cluster.groups.front().gpu.memory_bytes_per_s.value;
    p.symbols.BW_link = c.cluster.groups.front().host_link.read_bytes_per_s.value;
    for (const double ratio : request.keep_ratios) {
      p.agreement.push_back({ratio, c.decode.compressor.agreement_at(ratio)});
    }
    std::vector<Cycle> cycles = cycles_of(p);
    cycles.push_back(full_kv_cycle(p.symbols));
    const OperatingPoint expected = *search(entry.model, cycles, {10, BatchLimits::kNone}).optimum;
    EXPECT_EQ(found.optimum.x, expected.x) << entry.name;
    EXPECT_EQ(found.optimum.c, expected.c) << entry.name;
    EXPECT_EQ(found.optimum.batch.B_c, expected.batch.B_c) << entry.name;
    EXPECT_EQ(found.optimum.batch.B_g, expected.batch.B_g) << entry.name;
    EXPECT_NEAR(found.optimum.throughput_tokens_per_s, expected.throughput_tokens_per_s,
                1e-6 * expected.throughput_tokens_per_s);
  }
}

TEST(ScenarioPlan, LeavesDraftersOutAndSaysSo) {
  const ScenarioPlan alone = plan(small_scenario(), plain_request());
  const ScenarioPlan with =
      plan(small_scenario({"decode.policy=draft_verify+drafter", "decode.drafter={type: eagle3-llama-3.1-8b}"}),
           plain_request());
  EXPECT_EQ(with.optimum.throughput_tokens_per_s, alone.optimum.throughput_tokens_per_s);
  EXPECT_EQ(with.room_bytes, alone.room_bytes);
  ASSERT_EQ(with.fallbacks.size(), alone.fallbacks.size() + 1);
  EXPECT_TRUE(with.fallbacks.back().starts_with("decode policy draft_verify+drafter is planned as draft_verify"));
}

TEST(ScenarioPlan, IsNeverWorseThanFullKvUnderAnyModelAndRefinement) {
  for (const char* context : {"2k tokens", "16k tokens", "100k tokens"}) {
    const scenario::Scenario s = small_scenario({std::string("workload.context=") + context});
    for (const TransferModelName& entry : kTransferModels) {
      PlanRequest request;
      request.model = entry.model;
      const ScenarioPlan found = plan(s, request);
      for (const BreakdownRow& row : found.breakdown) {
        ASSERT_TRUE(row.optimum);
        if (!row.full_kv) continue;
        EXPECT_GE(row.optimum->throughput_tokens_per_s, row.full_kv->throughput_tokens_per_s * (1 - 1e-12))
            << entry.name << ", " << context << ", with " << row.name;
      }
    }
  }
}

TEST(ScenarioPlan, EveryRefinementChangesTheForecast) {
  // Ten requests that verify often, so that arithmetic counts; unlike lengths.
  const scenario::Scenario s = small_scenario({"workload.context={distribution: lognormal, mean: 16k tokens, cv: 0.5}",
                                               "cluster.gpu.type=rtx-4090", "cluster.gpu.memory_fraction=0.969",
                                               "workload.closed.concurrency=40"});
  const ScenarioPlan found = plan(s, {});
  ASSERT_EQ(found.breakdown.size(), kRefinements.size() + 1);
  for (std::size_t i = 1; i < found.breakdown.size(); ++i) {
    if (found.breakdown[i].name == "compute") continue;  // below
    EXPECT_NE(found.breakdown[i].optimum->throughput_tokens_per_s,
              found.breakdown[i - 1].optimum->throughput_tokens_per_s)
        << found.breakdown[i].name;
  }
}

TEST(ScenarioPlan, ArithmeticBindsWhereManyVerifyShortContexts) {
  PlanRequest request;
  request.refinements = kNoRefinements;
  const scenario::Scenario s = small_scenario({"workload.context=256 tokens", "workload.closed.concurrency=2000",
                                               "schedule.max_requests=2000", "cluster.gpu.memory_fraction=0.95"});
  const double bytes_only = plan(s, request).full_kv->throughput_tokens_per_s;
  request.refinements.compute = true;
  EXPECT_LT(plan(s, request).full_kv->throughput_tokens_per_s, bytes_only);
}

TEST(ScenarioPlan, ClientsHostMemoryAndRunningRequestsLimitTheBatch) {
  EXPECT_EQ(plan(small_scenario({"workload.closed.concurrency=3"}), {}).limits.requests, 3);
  EXPECT_EQ(plan(small_scenario({"schedule.max_requests=4"}), {}).limits.requests, 4);
  // 16,200 tokens of 131,072 bytes are 2.12 GB.
  const ScenarioPlan small_host = plan(small_scenario({"cluster.host.memory=5 GB"}), {});
  EXPECT_EQ(small_host.limits.offloaded, 2);
  EXPECT_LE(small_host.optimum.batch.B_c, 2);
}

TEST(ScenarioPlan, AQuantiserHasItsOwnRatioAndReloadsEverything) {
  scenario::Scenario s = scenario::load_scenario_text(
      std::string(testing::kSmallScenario)
          .replace(std::string(testing::kSmallScenario).find("compressor: kvzip, keep_ratio: 0.25"), 35,
                   "compressor: kivi-2bit"),
      "small.yaml");
  const ScenarioPlan found = plan(s, {});
  ASSERT_EQ(found.request.keep_ratios.size(), 1U);
  EXPECT_EQ(found.request.keep_ratios.front(), s.serving.decode.compressor.quantised_ratio());
}

TEST(ScenarioPlan, RefusesWhatItKnowsTooLittleOf) {
  const auto without = [](const std::string& part) {
    std::string text = testing::kSmallScenario;
    text.replace(text.find(part), part.size(), "");
    return text;
  };
  scenario::Scenario s =
      scenario::load_scenario_text(without(", compressor: kvzip, keep_ratio: 0.25, draft_length: 20"), "small.yaml",
                                   {"decode.policy=full_kv", "schedule.policy=fcfs"});
  EXPECT_THROW(plan(s, {}), schema::InputError);
}

TEST(ScenarioPlan, WhereNothingFitsItNamesTheNearestMiss) {
  const scenario::Scenario s = small_scenario({"cluster.gpu.memory_fraction=0.25", "workload.context=120k tokens"});
  try {
    plan(s, {});
    FAIL();
  } catch (const Infeasible& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("tokens with its full KV, needs 15.7 GB: 105"), std::string::npos) << what;
    EXPECT_NE(what.find("MB more GPU memory"), std::string::npos) << what;
  }
}

TEST(ScenarioPlan, WhereHostMemoryIsWhatLacksItSaysSo) {
  // The full KV of 90,000 tokens does not fit into the GPU memory beside the weights; a fifth of it would, were there a
  // host copy.
  const scenario::Scenario s =
      small_scenario({"cluster.gpu.memory_fraction=0.31", "workload.context=90k tokens", "cluster.host.memory=1 GB"});
  PlanRequest request;
  request.refinements.iterations = false;
  try {
    plan(s, request);
    FAIL();
  } catch (const Infeasible& e) {
    EXPECT_NE(std::string(e.what()).find("host memory"), std::string::npos) << e.what();
  }
}

TEST(ScenarioPlan, AnOpenLoopSaysWhetherThePlanKeepsUp) {
  const auto load = [](const char* rate) {
    const scenario::Scenario s = small_scenario(
        {std::string("workload={arrivals: {rate: ") + rate + "}, context: 16k tokens, output: 200 tokens}",
         "run.duration=1 min"});
    return *plan(s, {}).load;
  };
  EXPECT_DOUBLE_EQ(load("0.5/s").offered_tokens_per_s, 100);
  EXPECT_TRUE(load("0.5/s").sustainable());
  EXPECT_FALSE(load("100/s").sustainable());
}

TEST(ScenarioPlan, IsWhatTheSimulatorRunsAfterwards) {
  const scenario::Scenario s = small_scenario();
  OperatingPoint point;
  point.x = 12;
  point.c = 0.4;
  point.batch = {5, 2, 1};
  const scenario::Scenario planned = with_plan(s, point);
  EXPECT_EQ(planned.serving.decode.policy, "draft_verify");
  EXPECT_EQ(planned.serving.schedule.policy, "staggered");
  EXPECT_EQ(planned.serving.decode.draft_length, 12);
  EXPECT_EQ(planned.serving.decode.keep_ratio, 0.4);
  EXPECT_EQ(planned.serving.decode.offloaded, 5);
  EXPECT_EQ(planned.serving.decode.resident, 2);
  EXPECT_EQ(planned.serving.schedule.max_requests, 7);
  EXPECT_EQ(with_plan(s, OperatingPoint{}).serving.decode.policy, "full_kv");
}

models::AcceptanceModel always() {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::constant;
  spec.agreement = 1;
  return {spec, 1, 60};
}

TEST(IterationsPerRequest, CountDraftsAndVerificationsUpToTheLastToken) {
  EXPECT_DOUBLE_EQ(iterations_per_request(always(), 3, 4), 4);  // 3 drafts, 1 verification: 4 tokens
  EXPECT_DOUBLE_EQ(iterations_per_request(always(), 3, 5), 6);  // and 1 draft, 1 verification for the last one
  EXPECT_DOUBLE_EQ(iterations_per_request(always(), 1, 1), 2);
}

TEST(IterationsPerRequest, ApproachTheSteadyRateForLongOutputs) {
  models::AcceptanceSpec spec;
  spec.kind = models::AcceptanceKind::constant;
  spec.agreement = 0.9;
  const models::AcceptanceModel law(spec, 1, 60);
  const double steady = 21 / (law.expected_accepted(20) + 1);
  EXPECT_NEAR(iterations_per_request(law, 20, 1e6) / 1e6, steady, 1e-4);
}

TEST(Traffic, OfPromptsThatAreNotComputedWholeHasNoClosedForms) {
  const auto s = small_scenario({"workload.prefixes={count: 3, tokens: 2k tokens}", "prefill=recompute",
                                 "decode={policy: full_kv}", "schedule={policy: fcfs, prefix_caching: true}"});
  try {
    (void)traffic_of(s);
    FAIL() << "accepted";
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()),
              "small.yaml: schedule.prefix_caching: closed forms know of prompts that are computed whole: use run, "
              "compare or sweep");
  }
}

// With a compressor a plan was made as if nothing were stored, and without one the refusal asked for it.
TEST(Plan, RefusesTiersOfStoredPromptsWithAndWithoutACompressor) {
  for (const char* decode :
       {"decode={policy: full_kv}", "decode={policy: full_kv, compressor: kvzip, keep_ratio: 0.2}"}) {
    const auto s =
        small_scenario({"workload.prefixes={count: 3, tokens: 2k tokens}", "prefill=prefix_cache",
                        "cluster.host.memory=80 GB", "placement={policy: lru}", "schedule={policy: fcfs}", decode});
    try {
      (void)completed(s, {});
      FAIL() << "accepted";
    } catch (const schema::InputError& e) {
      EXPECT_EQ(std::string(e.what()),
                "small.yaml: placement: closed forms know of no tiers in which prompts are stored and found again: use "
                "`kvsim compare` for its policies, and `kvsim capacity --memory ... --storage ...` for the sizes of "
                "tiers");
    }
  }
}

TEST(Plan, RefusesTrafficBeforeItAsksForACompressor) {
  const auto s = small_scenario({"decode={policy: full_kv}", "schedule={policy: fcfs, prefix_caching: true}",
                                 "prefill=recompute", "workload.prefixes={count: 3, tokens: 2k tokens}"});
  try {
    (void)completed(s, {});
    FAIL() << "accepted";
  } catch (const schema::InputError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("small.yaml: schedule.prefix_caching: ")) << e.what();
  }
}

TEST(Traffic, IsThatOfTheScenario) {
  const Traffic t = traffic_of(small_scenario());
  EXPECT_EQ(t.mean_context, 16000);
  EXPECT_EQ(t.mean_output, 200);
  EXPECT_EQ(t.mean_generated, 100);
  EXPECT_EQ(t.concurrency, 10);
  EXPECT_FALSE(t.rate_per_s);
  const Traffic uneven =
      traffic_of(small_scenario({"workload.context={distribution: uniform, min: 1k tokens, max: 3k tokens}"}));
  EXPECT_NEAR(uneven.mean_context, 2000, 60);
  EXPECT_NEAR(uneven.longest_of(9), 2800, 60);  // the nine-tenths quantile
  const Traffic shared = traffic_of(small_scenario({"workload.prefixes={count: 3, tokens: 2k tokens}"}));
  EXPECT_EQ(shared.mean_context, 18000);
  EXPECT_EQ(shared.named_context, 18000);
  const Traffic chunks =
      traffic_of(small_scenario({"workload.chunks={count: 30, per_request: 4, tokens: 500 tokens}"}));
  EXPECT_EQ(chunks.mean_context, 18000);
  EXPECT_EQ(chunks.named_context, 18000);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
