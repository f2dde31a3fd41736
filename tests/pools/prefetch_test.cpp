// Policies that fetch KV between pools: over a node's link from the storage node, where the full KV is.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kRows = ", gathers: [{name: rows, per_row: 10 ns}]";

/// One local node on a link like a host's, and remote ones on a slow one.
std::vector<std::string> fetching(const std::string& policy, std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"decode={policy: " + policy + ", compressor: specache-2bit}",
               "cluster.pools.local.link={base: storage-node-fast, read: 50 GB/s" + std::string(kRows) + "}",
               "cluster.pools.remote.link={base: storage-node-slow" + std::string(kRows) + "}"});
  return more;
}

serving::Measurements alone(const std::string& path, const std::string& policy, std::vector<std::string> more = {}) {
  return simulated(pools_scenario(alone_on(path, fetching(policy, std::move(more)))));
}

TEST(PoolsPrefetch, StreamingTheWholeKvTakesTheLinksTime) {
  // 16k tokens of full KV for each token, over 1.2 GB/s and less: computing hides nothing of it.
  const auto s = pools_scenario(fetching("full_offload"));
  const serving::KvGeometry geometry = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
  double bytes = 0;
  for (std::int64_t i = 0; i < 200; ++i) bytes += static_cast<double>(geometry.full_transfer(16000 + i));
  const auto m = alone("B2", "full_offload");
  const auto& link = s.serving.cluster.groups.back().storage_link;
  EXPECT_NEAR(m.fetch.fetch_s, bytes / link.read_bytes_per_s.value, 1e-6 * m.fetch.fetch_s);
  EXPECT_NEAR(m.e2e_s.mean(), m.fetch.fetch_s, 0.02 * m.fetch.fetch_s);
  EXPECT_EQ(m.fetch.steps, 200U);
  EXPECT_GT(m.fetch.wait_s, 0.9 * m.fetch.fetch_s);
}

TEST(PoolsPrefetch, FetchesAndTheFirstLoadAreAllThatCrossesTheLink) {
  for (const char* policy : {"speculative_prefetch", "fetch_on_demand", "full_offload", "quantised_only"}) {
    const auto s = pools_scenario(fetching(policy));
    const serving::KvGeometry geometry = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
    const auto m = alone("B1", policy);
    EXPECT_EQ(m.output_tokens, 200) << policy;
    // What was asked for beside the last token is cut off by the run's end.
    EXPECT_NEAR(static_cast<double>(m.links.at("storage_to_local").bytes),
                static_cast<double>(geometry.compressed_transfer(16000, 0) + m.fetch.bytes),
                0.01 * static_cast<double>(m.fetch.bytes))
        << policy;
    // Each token's KV leaves while its step runs; of a low-bit copy alone nothing does.
    const bool leaves = std::string(policy) != "quantised_only";
    const double written = leaves ? static_cast<double>(geometry.full_transfer(200)) : 0;
    EXPECT_NEAR(static_cast<double>(m.links.at("local_to_storage").bytes), written, 0.01 * written + 1) << policy;
    EXPECT_EQ(m.fetch.first_choices, std::string(policy) == "speculative_prefetch" ? 1U : 0U) << policy;
  }
}

TEST(PoolsPrefetch, WhatIsFetchedIsAsTheScenarioSays) {
  // Of contexts far longer than what is chosen, twice as many pairs are twice the bytes.
  const auto few = alone("B1", "fetch_on_demand", {"decode.prefetch.top_k=64"});
  const auto many = alone("B1", "fetch_on_demand", {"decode.prefetch.top_k=128"});
  EXPECT_EQ(many.fetch.bytes, 2 * few.fetch.bytes);
}

TEST(PoolsPrefetch, ItsBytesMayComeFromEitherPool) {
  const auto near = alone("B1", "speculative_prefetch"), far = alone("B2", "speculative_prefetch");
  EXPECT_EQ(near.output_tokens, far.output_tokens);
  EXPECT_EQ(near.fetch.bytes, far.fetch.bytes);
  EXPECT_LT(near.e2e_s.mean(), far.e2e_s.mean());
  EXPECT_GT(far.links.at("storage_to_remote").bytes, far.fetch.bytes / 2);
}

