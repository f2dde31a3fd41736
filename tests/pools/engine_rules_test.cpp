// Rules of engines hold between sites as they do on replicas: the instances are the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kWorkload =
    "workload={closed: {concurrency: 24}, requests: 80, context: {distribution: lognormal, mean: 3k tokens, cv: 1, "
    "max: "
    "12k tokens}, output: {distribution: exponential, mean: 200 tokens}}";

scenario::Scenario machine(const std::string& rest, std::vector<std::string> sets) {
  sets.insert(sets.begin(), kWorkload);
  return scenario::ScenarioFile::from_text(
             "name: one\nmodel: llama-3.1-8b\nworkload: {}\nprefill: recompute\ndecode: {policy: full_kv}\ncluster: "
             "{gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}, " +
                 rest + "}\n",
             "one.yaml", sets)
      .load();
}

scenario::Scenario node(const std::vector<std::string>& sets) {
  return machine("pools: {local: {nodes: 1, link: pcie5-x16}}", sets);
}

TEST(PoolsEngineRules, OfOneLocalNodeAreThoseOfAReplica) {
  // Prompts are computed, and memory suffices: everything measured of requests and iterations is equal to the last bit.
  for (const std::vector<std::string>& sets : std::vector<std::vector<std::string>>{
           {"schedule.prefill_order=prefill_first"},
           {"schedule.engine=vllm"},
           {"schedule.engine=sglang"},
           {"cluster.gpu.pipeline_parallel=2"},
           {"model=gemma-3-12b", "schedule.reserve=prompt", "cluster.gpu.memory_fraction=0.8"}}) {
    const auto local = simulated(node(sets));
    const auto replica = simulated(machine("host: {memory: 1 TiB}", sets));
    EXPECT_EQ(local.iteration_s.count(), replica.iteration_s.count()) << sets.front();
    EXPECT_EQ(local.iteration_s.mean(), replica.iteration_s.mean()) << sets.front();
    EXPECT_EQ(local.ttft_s.mean(), replica.ttft_s.mean()) << sets.front();
    EXPECT_EQ(local.itl_s.mean(), replica.itl_s.mean()) << sets.front();
    EXPECT_EQ(local.e2e_s.mean(), replica.e2e_s.mean()) << sets.front();
    EXPECT_EQ(local.bound_s, replica.bound_s) << sets.front();
  }
}

TEST(PoolsEngineRules, MakeRequestsWaitForTheirStep) {
  const auto plain = simulated(node({}));
  EXPECT_GT(simulated(node({"schedule.receive_interval=32"})).ttft_s.mean(), plain.ttft_s.mean());
  const std::vector<std::string> wide = {"schedule.max_batched_tokens=16384"};
  auto held = wide;
  held.emplace_back("schedule.batch_wait={iterations: 32, tokens: 1}");
  EXPECT_GT(simulated(node(held)).ttft_s.mean(), simulated(node(wide)).ttft_s.mean());
}

TEST(PoolsEngineRules, LetStepsWaitForWhatIsLoaded) {
  // Over a slow link: those who decode wait for the prompts of those who enter.
  const std::vector<std::string> stored = {"prefill=stored", "cluster.pools.local.link.read=2 GB/s"};
  auto blocking = stored;
  blocking.emplace_back("schedule.blocking_loads=true");
  const auto beside = simulated(node(stored)), before = simulated(node(blocking));
  EXPECT_EQ(before.completed, beside.completed);
  EXPECT_GT(before.largest_gap_s.mean(), 2 * beside.largest_gap_s.mean());
}

TEST(PoolsEngineRules, MemoryThatGrowsWithTokensServesMoreAndPreempts) {
  const std::vector<std::string> tight = {"cluster.gpu.memory_fraction=0.23"};
  auto grows = tight, cached = tight;
  grows.emplace_back("schedule.reserve=prompt");
  cached.insert(cached.end(), {"schedule.reserve=prompt", "schedule.preempted=cached"});
  const auto whole = simulated(node(tight)), prompt = simulated(node(grows)), found = simulated(node(cached));
  EXPECT_EQ(whole.preemptions, 0U);
  EXPECT_GT(prompt.preemptions, 0U);
  EXPECT_EQ(prompt.completed, 80U);
  EXPECT_EQ(prompt.output_tokens, whole.output_tokens);
  EXPECT_EQ(found.output_tokens, whole.output_tokens);
}

TEST(PoolsEngineRules, PrefixesAreFoundInANodesMemory) {
  const auto with = [](bool caching) {
    std::vector<models::RequestSpec> requests;
    for (std::uint64_t id = 0; id < 6; ++id) {
      requests.push_back({id, static_cast<std::int64_t>(id) * 20'000'000'000, 8'000, 5, {1, 2, 3, 4}});
    }
    auto s = node({});
    s.serving.schedule.prefix_caching = caching;
    return simulated(s, requests, 1600);
  };
  EXPECT_EQ(with(false).prefix.prefilled_tokens, 6 * 8'000);
  // Four blocks of 1,600 tokens; the first request computes them.
  EXPECT_EQ(with(true).prefix.prefilled_tokens, 6 * 8'000 - 5 * 6'400);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
