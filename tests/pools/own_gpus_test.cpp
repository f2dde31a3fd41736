// Pools with GPUs of their own: each follows from its own group.
#include <gtest/gtest.h>

#include <string>

#include <fmt/format.h>

#include "models/prices/price_table.h"
#include "models/schema/error.h"
#include "planner/capacity/fleet.h"
#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/kv_capacity.h"
#include "tests/pools/pools_runs.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using scenario::Scenario;
using serving::GroupConfig;

const std::string kRemoteL40s = "cluster.pools.remote.gpu=l40s";

const GroupConfig& local(const Scenario& s) {
  return s.serving.cluster.groups.front();
}

const GroupConfig& remote(const Scenario& s) {
  return s.serving.cluster.groups.back();
}

/// A request alone on a path, on nodes that decode its full KV.
Scenario alone(const std::string& path, std::vector<std::string> more = {}) {
  more.push_back("decode={policy: full_kv}");
  return pools_scenario(alone_on(path, std::move(more)));
}

/// Seconds of a step in which one request of so many tokens decodes on the group's GPUs.
double step_s(const Scenario& s, const GroupConfig& group, std::int64_t context) {
  models::StepWork work;
  serving::add_decode(work, serving::configured_geometry(s.serving, group), context);
  return serving::step_timer(s.serving, group, group.parallel).time(work).total_s;
}

