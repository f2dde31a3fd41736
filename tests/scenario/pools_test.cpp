// Scenarios with two pools: what their keys become, what they refuse and where, and that their resolution is
// themselves.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "tests/scenario/schema_keys.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using models::Path;

TEST(Pools, AreWhatTheirKeysSay) {
  const auto s = pools_scenario(
      {"cluster.pools.local.shared=80 GB/s",
       "cluster.pools.local.outages=[{at: 60 s, lasting: 10 s}, {at: 70 s, lasting: 5 s, bandwidth: 0.25}]",
       "cluster.pools.storage.read=100 GB/s", "dispatch.paths=[B1, P1_stateless]"});
  const serving::PoolsConfig& pools = *s.serving.cluster.pools;
  ASSERT_EQ(s.serving.cluster.groups.size(), 2U);
  const serving::GroupConfig &local = s.serving.cluster.groups.front(), &remote = s.serving.cluster.groups.back();
  EXPECT_EQ(local.count, 1);
  EXPECT_EQ(local.storage_link.name, "storage-node-fast");
  EXPECT_EQ(local.storage_link.read_bytes_per_s.value, 40e9);
  EXPECT_EQ(local.shared_bytes_per_s, 80e9);
  ASSERT_EQ(local.outages.size(), 2U);
  EXPECT_EQ(local.outages[0].at_s, 60);
  EXPECT_EQ(local.outages[0].lasting_s, 10);
  EXPECT_EQ(local.outages[0].bandwidth_fraction, 0) << "the default is that nothing moves";
  EXPECT_EQ(local.outages[1].bandwidth_fraction, 0.25);
  EXPECT_EQ(remote.count, 2);
  EXPECT_EQ(remote.storage_link.name, "storage-node-slow");
  EXPECT_FALSE(remote.shared_bytes_per_s.has_value());
  EXPECT_TRUE(remote.outages.empty());
  EXPECT_EQ(pools.storage.read_bytes_per_s, 100e9);
  EXPECT_FALSE(pools.storage.capacity_bytes.has_value());
  EXPECT_DOUBLE_EQ(pools.message_latency_s, 1e-3);
  EXPECT_EQ(pools.dispatch.policy, "online");
  EXPECT_EQ(pools.dispatch.paths, (std::vector<Path>{Path::B1, Path::P1_stateless}));
}

TEST(Pools, TakeWeightsByPath) {
  const auto s = pools_scenario({"dispatch={policy: weighted, weights: {B1: 0.3, P1_stateless: 2}}"});
  const serving::DispatchConfig& d = s.serving.cluster.pools->dispatch;
  EXPECT_EQ(d.policy, "weighted");
  EXPECT_EQ(d.weights, (scenario::PathWeights{0.3, 0, 0, 2, 0, 0}));
}

TEST(Pools, WithoutDispatchChooseOnlineAmongAllPaths) {
  const auto s = scenario::load_scenario_text(
      std::string(kPoolsScenario).substr(0, std::string(kPoolsScenario).find("dispatch:")), "pools.yaml");
  EXPECT_EQ(s.serving.cluster.pools->dispatch.policy, "online");
  EXPECT_TRUE(s.serving.cluster.pools->dispatch.paths.empty());
}

TEST(Pools, MayBeOneAlone) {
  const auto s = pools_scenario({"cluster.pools={local: {nodes: 2, link: storage-node-fast}}", "dispatch={}"});
  EXPECT_EQ(s.serving.cluster.groups.back().count, 0);
  EXPECT_EQ(serving::instances(s.serving.cluster), 2);
}

TEST(Pools, ChangeAFigureOfTheirLinkInPlace) {
  const auto s = pools_scenario({"cluster.pools.remote.link.read=2.5 GB/s"});
  const models::LinkSpec& link = s.serving.cluster.groups.back().storage_link;
  EXPECT_EQ(link.read_bytes_per_s.value, 2.5e9);
  EXPECT_EQ(link.write_bytes_per_s.value, 1.2e9);
}

