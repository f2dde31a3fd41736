// From a scenario with two pools to the path LP's problem.
#include "planner/paths/scenario_problem.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "planner/infeasible.h"
#include "planner/paths/path_costs.h"
#include "planner/paths/path_plan.h"
#include "sim/serving/kv_capacity.h"
#include "tests/planner/paths/pool_scenario.h"
#include "tests/planner/paths/request_time.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using kvsim::testing::pool_scenario;

constexpr double kToken = 131072;  // bytes of KV of Llama-3.1-8B
constexpr double kBlock = 16 * kToken;

StepCosts costs(const scenario::Scenario& s, StepsOf lines = StepsOf::full_nodes) {
  return *path_problem(s, lines).steps;
}

TEST(PathProblemOfScenario, CountsBytesAndSlotsInWholeBlocks) {
  const scenario::Scenario s = pool_scenario();
  const PathProblem p = path_problem(s);
  EXPECT_EQ(p.request.K, 200);
  EXPECT_EQ(p.request.x, 20);
  EXPECT_EQ(p.pools.local, 1);
  EXPECT_EQ(p.pools.remote, 3);
  // 16,200 tokens: 1013 blocks, of the whole blocks that half of 80 GB less the weights leaves.
  EXPECT_DOUBLE_EQ(p.symbols.KV, 1013 * kBlock);
  const auto capacity = static_cast<double>(serving::kv_capacity(s.serving, s.serving.cluster.groups.front()).bytes);
  EXPECT_DOUBLE_EQ(p.steps->slots.local, std::floor(capacity / (1013 * kBlock)));
  EXPECT_GE(p.steps->slots.local, 5);
  // Drafts of 21 more tokens: 16,221, 1014 blocks; quantised KV resides in full.
  EXPECT_DOUBLE_EQ(p.steps->verifying_slots, 1014.0 / 1013);
  EXPECT_DOUBLE_EQ(p.steps->drafting_slots, 1014.0 / 1013);
  EXPECT_NEAR(p.steps->draft_work, 1, 0.01);  // what it has drafted itself
}

TEST(PathProblemOfScenario, LoadsPromptsOverItsLinks) {
  scenario::Scenario s = pool_scenario();
  s.serving.cluster.groups.back().storage_link.latency_s.value = 0.02;
  s.serving.cluster.groups.back().storage_link.setup_s.value = 0.001;
  s.serving.cluster.pools->message_latency_s = 0.003;
  const StepCosts c = costs(s);
  EXPECT_DOUBLE_EQ(c.local_full.link_s, 16000 * kToken / 40e9);
  EXPECT_DOUBLE_EQ(c.remote_full.seconds(), 16000 * kToken / 2e9 + 0.021);
  // 4 bits and two 16-bit figures per group of 32: 0.3125; 128 recent tokens whole.
  EXPECT_NEAR(c.remote_compressed.link_s, (15872 * 0.3125 + 128) * kToken / 2e9, 1e-9);
  EXPECT_NEAR(c.remote_rest.link_s, 15872 * 0.6875 * kToken / 2e9, 1e-9);
  EXPECT_DOUBLE_EQ(c.round_trip_s, 0.006);
  EXPECT_DOUBLE_EQ(c.decompress_s, 16000 * kToken / 500e9);
  // From 0 to 200 - 200/R generated tokens, on average half.
  EXPECT_NEAR(c.local_reread.bytes, (16000 + 100 * (1 - 1 / c.rounds)) * kToken, kToken);
}

TEST(PathProblemOfScenario, KeepsWhatTokenDroppingLeaves) {
  scenario::Scenario s = pool_scenario({"decode.compressor=kvzip", "decode.keep_ratio=0.25"});
  s.serving.decode.compressor.remote_prefix = true;
  const StepCosts c = costs(s);
  // A quarter of 16,000 tokens, 200 and 21 more: 4221, 264 blocks. It is read at that size, too.
  EXPECT_DOUBLE_EQ(c.drafting_slots, 264.0 / 1013);
  EXPECT_LT(c.draft_work, 0.4);
  EXPECT_GT(c.draft_work, 0.2);
  EXPECT_DOUBLE_EQ(c.decompress_s, 0);
  EXPECT_NEAR(c.remote_rest.link_s, 12000 * kToken / 2e9, 1e-9);
}

TEST(PathProblemOfScenario, DrawsStepsThroughTheTimesOfItsMachine) {
  const scenario::Scenario s = pool_scenario();
  const serving::ServingConfig& config = s.serving;
  const serving::KvGeometry geometry(config.model, 1, {config.model, config.decode.compressor, 1},
                                     config.schedule.block_tokens);
  const NodeSteps steps(config, config.cluster.groups.front(), geometry, traffic_of(s));
  const StepCosts c = costs(s), alone = costs(s, StepsOf::one_request);
  for (const double batch : {1.0, 3.0, c.slots.local}) {
    EXPECT_NEAR(c.local.at(batch), steps.seconds(batch, 0, 0), 0.03 * steps.seconds(batch, 0, 0)) << batch;
  }
  EXPECT_NEAR(alone.local.at(1), steps.seconds(1, 0, 0), 1e-12);
  EXPECT_NEAR(alone.local.at(alone.verify_work), steps.seconds(0, 0, 1), 1e-9);
  EXPECT_NEAR(alone.remote.at(alone.draft_work), steps.seconds(0, 1, 0), 1e-9);
  EXPECT_GE(c.verify_work, 1);  // the same KV, and 21 queries over it
}

