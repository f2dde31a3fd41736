// The same pools under another policy, for comparisons.
#include "planner/policy_words.h"

#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "tests/support/pools_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::Path;
using planner::with_policy;
using Paths = std::vector<Path>;
using Words = std::vector<std::string>;

const serving::DispatchConfig& dispatch(const scenario::Scenario& s) {
  return s.serving.cluster.pools->dispatch;
}

std::string complaint(const scenario::ScenarioFile& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

Paths paths(const scenario::ScenarioFile& s, const std::string& policy) {
  return dispatch(with_policy(s, policy)).paths;
}

TEST(PoolPolicy, FullKvIsLocalRemoteOrBoth) {
  const scenario::ScenarioFile s = pools_file();
  EXPECT_EQ(paths(s, "full_kv:local"), Paths{Path::B1});
  EXPECT_EQ(paths(s, "full_kv:remote"), Paths{Path::B2});
  EXPECT_EQ(paths(s, "full_kv:mix"), (Paths{Path::B1, Path::B2}));
  EXPECT_EQ(paths(s, "full_kv"), (Paths{Path::B1, Path::B2}));
  EXPECT_EQ(with_policy(s, "full_kv").serving.decode.policy, "full_kv");
}

TEST(PoolPolicy, DraftVerifyTakesTheScenariosPathsOrOne) {
  const scenario::ScenarioFile s = pools_file({"dispatch.paths=[B2, P1_cached]"});
  EXPECT_EQ(paths(s, "draft_verify"), (Paths{Path::B2, Path::P1_cached}));
  EXPECT_EQ(paths(s, "draft_verify:mix"), (Paths{Path::B2, Path::P1_cached}));
  EXPECT_EQ(paths(s, "draft_verify:P1_stateless"), Paths{Path::P1_stateless});
  EXPECT_EQ(paths(pools_file(), "draft_verify:mix"), Paths{});  // all
  EXPECT_EQ(with_policy(pools_file({"decode.policy=full_kv"}), "draft_verify:mix").serving.decode.policy,
            "draft_verify");
}

TEST(PoolPolicy, GivenWeightsGoForOtherPathsAndStayForTheSame) {
  const std::string weighted = "dispatch={policy: weighted, weights: {B1: 1, B2: 2, P1_cached: 3}}";
  const scenario::ScenarioFile s = pools_file({weighted});
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:mix")).policy, "planned");
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify:mix")).policy, "weighted");
  const scenario::ScenarioFile recomputed = pools_file({weighted, "prefill=recompute"});
  EXPECT_EQ(dispatch(with_policy(recomputed, "full_kv:mix")).policy, "online");
  EXPECT_EQ(dispatch(with_policy(pools_file(), "full_kv:mix")).policy, "online");
}

TEST(PoolPolicy, DraftersAreNotPlannedFor) {
  const scenario::ScenarioFile s =
      pools_file({"dispatch={policy: planned}", "decode.drafter={type: eagle3-llama-3.1-8b}"});
  EXPECT_EQ(dispatch(with_policy(s, "drafter:mix")).policy, "online");
  EXPECT_EQ(dispatch(with_policy(s, "draft_verify+drafter:mix")).policy, "online");
  EXPECT_EQ(paths(s, "drafter:local"), (Paths{Path::B1}));
}

TEST(PoolPolicy, LossyIsNotPlannedFor) {
  const scenario::ScenarioFile s = pools_file({"dispatch={policy: planned}"});
  EXPECT_EQ(dispatch(with_policy(s, "full_kv:mix")).policy, "planned");
  EXPECT_EQ(dispatch(with_policy(s, "lossy:mix")).policy, "online");
  EXPECT_EQ(paths(s, "lossy"), (Paths{Path::B1, Path::B2}));
}

TEST(PoolPolicy, UnknownNamesGetTheNearest) {
  const scenario::ScenarioFile s = pools_file();
  const std::string all =
      "full_kv:mix, full_kv:local, full_kv:remote, lossy:mix, lossy:local, lossy:remote, draft_verify:mix, "
      "draft_verify:B1, draft_verify:B2, "
      "draft_verify:P1_cached, draft_verify:P1_stateless, draft_verify:P2_cached, draft_verify:P2_stateless, "
      "drafter:mix, drafter:local, drafter:remote, draft_verify+drafter:mix, draft_verify+drafter:B1, "
      "draft_verify+drafter:B2, draft_verify+drafter:P1_cached, draft_verify+drafter:P1_stateless, "
      "draft_verify+drafter:P2_cached, draft_verify+drafter:P2_stateless, lossy+drafter:mix, lossy+drafter:local, "
      "lossy+drafter:remote, speculative_prefetch:mix, speculative_prefetch:local, speculative_prefetch:remote, "
      "speculative_prefetch+drafter:mix, speculative_prefetch+drafter:local, speculative_prefetch+drafter:remote, "
      "fetch_on_demand:mix, fetch_on_demand:local, fetch_on_demand:remote, quantised_only:mix, quantised_only:local, "
      "quantised_only:remote, full_offload:mix, full_offload:local, full_offload:remote, full_offload+drafter:mix, "
      "full_offload+drafter:local, full_offload+drafter:remote";
  EXPECT_EQ(complaint(s, "full_kv:locl"),
            "--policies: unknown policy \"full_kv:locl\" between pools, expected full_kv:local or another of " + all);
  EXPECT_EQ(complaint(s, "draft_verify:P1_statless"),
            "--policies: unknown policy \"draft_verify:P1_statless\" between pools, expected "
            "draft_verify:P1_stateless or another of " +
                all);
  EXPECT_EQ(complaint(s, "sparse_self"),
            "--policies: unknown policy \"sparse_self\" between pools, expected one of " + all);
}

TEST(PoolPolicy, WhatHasNoNodesIsRefusedWhereItIsNamedAndLeftOutWhereItIsNot) {
  EXPECT_EQ(planner::default_policies(pools_scenario()),
            (Words{"full_kv:mix", "full_kv:local", "full_kv:remote", "draft_verify:mix"}));
  const scenario::ScenarioFile remote = pools_file({"cluster.pools.local.nodes=0"});
  EXPECT_EQ(planner::default_policies(remote.load()), Words{"full_kv:remote"});
  EXPECT_EQ(complaint(remote, "full_kv:local"),
            "--policies full_kv:local: none of these paths can be taken with 0 local and 2 remote nodes");
  EXPECT_EQ(planner::default_policies(pools_scenario({"decode={policy: full_kv}"})),
            (Words{"full_kv:mix", "full_kv:local", "full_kv:remote"}));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