TEST(Pools, CountTheGpusOfEveryNode) {
  // (1 + 2) nodes of 2 GPUs
  EXPECT_EQ(serving::gpus(pools_scenario({"cluster.gpu.tensor_parallel=2"}).serving.cluster), 6);
  EXPECT_EQ(serving::gpus(small_scenario({"cluster.replicas=3", "cluster.gpu.tensor_parallel=2"}).serving.cluster), 6);
}

TEST(Pools, VerifyNoMoreThanTheDraftLength) {
  // A replica drafts up to twice its length while a reload is late; a pool does not, and 21 tokens are enough.
  EXPECT_NO_THROW(pools_scenario({"schedule.max_batched_tokens=21"}));
  EXPECT_THROW(pools_scenario({"schedule.max_batched_tokens=20"}), schema::InputError);
}

TEST(PrefixCache, TakesATraceThatSaysWhatIsShared) {
  TemporaryFolder folder;
  folder.write("t.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 40, "hash_ids": [1, 2]})"
                          "\n");
  const auto s = pools_scenario({"prefill=prefix_cache", "cluster.pools.storage.capacity=10 TB",
                                 "workload={trace: {format: mooncake, path: " + folder.path() + "/t.jsonl}}"});
  EXPECT_EQ(s.serving.prefill, serving::PrefillKind::prefix_cache);
  EXPECT_EQ(s.serving.cluster.pools->storage.capacity_bytes, 10'000'000'000'000);
  EXPECT_TRUE(has_prefix_blocks(s));
  EXPECT_FALSE(has_prefix_blocks(pools_scenario()));
}

struct Refusal {
  const char* name;
  Sets sets;
  std::string message;

  friend std::ostream& operator<<(std::ostream& out, const Refusal& r) { return out << r.name; }
};

class PoolsRefuse : public ::testing::TestWithParam<Refusal> {};

TEST_P(PoolsRefuse, WithThisMessageAtThisPlace) {
  try {
    pools_scenario(GetParam().sets);
    FAIL() << "accepted";
  } catch (const schema::InputError& e) {
    EXPECT_EQ(std::string(e.what()), GetParam().message);
  }
}

std::string not_with_pools(const std::string& key, const std::string& rest) {
  return "--set " + key + ": not with cluster.pools: " + rest;
}

INSTANTIATE_TEST_SUITE_P(
    KeysOfReplicas, PoolsRefuse,
    ::testing::Values(
        Refusal{"Replicas",
                {"cluster.replicas=1"},
                not_with_pools("cluster.replicas",
                               "pools have nodes: use cluster.pools.local.nodes and cluster.pools.remote.nodes")},
        Refusal{"ARouter",
                {"cluster.router=round_robin"},
                not_with_pools("cluster.router",
                               "which node a request goes to is for dispatch.policy to say: remove this key")},
        Refusal{"HostMemory",
                {"cluster.host={memory: 1 TiB}"},
                not_with_pools("cluster.host",
                               "nodes of pools read from the storage node and not from host memory: use "
                               "cluster.pools.storage, and link of cluster.pools.local and cluster.pools.remote")},
        Refusal{"ResidentRequests",
                {"decode.resident=0"},
                not_with_pools("decode.resident",
                               "whether full KV stays on a local node is part of a request's path: use dispatch.paths "
                               "(P1_cached, P2_cached)")},
        Refusal{"OffloadedRequests",
                {"decode.offloaded=all"},
                not_with_pools("decode.offloaded",
                               "how many requests draft is for dispatch to say: use dispatch.policy and .paths")},
        Refusal{"ADraftLimit",
                {"decode.draft_limit=30"},
                not_with_pools("decode.draft_limit",
                               "between pools a round drafts the length chosen for it, never more: remove this key")},
        Refusal{"Unplaced",
                {"schedule.unplaced=waits"},
                not_with_pools("schedule.unplaced",
                               "a request gives up nothing where it is verified, for its compressed KV is on another "
                               "node: remove this key")}));