TEST(PathProblemOfScenario, WhatLinksShareIsFewerLinks) {
  scenario::Scenario s = pool_scenario();
  s.serving.cluster.groups.back().shared_bytes_per_s = 3e9;
  EXPECT_DOUBLE_EQ(costs(s).links.remote, 1.5);
  EXPECT_DOUBLE_EQ(path_problem(s).symbols.BW_l, 2e9);
  s.serving.cluster.groups.back().shared_bytes_per_s = 1e9;  // less than one link
  EXPECT_DOUBLE_EQ(costs(s).links.remote, 1);
  EXPECT_DOUBLE_EQ(path_problem(s).symbols.BW_l, 1e9);
  s.serving.cluster.groups.back().shared_bytes_per_s = 100e9;
  EXPECT_DOUBLE_EQ(costs(s).links.remote, 3);
}

TEST(PathProblemOfScenario, AStorageNodesLimitIsARowWhereItCanBind) {
  scenario::Scenario s = pool_scenario();
  s.serving.cluster.pools->storage.read_bytes_per_s = 45e9;  // of 40 + 3 x 2
  EXPECT_DOUBLE_EQ(costs(s).storage_bytes_per_s, 45e9);
  s.serving.cluster.pools->storage.read_bytes_per_s = 46e9;
  EXPECT_DOUBLE_EQ(costs(s).storage_bytes_per_s, 0);
}

TEST(PathProblemOfScenario, MaxRequestsAreSlots) {
  const StepCosts c = costs(pool_scenario({"schedule.max_requests=2"}));
  EXPECT_DOUBLE_EQ(c.slots.local, 2);
  EXPECT_DOUBLE_EQ(c.drafting_slots, 1);  // one of two, however little memory it takes
}

TEST(PathProblemOfScenario, AllowsThePathsThatItsNodesCanTake) {
  scenario::Scenario s = pool_scenario();
  EXPECT_EQ(path_problem(s).paths.size(), kPaths);
  s.serving.cluster.groups.front().count = 0;
  EXPECT_EQ(path_problem(s).paths, std::vector<Path>{Path::B2});
  s = pool_scenario();
  s.serving.decode.policy = "full_kv";
  EXPECT_EQ(path_problem(s).paths, (std::vector<Path>{Path::B1, Path::B2}));
  EXPECT_EQ(path_problem(s).request.c, 1);
}

TEST(PathProblemOfScenario, ARequestThatFitsNowhereIsNoPlan) {
  scenario::Scenario s = pool_scenario({"workload.context=400000 tokens"});
  try {
    path_problem(s);
    FAIL();
  } catch (const Infeasible& e) {
    EXPECT_NE(std::string(e.what()).find("400000 tokens of context, 200 of output"), std::string::npos) << e.what();
  }
}

TEST(PlannedWeights, AreTheRatesOfAFeasiblePlan) {
  const scenario::Scenario s =
      scenario::ScenarioFile(KVSIM_SOURCE_DIR "/scenarios/remote_prefix/published.yaml", {}).load();
  EXPECT_TRUE(needs_planned_weights(s));
  const scenario::Scenario planned = with_planned_weights(s);
  EXPECT_FALSE(needs_planned_weights(planned));
  const serving::DispatchConfig& dispatch = planned.serving.cluster.pools->dispatch;
  EXPECT_EQ(dispatch.policy, "weighted");
  const PathPlan plan = plan_paths(path_problem(s));
  EXPECT_TRUE(plan.converged);
  ASSERT_EQ(dispatch.weights.size(), plan.n.size());
  for (std::size_t path = 0; path < plan.n.size(); ++path) {  // what the solver leaves of a path at zero is none
    EXPECT_EQ(dispatch.weights[path], plan.n[path] > 1e-6 ? plan.n[path] : 0);
  }
  for (std::size_t r = 0; r < kResources; ++r) EXPECT_LE(plan.use[r], plan.lp.limits[r] * (1 + 1e-6));
  EXPECT_GT(plan.tokens_per_s, 0);
  EXPECT_FALSE(needs_planned_weights(kvsim::testing::small_scenario()));
}

TEST(PlannedWeights, DraftingBringsNoLess) {
  scenario::Scenario s = pool_scenario();
  const double drafting = plan_paths(path_problem(s)).tokens_per_s;
  s.serving.decode.policy = "full_kv";
  EXPECT_GE(drafting, plan_paths(path_problem(s)).tokens_per_s * (1 - 1e-6));
}

TEST(RequestTimeOfScenario, BothReadingsAgreeWhereNothingIsLeftOut) {
  // No latencies, no decompression, agreement 1 and K = 210 = 10 (x + 1): as printed K/(x g) = 10.5 rounds, really 10.
  scenario::Scenario s =
      pool_scenario({"workload.output=210 tokens", "decode.acceptance={model: constant, agreement: 1}"});
  s.serving.decode.compressor.decompress_bytes_per_s.value = 0;
  const PathProblem p = path_problem(s, StepsOf::one_request);
  const testing::RequestTime printed = testing::request_time_as_printed(p),
                             exact = testing::request_time(p, Path::P1_cached);
  EXPECT_DOUBLE_EQ(printed.rounds, 10.5);
  EXPECT_NEAR(exact.rounds, 10, 1e-12);
  EXPECT_NEAR(printed.cycle_s, exact.cycle_s, 0.01 * exact.cycle_s);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