TEST(PoolsPrefetch, WhatIsPrefilledLeavesLayerByLayerAndIsFoundAgain) {
  // Two requests with one prompt of 16 blocks, the second long after the first.
  const auto s =
      pools_scenario(fetching("fetch_on_demand", {"workload.prefixes={count: 1, tokens: 8k tokens}",
                                                  "prefill=prefix_cache", "dispatch={policy: online, paths: [B1]}"}));
  const serving::KvGeometry geometry = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t i = 1; i <= 16; ++i) blocks.push_back(i);
  models::RequestSpec first, second;
  for (models::RequestSpec* r : {&first, &second}) {
    r->prompt_tokens = 16 * 512;
    r->output_tokens = 20;
    r->prefix_blocks = blocks;
  }
  second.id = 1;
  second.arrival_ns = 100'000'000'000;
  const auto m = simulated(s, {first, second}, 512);
  EXPECT_EQ(m.completed, 2U);
  EXPECT_EQ(m.prefix.prefilled_tokens, 16 * 512);
  // The first prompt once, and the tokens of both.
  EXPECT_NEAR(static_cast<double>(m.links.at("local_to_storage").bytes),
              static_cast<double>(geometry.full_transfer(16 * 512 + 2 * 20)),
              static_cast<double>(geometry.full_transfer(4)));
  EXPECT_EQ(m.tiers.at("storage").hits, 16U);
}

TEST(PoolsPrefetch, OneTokenAfterAPrefillIsTheEndOfIt) {
  const auto s = pools_scenario(fetching(
      "fetch_on_demand", {"prefill=recompute", "dispatch={policy: online, paths: [B1]}",
                          "workload={closed: {concurrency: 2}, requests: 6, context: 3k tokens, output: 1 token}"}));
  const auto m = simulated(s);
  EXPECT_EQ(m.completed, 6U);
  EXPECT_EQ(m.output_tokens, 6);
}

TEST(PoolsPrefetch, APromptThatWasPrefilledIsHeldAsOneThatWasLoaded) {
  // 2,000 tokens out of 16k: what is full while it is prefilled leaves with its compression, or when all of it has
  // left.
  for (const char* policy : {"quantised_only", "speculative_prefetch", "full_offload", "lossy"}) {
    const std::vector<std::string> more{
        "workload={closed: {concurrency: 1}, requests: 1, context: 16k tokens, output: 2000 tokens}"};
    std::vector<std::string> computed = more;
    computed.emplace_back("prefill=recompute");
    const double stored = alone("B1", policy, more).pools.at("local").reserved_mean_bytes;
    const auto here = alone("B1", policy, computed).pools.at("local");
    EXPECT_LT(here.reserved_mean_bytes, 1.3 * stored) << policy;
    EXPECT_GT(static_cast<double>(here.reserved_peak_bytes), 2.5 * stored) << policy;
  }
}

TEST(PoolsPrefetch, ADeadLinkStopsStepsUntilItIsBack) {
  const auto usual = alone("B1", "fetch_on_demand");
  const auto late = alone("B1", "fetch_on_demand", {"cluster.pools.local.outages=[{at: 500 ms, lasting: 7 s}]"});
  EXPECT_NEAR(late.e2e_s.mean(), usual.e2e_s.mean() + 7, 0.05);
  EXPECT_EQ(late.output_tokens, 200);
}

TEST(PoolsPrefetch, NodesShareLowBitBlocksAndStreamEachItsOwn) {
  const auto loaded = [](const char* policy) {
    const auto s = pools_scenario(fetching(policy, {"dispatch={policy: online, paths: [B1]}"}));
    models::RequestSpec first, second;
    for (models::RequestSpec* r : {&first, &second}) {
      r->prompt_tokens = 16 * 512;
      r->output_tokens = 500;
      for (std::uint64_t i = 1; i <= 16; ++i) r->prefix_blocks.push_back(i);
    }
    second.id = 1;
    second.arrival_ns = 1'000'000'000;
    return simulated(s, {first, second}, 512).prefix;
  };
  const auto shared = loaded("fetch_on_demand"), own = loaded("full_offload");
  EXPECT_EQ(shared.loaded_tokens, 16 * 512);
  EXPECT_EQ(shared.on_node_tokens, 16 * 512);
  EXPECT_EQ(own.loaded_tokens, 2 * 16 * 512);
  EXPECT_EQ(own.on_node_tokens, 0);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