INSTANTIATE_TEST_SUITE_P(
    Wholes, PoolsRefuse,
    ::testing::Values(
        Refusal{"NoNodes",
                {"cluster.pools={local: {nodes: 0, link: nvlink4}}"},
                "--set cluster.pools: no nodes: give local.nodes or remote.nodes at least 1"},
        Refusal{"APoolWithoutALink",
                {"cluster.pools.local={nodes: 1}"},
                "--set cluster.pools.local: missing key \"link\" of local, expected the name of a link or a map"},
        Refusal{"TooManyNodes",
                {"cluster.pools.local.nodes=10001"},
                "--set cluster.pools.local.nodes: must be >= 0 and <= 10000, found 10001"},
        Refusal{"AnOutageOfNoTime",
                {"cluster.pools.local.outages=[{at: 1 s, lasting: 0 s}]"},
                "--set cluster.pools.local.outages: cluster.pools.local.outages.0.lasting: must be > 0 s, found 0 s"},
        Refusal{"AnOutageThatLeavesAllBandwidth",
                {"cluster.pools.local.outages=[{at: 1 s, lasting: 1 s, bandwidth: 1}]"},
                "--set cluster.pools.local.outages: cluster.pools.local.outages.0.bandwidth: must be >= 0 and < 1, "
                "found 1"},
        // From 5 s to 8 s, and from 1 s to 5.5 s.
        Refusal{"OutagesThatOverlap",
                {"cluster.pools.remote.outages=[{at: 5 s, lasting: 3 s}, {at: 1 s, lasting: 4.5 s}]"},
                "--set cluster.pools.remote.outages: cluster.pools.remote.outages.1: overlaps an outage before it in "
                "the list: make one of them"},
        Refusal{"PairsOverALinkThatIsNotKnownToCopyRows",
                {"decode={policy: fetch_on_demand, compressor: kivi-4bit}",
                 "cluster.pools.local.link.gathers=[{name: rows, per_row: 1 us}]"},
                "pools.yaml:8:30: cluster.pools.remote.link.gathers: link storage-node-slow has no figures for copying "
                "scattered rows: "
                "give them"},
        Refusal{"PlannedPathsWithFetches",
                {"dispatch.policy=planned", "decode={policy: full_offload}"},
                "--set dispatch.policy: the path LP plans KV that is on nodes, and full_offload fetches it step by "
                "step: use online, or weights of your own"},
        Refusal{"APolicyThatDraftsWhereItVerifies",
                {"decode={policy: sparse_self, compressor: kvzip, keep_ratio: 0.2}"},
                "--set decode: decode.policy: sparse_self drafts where the full KV is and verifies there, too, so that "
                "no path between pools is its: use full_kv or draft_verify, with a drafter if wanted"},
        Refusal{
            "DraftsOverAPlacement",
            {"workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache", "placement={policy: lru}"},
            "pools.yaml:16:18: decode.policy: between pools draft_verify loads what it drafts on and what it verifies "
            "against from the storage node apart, and a placement stores one form of each prompt: use full_kv or "
            "drafter, or remove placement"},
        Refusal{"FetchesOverAPlacement",
                {"decode={policy: quantised_only, compressor: kivi-4bit}",
                 "workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache", "placement={policy: lru}"},
                "--set decode: decode.policy: quantised_only keeps running requests' KV in the storage node's "
                "memory, which is a tier for stored prompts here: use full_kv or drafter"},
        Refusal{"ADeviceOfOneNode",
                {"decode={policy: full_kv}", "workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache",
                 "placement={policy: lru}", "cluster.pools.storage.capacity=1 TB",
                 "cluster.storage=[{name: ssd, read: 1 GB/s, shared: true}]"},
                "--set cluster.storage: cluster.storage.0.shared: not with cluster.pools: all nodes share every tier: "
                "remove this key"},
        Refusal{
            "ATierInGpuMemory",
            {"decode={policy: full_kv}", "workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache",
             "placement={policy: lru, gpu_memory: 1 GB}"},
            "--set placement: placement.gpu_memory: requests choose their node when there is room, whatever lies in "
            "its memory: remove this key, or use replicas"},
        Refusal{"ADeviceThatNothingReaches",
                {"decode={policy: full_kv}", "workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache",
                 "placement={policy: lru}", "cluster.storage=[{name: ssd, read: 1 GB/s}]"},
                "pools.yaml:7:5: cluster.pools.storage.capacity: the storage node's memory has no end, and nothing "
                "would ever reach ssd "
                "below it: give it a capacity"},
        Refusal{
            "ADeviceNamedLikeTheStorageNodesMemory",
            {"decode={policy: full_kv}", "workload.prefixes={count: 1, tokens: 8k tokens}", "prefill=prefix_cache",
             "placement={policy: lru}", "cluster.pools.storage.capacity=1 TB",
             "cluster.storage=[{name: storage, read: 1 GB/s}]"},
            "--set cluster.storage: cluster.storage.0.name: another tier has the name storage: choose a different one"},
        Refusal{"PlannedPathsWithADrafter",
                {"decode={policy: drafter, drafter: {type: eagle3-llama-3.1-8b}}", "dispatch={policy: planned}"},
                "--set dispatch: dispatch.policy: the path LP knows no auxiliary drafter, and drafter has one: use "
                "online, or weights of your own"},
        Refusal{"PlannedPathsOfALossyPolicy",
                {"decode={policy: lossy, compressor: kivi-4bit}", "dispatch={policy: planned}"},
                "--set dispatch: dispatch.policy: the path LP plans the full KV, or drafts that are verified against "
                "it, and lossy does neither: use online, or weights of your own"},
        Refusal{"ACapacityThatNothingFills",
                {"cluster.pools.storage.capacity=10 TB"},
                "--set cluster.pools.storage.capacity: only prefill: prefix_cache fills the storage node, otherwise it "
                "has everything from the start: remove this key, or use prefix_cache"},
        Refusal{"APrefixCacheThatCannotHit",
                {"prefill=prefix_cache"},
                "--set prefill: prefix_cache needs requests that say which blocks of their prompts they share, and "
                "this workload's say nothing: give workload.prefixes, workload.chunks or workload.sessions, use a "
                "trace that says so (mooncake, bailian, weka, or columns with blocks), or prefill: stored"}));

