// Dispatch policy planned: the LP proposes, a pilot run decides.
#include <gtest/gtest.h>

#include "planner/experiment.h"
#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"
#include "planner/planned_dispatch.h"
#include "planner/policy_words.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

scenario::ScenarioFile published_file(const std::vector<std::string>& overrides) {
  std::vector<std::string> sets{"run={duration: 6 min, warmup: 1 min, seed: 1}"};
  sets.insert(sets.end(), overrides.begin(), overrides.end());
  return scenario::ScenarioFile(KVSIM_SOURCE_DIR "/scenarios/remote_prefix/published.yaml", sets);
}

scenario::Scenario published(const std::vector<std::string>& overrides) {
  return published_file(overrides).load();
}

double tokens_per_s(const scenario::Scenario& s) {
  const serving::Measurements m = kvsim::testing::measure(s);
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

bool drafts(const scenario::Scenario& s) {
  const auto& weights = s.serving.cluster.pools->dispatch.weights;
  return weights[models::index_of(Path::P1_stateless)] + weights[models::index_of(Path::P2_stateless)] > 0;
}

TEST(PlannedDispatch, IsNeverWorseThanTheFullKvAlone) {
  // 10 and 320 tokens: the LP promises a little more by drafting and the simulator finds less.
  for (const char* output : {"10 tokens", "80 tokens", "320 tokens", "1000 tokens"}) {
    const scenario::Scenario s = published({std::string("workload.output=") + output});
    const double best = tokens_per_s(with_best_planned_weights(s));
    EXPECT_GE(best, 0.99 * tokens_per_s(*with_full_kv_weights(s))) << output;
    EXPECT_GE(best, 0.99 * tokens_per_s(with_planned_weights(s))) << output;
  }
}

TEST(PlannedDispatch, DraftsWhereThatPays) {
  EXPECT_TRUE(drafts(with_best_planned_weights(published({}))));
  const scenario::Scenario s = published({"workload.output=320 tokens"});
  ASSERT_TRUE(drafts(with_planned_weights(s)));
  EXPECT_FALSE(drafts(with_best_planned_weights(s)));
}

// Plans take thousands of programmes, and pilots of many nodes longer than the two seconds in which a command ends.
TEST(PlannedDispatch, PlansAndPilotsEndWhenTheyMayNotGoOn) {
  const scenario::Scenario s = published({});
  int asked = 0;
  const auto counted = [&asked] { return ++asked > 0; };
  static_cast<void>(with_planned_weights(s, counted));
  static_cast<void>(with_full_kv_weights(s, counted));
  const int by_plans = asked;
  asked = 0;
  static_cast<void>(with_best_planned_weights(s, [&] { return ++asked <= by_plans; }));
  EXPECT_EQ(asked, by_plans + 2) << "each pilot asks once";
  asked = 0;
  static_cast<void>(with_best_planned_weights(s, counted));
  EXPECT_GT(asked, by_plans + 10);
}

TEST(PlannedDispatch, APlanThatMayNotGoOnSolvesNoFurtherProgrammes) {
  const PathProblem problem = path_problem(published({}));
  EXPECT_GT(plan_paths(problem).lps_solved, 1000U);
  const PathPlan stopped = plan_paths(problem, [] { return false; });
  EXPECT_EQ(stopped.lps_solved, 0U);
  EXPECT_GT(stopped.requests_per_s, 0) << "some requests have a path, so that weights can be made of it";
}

// A sweep, a run and a comparison plan it where they resolve their scenarios.
TEST(PlannedDispatch, IsNotSimulatedBeforeItIsPlanned) {
  EXPECT_THROW((void)run_experiment(published({})), serving::ConfigurationError);
}

TEST(PlannedDispatch, OfAnotherPolicyNothingChanges) {
  const scenario::Scenario s = published({"dispatch.policy=online"});
  EXPECT_EQ(resolved_yaml(with_best_planned_weights(s)), resolved_yaml(s));
}

TEST(PlannedDispatch, IsWrittenAsWeights) {
  const scenario::Scenario s = published({});
  const scenario::Scenario planned = with_planned_weights(s);
  const auto again = scenario::load_scenario_text(resolved_yaml(planned), "again.yaml");
  EXPECT_EQ(again.serving.cluster.pools->dispatch.policy, "weighted");
  EXPECT_EQ(again.serving.cluster.pools->dispatch.weights, planned.serving.cluster.pools->dispatch.weights);
  EXPECT_EQ(planned.serving.cluster.pools->dispatch.weights, path_weights(plan_paths(path_problem(s)).n));
}

TEST(PlannedDispatch, IsForStoredContextsOnly) {
  try {
    published({"prefill=recompute"});
    FAIL();
  } catch (const schema::InputError& e) {
    EXPECT_NE(std::string(e.what()).find("plans for stored contexts"), std::string::npos) << e.what();
  }
  // A comparison of such a scenario goes by state instead.
  const scenario::ScenarioFile online = published_file({"prefill=recompute", "dispatch.policy=online"});
  EXPECT_EQ(with_policy(online, "full_kv:mix").serving.cluster.pools->dispatch.policy, "online");
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