std::string complaint(const std::vector<std::string>& sets) {
  try {
    pools_scenario(sets);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(OwnGpus, ReplicasAreOneGroupAndPoolsAreTwo) {
  const Scenario replicas = small_scenario({"cluster.replicas=3"});
  ASSERT_EQ(replicas.serving.cluster.groups.size(), 1U);
  EXPECT_EQ(local(replicas).count, 3);
  const Scenario pools = pools_scenario();
  ASSERT_EQ(pools.serving.cluster.groups.size(), 2U);
  EXPECT_EQ(&pools.serving.cluster.uniform(), &local(pools));
}

TEST(OwnGpus, AreThoseOfTheClusterWhereTheyAreNotGiven) {
  const Scenario s = pools_scenario({"cluster.gpu.tensor_parallel=2", kRemoteL40s});
  EXPECT_EQ(local(s).gpu.name, "h100-sxm");
  EXPECT_EQ(remote(s).gpu.name, "l40s");
  EXPECT_EQ(remote(s).profile.name, remote(s).gpu.profile) << "another GPU brings its own profile";
  EXPECT_EQ(remote(s).peer_link.name, remote(s).gpu.peer_link);
  for (const GroupConfig* group : {&local(s), &remote(s)}) {
    EXPECT_EQ(group->parallel.tensor, 2) << group->name;
    EXPECT_EQ(group->memory_fraction, 0.5) << group->name;
  }
  const Scenario changed = pools_scenario({kRemoteL40s, "cluster.pools.remote.gpu.memory_fraction=0.8"});
  EXPECT_EQ(remote(changed).gpu.name, "l40s");
  EXPECT_EQ(remote(changed).memory_fraction, 0.8);
  EXPECT_EQ(local(changed).memory_fraction, 0.5);
  const Scenario same = pools_scenario({"cluster.gpu.profile=h200-vllm", "cluster.pools.remote.gpu=h100-sxm"});
  EXPECT_EQ(remote(same).profile.name, "h200-vllm") << "the same GPU is used as the cluster's is";
}

TEST(OwnGpus, NamedAsTheClustersChangeNothing) {
  const Scenario plain = pools_scenario(),
                 named =
                     pools_scenario({"cluster.pools.remote.gpu=h100-sxm", "cluster.pools.local.gpu={type: h100-sxm}"});
  EXPECT_EQ(local(named).kind, remote(named).kind);
  const serving::Measurements a = simulated(plain), b = simulated(named);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.measured_s, b.measured_s);
  EXPECT_EQ(a.e2e_s.mean(), b.e2e_s.mean());
  EXPECT_EQ(a.iteration_s.mean(), b.iteration_s.mean());
  EXPECT_EQ(planner::plan_paths(planner::path_problem(plain)).n, planner::plan_paths(planner::path_problem(named)).n);
}

TEST(OwnGpus, TimeTheStepsOfTheirPoolAlone) {
  const Scenario plain = alone("B1"), near = alone("B1", {kRemoteL40s}), far = alone("B2", {kRemoteL40s});
  EXPECT_EQ(simulated(near).tpot_s.mean(), simulated(plain).tpot_s.mean());
  const double tpot_s = simulated(far).tpot_s.mean();
  EXPECT_GE(tpot_s, step_s(far, remote(far), 16000));
  EXPECT_LE(tpot_s, step_s(far, remote(far), 16200));
  EXPECT_GT(tpot_s, 2 * step_s(far, local(far), 16200)) << "an H100 has four times the bandwidth";
}

TEST(OwnGpus, HoldTheKvOfAReplicaOfTheirKind) {
  const Scenario s = pools_scenario({kRemoteL40s});
  const auto replica_bytes = [](const std::string& gpu) {
    const Scenario alike = pools_scenario({"cluster.gpu.type=" + gpu});
    return serving::kv_capacity(alike.serving, alike.serving.cluster.uniform()).bytes;
  };
  EXPECT_EQ(serving::kv_capacity(s.serving, local(s)).bytes, replica_bytes("h100-sxm"));
  EXPECT_EQ(serving::kv_capacity(s.serving, remote(s)).bytes, replica_bytes("l40s"));
  EXPECT_LT(replica_bytes("l40s"), replica_bytes("h100-sxm"));
}

TEST(OwnGpus, ArePaidForByTheirOwnPrice) {
  const Scenario s = pools_scenario({kRemoteL40s});
  const models::PriceTable prices = models::PriceTable::built_in();
  const auto cost = planner::capacity::hourly_cost(prices, s.serving.cluster, 1, 0, 0);
  EXPECT_DOUBLE_EQ(cost.gpus.value(), prices.gpu("h100-sxm")->usd.value + 2 * prices.gpu("l40s")->usd.value);
}

TEST(OwnGpus, AreRefusedByTheirKeyWhereTheModelDoesNotFit) {
  const std::string said = complaint({"cluster.pools.remote.gpu={type: l40s, memory_fraction: 0.3}"});
  EXPECT_NE(said.find("cluster.pools.remote.gpu: llama-3.1-8b does not fit"), std::string::npos) << said;
  EXPECT_NE(said.find("1 x l40s"), std::string::npos) << said;
}

TEST(OwnGpus, AreRefusedWhereOneKindIsKnown) {
  const std::string said = complaint({kRemoteL40s, "prefill=prefix_cache", "placement={policy: lru}",
                                      "cluster.pools.storage.capacity=1 TB", "decode={policy: full_kv}"});
  EXPECT_NE(said.find("cluster.pools.remote.gpu: "), std::string::npos) << said;
  EXPECT_THROW((void)pools_scenario({kRemoteL40s}).serving.cluster.uniform(), serving::ConfigurationError);
}

TEST(OwnGpus, ShareHeadsSoThatStoredKvHasOneSize) {
  EXPECT_EQ(complaint({"cluster.pools.remote.gpu={type: h100-sxm, tensor_parallel: 2}"}), "nothing");
  const std::string said = complaint({"cluster.pools.remote.gpu={type: h100-sxm, tensor_parallel: 16}"});
  EXPECT_NE(said.find("cluster.pools.remote.gpu.tensor_parallel: "), std::string::npos)
      << "8 KV heads on 16 GPUs are there twice; " << said;
}

TEST(OwnGpus, HaveStepsAndSlotsOfTheirOwnInThePathPlan) {
  const Scenario plain = pools_scenario(), slower = pools_scenario({kRemoteL40s});
  const planner::PathProblem one = planner::path_problem(plain), two = planner::path_problem(slower);
  EXPECT_EQ(two.steps->local.token_s, one.steps->local.token_s);
  EXPECT_EQ(two.steps->slots.local, one.steps->slots.local);
  EXPECT_EQ(two.steps->verify_work, one.steps->verify_work);
  EXPECT_GT(two.steps->remote.base_s, 2 * one.steps->remote.base_s);
  EXPECT_LT(two.steps->slots.remote, one.steps->slots.remote);
  const planner::PathPlan best = planner::plan_paths(one), less = planner::plan_paths(two);
  EXPECT_LT(less.tokens_per_s, best.tokens_per_s);
  EXPECT_NE(less.n, best.n);
}

TEST(OwnGpus, ATypeBesideANameIsTheLaterOne) {
  const Scenario s = pools_scenario({kRemoteL40s, "cluster.pools.remote.gpu.type=h200"});
  EXPECT_EQ(remote(s).gpu.name, "h200");
}

TEST(OwnGpus, KvMemoryIsStatedOrWhatAFractionLeaves) {
  const Scenario stated =
      pools_scenario({"cluster.gpu.memory_fraction=0.85", "cluster.pools.remote.gpu.kv_tokens=40k tokens"});
  EXPECT_TRUE(stated.remarks.empty()) << "nobody wrote what the remote pool has no use for";
  EXPECT_TRUE(remote(stated).stated_kv);
  EXPECT_EQ(local(stated).memory_fraction, 0.85);
  const Scenario left =
      pools_scenario({"cluster.gpu.kv_tokens=40k tokens", "cluster.pools.remote.gpu.memory_fraction=0.8"});
  EXPECT_TRUE(local(left).stated_kv);
  EXPECT_FALSE(remote(left).stated_kv);
}

TEST(OwnGpus, AreWrittenOutAndReadAgain) {
  const Scenario s = pools_scenario({kRemoteL40s, "cluster.pools.remote.gpu.kv_tokens=40k tokens"});
  const std::string written = resolved_yaml(s);
  const Scenario again = scenario::load_scenario_text(written, "resolved.yaml");
  EXPECT_EQ(resolved_yaml(again), written);
  EXPECT_EQ(simulated(again).e2e_s.mean(), simulated(s).e2e_s.mean());
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