INSTANTIATE_TEST_SUITE_P(
    Dispatch, PoolsRefuse,
    ::testing::Values(
        Refusal{"WeightsThatNothingReads",
                {"dispatch.weights={B1: 1}"},
                "--set dispatch.weights: belongs to policy weighted, and policy online would not look at it: remove "
                "it, or use policy: weighted"},
        Refusal{"WeightedWithoutWeights",
                {"dispatch={policy: weighted}"},
                "--set dispatch: missing key \"weights\", which policy weighted needs, such as {B1: 1, P1_stateless: "
                "3}"},
        Refusal{"WeightsOfAnUnknownPath",
                {"dispatch={policy: weighted, weights: {P1_statles: 1}}"},
                "--set dispatch: dispatch.weights: unknown key \"P1_statles\" of weights; did you mean "
                "\"P1_stateless\"?"},
        Refusal{"ANegativeWeight",
                {"dispatch={policy: weighted, weights: {B1: -1}}"},
                "--set dispatch: dispatch.weights.B1: must be >= 0, found -1"},
        Refusal{"WeightsThatAreAllZero",
                {"dispatch={policy: weighted, weights: {B1: 0}}"},
                "--set dispatch: dispatch.weights: no path that can be taken has a weight above 0"},
        Refusal{"AnUnknownDispatcher",
                {"dispatch={policy: wieghted}"},
                "--set dispatch: dispatch.policy: unknown value \"wieghted\"; did you mean \"weighted\"?"},
        Refusal{"APathTwice",
                {"dispatch.paths=[B1, B1]"},
                "--set dispatch.paths: dispatch.paths.1: B1 is in the list twice"},
        Refusal{"APathThatDraftsForAPolicyThatDoesNot",
                {"decode={policy: full_kv}", "dispatch.paths=[P1_cached]"},
                "--set dispatch.paths: P1_cached drafts, and decode policy full_kv does not: use draft_verify"},
        Refusal{"PathsThroughAPoolWithoutNodes",
                {"cluster.pools={local: {nodes: 1, link: storage-node-fast}}", "dispatch.paths=[B2]"},
                "--set dispatch.paths: none of these paths can be taken with 1 local and 0 remote nodes"}));

