// The same pools under another policy, for comparisons.
#include "planner/policy_words.h"

#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "tests/planner/paths/pool_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::Path;
using planner::with_policy;
using Paths = std::vector<Path>;
using Words = std::vector<std::string>;

const serving::DispatchConfig& dispatch(const scenario::Scenario& s) {
  return s.serving.cluster.pools->dispatch;
}

std::string complaint(const scenario::Scenario& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(PoolPolicy, FullKvIsLocalRemoteOrBoth) {
  const scenario::Scenario s = pool_scenario();
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:local")).paths, Paths{Path::B1});
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:remote")).paths, Paths{Path::B2});
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:mix")).paths, (Paths{Path::B1, Path::B2}));
  EXPECT_EQ(dispatch(with_policy(s, "full_kv")).paths, (Paths{Path::B1, Path::B2}));
  EXPECT_EQ(with_policy(s, "full_kv").serving.decode.policy, "full_kv");
}

TEST(PoolPolicy, DraftVerifyTakesTheScenariosPathsOrOne) {
  scenario::Scenario s = pool_scenario();
  s.serving.decode.policy = "full_kv";
  s.serving.cluster.pools->dispatch.paths = {Path::B2, Path::P1_cached};
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify")).paths, (Paths{Path::B2, Path::P1_cached}));
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify:mix")).paths, (Paths{Path::B2, Path::P1_cached}));
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify:P1_stateless")).paths, Paths{Path::P1_stateless});
  EXPECT_EQ(with_policy(s, "draft_verify:mix").serving.decode.policy, "draft_verify");
}

TEST(PoolPolicy, GivenWeightsGoForOtherPathsAndStayForTheSame) {
  scenario::Scenario s = pool_scenario();
  s.serving.cluster.pools->dispatch.policy = "weighted";
  s.serving.cluster.pools->dispatch.weights = {1, 2, 3, 0, 0, 0};
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:mix")).policy, "planned");
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify:mix")).policy, "weighted");
  s.serving.cluster.pools->dispatch.policy = "online";
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:mix")).policy, "online");
}

TEST(PoolPolicy, UnknownNamesGetTheNearest) {
  const scenario::Scenario s = pool_scenario();
  EXPECT_EQ(complaint(s, "full_kv:locl"),
            "--policies: unknown way to serve full_kv \"locl\" between pools, expected local or another of local, "
            "remote, mix");
  EXPECT_EQ(complaint(s, "draft_verify:P1_statless"),
            "--policies: unknown path \"P1_statless\" between pools, expected P1_stateless or another of mix, B1, B2, "
            "P1_cached, P1_stateless, P2_cached, P2_stateless");
  EXPECT_NE(complaint(s, "lossy").find("unknown decode policy \"lossy\" between pools"), std::string::npos);
}

TEST(PoolPolicy, WhatHasNoNodesIsRefusedWhereItIsNamedAndLeftOutWhereItIsNot) {
  scenario::Scenario s = pool_scenario();
  EXPECT_EQ(planner::default_policies(s),
            (Words{"full_kv:mix", "full_kv:local", "full_kv:remote", "draft_verify:mix"}));
  s.serving.cluster.pools->local.nodes = 0;
  EXPECT_EQ(planner::default_policies(s), Words{"full_kv:remote"});
  EXPECT_NE(complaint(s, "full_kv:local").find("--policies full_kv:local: "), std::string::npos);
  s = pool_scenario();
  s.serving.decode.compressor = {};
  s.serving.decode.policy = "full_kv";
  EXPECT_EQ(planner::default_policies(s), (Words{"full_kv:mix", "full_kv:local", "full_kv:remote"}));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
