// An auxiliary drafter between pools: the same steps as on replicas, and rounds whose drafts take its tokens.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/experiment.h"
#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr const char* kWorkload =
    "workload={closed: {concurrency: 6}, requests: 60, context: {distribution: lognormal, mean: 3k tokens, cv: 1, max: "
    "12k tokens}, output: {distribution: exponential, mean: 100 tokens}}";

/// A small machine: with pools, or with one replica of the same GPU.
scenario::Scenario machine(const std::string& cluster, const std::string& decode) {
  return scenario::ScenarioFile::from_text(
             "name: one\nmodel: llama-3.1-8b\nworkload: {}\nprefill: recompute\ncluster: " + cluster +
                 "\ndecode: " + decode + "\n",
             "one.yaml", {kWorkload})
      .load();
}

TEST(PoolsDrafter, OneLocalNodeIsAReplica) {
  // No prompt is stored, and what is fetched crosses a link of the same figures: both compute the same steps, and
  // everything measured of requests and of GPUs is equal to the last bit.
  const std::string gpu = "gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}";
  const std::string drafter = "drafter: {type: eagle3-llama-3.1-8b, draft_length: 4}";
  for (const std::string& decode :
       std::vector<std::string>{"{policy: full_kv}", "{policy: drafter, " + drafter + "}",
                                "{policy: drafter, " + drafter + ", draft_lengths: {policy: adaptive}}",
                                "{policy: lossy+drafter, compressor: kivi-4bit, " + drafter + "}",
                                "{policy: quantised_only, compressor: specache-2bit}",
                                "{policy: speculative_prefetch, compressor: specache-2bit}",
                                "{policy: speculative_prefetch+drafter, compressor: specache-2bit, " + drafter + "}",
                                "{policy: fetch_on_demand, compressor: specache-2bit}", "{policy: full_offload}",
                                "{policy: full_offload+drafter, " + drafter + "}"}) {
    const auto node = simulated(machine("{" + gpu + ", pools: {local: {nodes: 1, link: pcie5-x16}}}", decode));
    const auto replica = simulated(machine("{" + gpu + ", host: {memory: 1 TiB, link: pcie5-x16}}", decode));
    EXPECT_EQ(node.fetch.bytes, replica.fetch.bytes) << decode;
    EXPECT_EQ(node.fetch.wait_s, replica.fetch.wait_s) << decode;
    EXPECT_EQ(node.fetch.unused_bytes, replica.fetch.unused_bytes) << decode;
    EXPECT_EQ(node.output_tokens, replica.output_tokens) << decode;
    EXPECT_EQ(node.drafter.proposed_tokens, replica.drafter.proposed_tokens) << decode;
    EXPECT_EQ(node.drafter.accepted_tokens, replica.drafter.accepted_tokens) << decode;
    EXPECT_EQ(node.drafter.gpu_s, replica.drafter.gpu_s) << decode;
    EXPECT_EQ(node.iteration_s.count(), replica.iteration_s.count()) << decode;
    EXPECT_EQ(node.iteration_s.mean(), replica.iteration_s.mean()) << decode;
    EXPECT_EQ(node.ttft_s.mean(), replica.ttft_s.mean()) << decode;
    EXPECT_EQ(node.tpot_s.max(), replica.tpot_s.max()) << decode;
    EXPECT_EQ(node.e2e_s.mean(), replica.e2e_s.mean()) << decode;
    EXPECT_EQ(node.bound_s, replica.bound_s) << decode;
  }
}

serving::Measurements alone(const std::string& path, const std::string& policy, const std::string& agreement) {
  return simulated(
      pools_scenario(alone_on(path, {"decode={policy: " + policy +
                                     ", compressor: kivi-4bit, draft_length: 20, acceptance: {model: constant, "
                                     "agreement: 1}, drafter: {type: eagle3-llama-3.1-8b, draft_length: 4, "
                                     "acceptance: {model: constant, agreement: " +
                                     agreement + "}}}"})));
}

TEST(PoolsDrafter, RoundsTakeItsTokensWhereTheyDraft) {
  // 200 tokens in rounds of 20 and one of the verifier's own: 9 full rounds, and 11 tokens in the last. Where each
  // drafting step keeps all four proposals it gives five tokens: four steps a full round and, of the 11 tokens of the
  // last, three steps.
  const auto plain = alone("P1_cached", "draft_verify", "1");
  const auto all = alone("P1_cached", "draft_verify+drafter", "1");
  EXPECT_EQ(all.rounds, plain.rounds);
  EXPECT_EQ(all.output_tokens, plain.output_tokens);
  EXPECT_EQ(all.drafting_request_iterations, 9U * 4 + 3);
  EXPECT_EQ(plain.drafting_request_iterations, 9U * 20 + 11);
  EXPECT_EQ(all.pools.at("remote").draft_tokens, plain.pools.at("remote").draft_tokens);
  EXPECT_LT(all.e2e_s.mean(), plain.e2e_s.mean());
  // One whose tokens are never kept drafts one a step, and its passes are lost time.
  const auto none = alone("P1_cached", "draft_verify+drafter", "1e-9");
  EXPECT_EQ(none.drafting_request_iterations, plain.drafting_request_iterations);
  EXPECT_GT(none.e2e_s.mean(), plain.e2e_s.mean());
}

TEST(PoolsDrafter, ItsKvIsLoadedBesideWhatIsDecodedOn) {
  const auto plain = alone("B1", "full_kv", "1");
  const auto with = alone("B1", "drafter", "1");
  const auto s = pools_scenario({"decode={policy: drafter, drafter: {type: eagle3-llama-3.1-8b}}"});
  const auto& network = s.serving.decode.drafter->spec.network;
  EXPECT_EQ(with.links.at("storage_to_local").bytes - plain.links.at("storage_to_local").bytes,
            16000 * network.kv_bytes_per_token());
  // What is only verified against comes without: a cached local node loads the full KV alone.
  EXPECT_EQ(alone("P1_cached", "draft_verify+drafter", "1").links.at("storage_to_local").bytes,
            alone("P1_cached", "draft_verify", "1").links.at("storage_to_local").bytes);
  EXPECT_GT(with.hbm_peak_bytes - plain.hbm_peak_bytes, s.serving.decode.drafter->spec.own_weight_bytes());
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