/// What loading this text complains of.
std::string complaint(const std::string& text) {
  try {
    scenario::load_scenario_text(text, "s.yaml");
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(RefusedKeys, AreShownWhereTheyAreWritten) {
  std::string text = kPoolsScenario;
  text.insert(text.find("  pools:"), "  replicas: 1\n");
  EXPECT_TRUE(complaint(text).starts_with("s.yaml:6:13: cluster.replicas: not with cluster.pools")) << complaint(text);
}

TEST(WithoutPools, ThereIsNothingToDispatchAndNoStorageNode) {
  EXPECT_EQ(complaint(std::string(kSmallScenario) + "dispatch: {policy: online}\n"),
            "s.yaml:15:11: dispatch: belongs to cluster.pools, and there are none: remove this key");
  EXPECT_THROW(small_scenario({"prefill=prefix_cache"}), schema::InputError);
}

TEST(OtherMachines, AreNotTriedForPools) {
  EXPECT_THROW(scenario::on_machine(pools_scenario(), "h200", 1), schema::InputError);
}

class ResolvedPools : public ::testing::TestWithParam<Sets> {};

TEST_P(ResolvedPools, AreTheirOwnResolution) {
  const std::string once = resolved_yaml(pools_scenario(GetParam()));
  EXPECT_EQ(resolved_yaml(scenario::load_scenario_text(once, "resolved.yaml")), once);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, ResolvedPools,
    ::testing::Values(
        Sets{}, Sets{"decode={policy: full_kv}", "dispatch={policy: planned, paths: [B1, B2]}"},
        Sets{"dispatch={policy: weighted, weights: {B2: 0.25, P2_cached: 1}}"},
        Sets{"cluster.pools={remote: {nodes: 3, link: {base: storage-node-slow, latency: 2 ms}}}"},
        Sets{"cluster.pools.local.shared=20 GB/s", "cluster.pools.storage={read: 100 GB/s}",
             "cluster.pools.remote.outages=[{at: 1 s, lasting: 500 ms, bandwidth: 0.5}, {at: 2 s, lasting: 1 s}]"}));

TEST(ResolvedPools, NameEveryKeyOfPoolsWithADefault) {
  const auto s =
      pools_scenario({"cluster.pools.local.outages=[{at: 1 s, lasting: 1 s}]", "cluster.pools.local.gpu=h200",
                      "cluster.pools.remote.gpu=l40s", "dispatch={policy: weighted, weights: {B1: 1}}"});
  const schema::ConfigNode resolved = schema::read_yaml(resolved_yaml(s), "resolved.yaml");
  int checked = 0;
  for (const ScenarioKey& key : scenario_keys()) {
    const bool of_pools = key.path.starts_with("cluster.pools") || key.path.starts_with("dispatch");
    if (!of_pools || key.of_an_entry || key.default_text.empty() || key.path.find("[]") != std::string::npos) continue;
    EXPECT_NE(resolved.find_path(key.path), nullptr) << key.path << " (default " << key.default_text << ")";
    ++checked;
  }
  EXPECT_GE(checked, 16);  // message_latency, the policy and six weights, and those of GPUs
}

TEST(ResolvedPools, SayThatReloadsArriveWholeUnlessToldOtherwise) {
  const auto arrival = [](const std::vector<std::string>& sets) {
    return schema::read_yaml(resolved_yaml(pools_scenario(sets)), "resolved.yaml")
        .find_path("schedule.arrival")
        ->text();
  };
  EXPECT_EQ(arrival({}), "whole");
  EXPECT_EQ(arrival({"schedule.arrival=layerwise"}), "layerwise");
}

TEST(ResolvedPools, SayNothingOfReplicas) {
  const schema::ConfigNode resolved = schema::read_yaml(resolved_yaml(pools_scenario()), "resolved.yaml");
  for (const char* key :
       {"cluster.replicas", "cluster.router", "cluster.host", "decode.draft_limit", "schedule.arrival_slack"}) {
    EXPECT_EQ(resolved.find_path(key), nullptr) << key;
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
