// What a placement keeps in the storage node's memory and in devices below it, loaded over nodes' own links.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/experiment.h"
#include "sim/serving/kv_capacity.h"
#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kWorkload =
    "workload={closed: {concurrency: 1}, requests: 60, prefixes: {count: 8, tokens: 6k tokens}, context: "
    "{distribution: "
    "lognormal, mean: 1k tokens, cv: 0.5, max: 3k tokens}, output: 40 tokens}";

/// A small machine of pools, or of one replica with host memory in the storage node's place, over an SSD.
scenario::Scenario machine(const std::string& cluster, const std::string& placement) {
  return scenario::ScenarioFile::from_text(
             "name: one\nmodel: llama-3.1-8b\nworkload: {}\nprefill: prefix_cache\ncluster:\n"
             "  gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}\n"
             "  storage: [{name: ssd, capacity: 3 GB, read: 6 GB/s, write: 3 GB/s, latency: 100 us}]\n  " +
                 cluster + "\nplacement: " + placement + "\ndecode: {policy: full_kv}\n",
             "one.yaml", {kWorkload})
      .load();
}

/// With the requests beforehand, for policies that know the future.
serving::Measurements run(const scenario::Scenario& s) {
  return planner::run_experiment(s).measured;
}

TEST(PoolsPlacement, OneLocalNodeIsAReplica) {
  // One request at a time, which both begin when it comes: loads, stores, moves between tiers and steps are the same.
  for (const std::string& placement : std::vector<std::string>{
           "{policy: lru}", "{policy: arc}", "{policy: belady}", "{policy: none}",
           "{policy: lru, compressor: kvzip, keep_ratio: 0.25}", "{policy: lru, compressor: kivi-4bit}",
           "{policy: utility, options: {keep_ratios: [0.5, 0.25], methods: [kvzip, snapkv]}}"}) {
    const auto node = run(machine("pools: {local: {nodes: 1, link: pcie5-x16}, storage: {capacity: 3 GB}}", placement));
    const auto replica = run(machine("host: {memory: 3 GB, link: pcie5-x16}", placement));
    EXPECT_EQ(node.completed, 60U) << placement;
    EXPECT_EQ(node.ttft_s.mean(), replica.ttft_s.mean()) << placement;
    EXPECT_EQ(node.e2e_s.mean(), replica.e2e_s.mean()) << placement;
    EXPECT_EQ(node.tpot_s.max(), replica.tpot_s.max()) << placement;
    EXPECT_EQ(node.iteration_s.mean(), replica.iteration_s.mean()) << placement;
    const serving::PlacementMeasurement &a = node.placement, &b = replica.placement;
    EXPECT_EQ(a.loaded_tokens, b.loaded_tokens) << placement;
    EXPECT_EQ(a.loads, b.loads) << placement;
    EXPECT_EQ(a.stores, b.stores) << placement;
    EXPECT_EQ(a.promotions, b.promotions) << placement;
    EXPECT_EQ(a.demotions, b.demotions) << placement;
    EXPECT_EQ(a.recompressions, b.recompressions) << placement;
    EXPECT_EQ(a.drops, b.drops) << placement;
    EXPECT_EQ(a.moved_bytes, b.moved_bytes) << placement;
    EXPECT_EQ(a.quality.mean(), b.quality.mean()) << placement;
    EXPECT_EQ(node.tiers.at("storage").hits, replica.tiers.at("host").hits) << placement;
    EXPECT_EQ(node.tiers.at("ssd").hits, replica.tiers.at("ssd").hits) << placement;
    EXPECT_EQ(node.links.at("storage_to_local").bytes, replica.links.at("host_to_gpu").bytes) << placement;
    EXPECT_EQ(node.links.at("ssd_read").bytes, replica.links.at("ssd_read").bytes) << placement;
  }
}

/// Two requests of one context, the second long after the first, on a node of one of the pools.
serving::Measurements twice(const std::string& path, std::vector<std::string> more) {
  more.insert(more.end(), {"decode={policy: full_kv}", "dispatch={policy: online, paths: [" + path + "]}",
                           "workload.prefixes={count: 1, tokens: 16000 tokens}", "prefill=prefix_cache",
                           "placement={policy: lru, granularity: contexts}"});
  models::RequestSpec first;
  first.prompt_tokens = 16010;
  first.output_tokens = 2;
  first.context = 0;
  first.context_tokens = 16000;
  models::RequestSpec second = first;
  second.id = 1;
  second.arrival_ns = 100'000'000'000;
  return simulated(pools_scenario(more), {first, second}, 0);
}

TEST(PoolsPlacement, ADeviceIsReadThroughTheNodesLink) {
  // The slower of the two says how long: 2.1 GB at 1 GB/s, over links of 42.9 and of 1.2 GB/s.
  const std::string ssd = "cluster.storage=[{name: ssd, read: 1 GB/s, latency: 10 ms}]";
  const std::vector<std::string> memory{"cluster.pools.storage.capacity=10 GB"};
  const std::vector<std::string> device{"cluster.pools.storage.capacity=1 GB", ssd};
  const auto full = pools_scenario({"decode={policy: full_kv}"});
  const serving::KvGeometry geometry = serving::configured_geometry(full.serving, full.serving.cluster.groups.front());
  const auto bytes = static_cast<double>(geometry.stored_transfer(16000));
  const auto s = pools_scenario({});
  const auto& groups = s.serving.cluster.groups;
  for (const auto& [path, pool] : {std::pair{"B1", groups.front()}, std::pair{"B2", groups.back()}}) {
    // The first is computed, and takes as long in both.
    const double near = 2 * twice(path, memory).ttft_s.mean(), far = 2 * twice(path, device).ttft_s.mean();
    const double link = pool.storage_link.read_bytes_per_s.value;
    EXPECT_NEAR(far - near, 0.01 + bytes / std::min(link, 1e9) - bytes / link, 1e-6) << path;
  }
}

TEST(PoolsPlacement, WhatOneNodeStoredAnotherLoads) {
  // Of 60 requests over 4 contexts only the first of each, and those that came before it was stored, is computed.
  const auto m = simulated(pools_scenario(
      {"decode={policy: full_kv}", "dispatch={policy: weighted, weights: {B1: 1, B2: 2}}", "prefill=prefix_cache",
       "placement={policy: lru}", "cluster.pools.storage.capacity=1 TB",
       "workload={closed: {concurrency: 2}, requests: 60, prefixes: {count: 4, tokens: 6k tokens}, context: 1k tokens, "
       "output: 20 tokens}"}));
  EXPECT_EQ(m.completed, 60U);
  EXPECT_GE(m.tiers.at("storage").hits, 50U);
  EXPECT_GT(m.links.at("storage_to_local").bytes, 0);
  EXPECT_GT(m.links.at("storage_to_remote").bytes, 0);
  EXPECT_EQ(m.prefix.loaded_tokens, m.placement.loaded_tokens);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
