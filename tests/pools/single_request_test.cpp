// One request alone on each path: every time follows from the step times and the links, by hand. 16,000 tokens of
// prompt, 200 of output, drafts of 20.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/pools/pools_runs.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr std::int64_t kPrompt = 16000;
constexpr std::int64_t kOutput = 200;
constexpr std::int64_t kDraft = 20;
constexpr double kExact = 1e-6;  // relative; the clock counts nanoseconds

const char* const kAlwaysAgrees = "decode.acceptance={model: constant, agreement: 1}";

void expect_time(double simulated_s, double expected_s) {
  EXPECT_NEAR(simulated_s, expected_s, kExact * expected_s);
}

TEST(SinglePoolsRequest, OnB1LoadsOverTheFastLinkAndDecodes) {
  const auto s = pools_scenario(alone_on("B1"));
  const Parts parts(s);
  const auto m = simulated(s);
  const double load = parts.fast_s(parts.geometry().full_transfer(kPrompt));
  expect_time(m.e2e_s.mean(), load + parts.decodes_s(kPrompt, kPrompt + kOutput));
  expect_time(m.ttft_s.mean(), load + parts.decode_s(kPrompt));
  EXPECT_EQ(m.rounds, 0U);
}

/// Copies that a framework makes of full KV take memory of a node as they do of a replica; links carry it once.
TEST(SinglePoolsRequest, TakesTheMemoryThatAFrameworkHoldsFullKvIn) {
  const auto with_factor = [](const char* factor) {
    return simulated(pools_scenario(alone_on(
        "B1", {std::string("cluster.gpu.profile={base: h100-vllm, framework: {full_kv_factor: ") + factor + "}}"})));
  };
  const auto once = with_factor("1"), twice = with_factor("2");
  // 16,201 tokens in blocks of 16; of twice as many, one block less is lost to rounding.
  const double peak = static_cast<double>(once.pools.at("local").reserved_peak_bytes);
  EXPECT_NEAR(static_cast<double>(twice.pools.at("local").reserved_peak_bytes) / peak, 2, 0.001);
  EXPECT_EQ(once.e2e_s.mean(), twice.e2e_s.mean());
}

TEST(SinglePoolsRequest, OnB2LoadsOverTheSlowLinkAndDecodes) {
  const auto s = pools_scenario(alone_on("B2"));
  const Parts parts(s);
  const double load = parts.slow_s(parts.geometry().full_transfer(kPrompt));
  expect_time(simulated(s).e2e_s.mean(), load + parts.decodes_s(kPrompt, kPrompt + kOutput));
}

TEST(SinglePoolsRequest, UnderLossyLoadsCompressedKvAndReadsItAsItIs) {
  for (const char* compressor :
       {"{policy: lossy, compressor: kvzip, keep_ratio: 0.3}", "{policy: lossy, compressor: kivi-4bit}"}) {
    for (const char* path : {"B1", "B2"}) {
      const auto s = pools_scenario(alone_on(path, {std::string("decode=") + compressor}));
      const Parts parts(s);
      const auto m = simulated(s);
      const std::int64_t bytes = parts.geometry().compressed_transfer(kPrompt, 0);
      double expected = path == std::string("B1") ? parts.fast_s(bytes) : parts.slow_s(bytes);
      for (std::int64_t generated = 0; generated < kOutput; ++generated) {
        expected += parts.compressed_decode_s(kPrompt, generated);
      }
      expect_time(m.e2e_s.mean(), expected);
      EXPECT_EQ(m.hbm_reserved_peak_bytes - s.serving.model.weight_bytes(),
                parts.geometry().compressed_reservation(kPrompt, kOutput, 1));
      EXPECT_GT(m.kl_nats, 0) << compressor;
      EXPECT_LT(m.same_output, 1) << compressor;
    }
  }
}

TEST(SinglePoolsRequest, UnderLossyWhosePromptIsPrefilledHoldsItInFullUntilItIsCompressed) {
  const auto s = pools_scenario(
      alone_on("B1", {"prefill=recompute", "decode={policy: lossy, compressor: keydiff, keep_ratio: 0.3}"}));
  const auto full = pools_scenario(alone_on("B1", {"prefill=recompute", "decode={policy: full_kv}"}));
  const Parts parts(s);
  const auto m = simulated(s);
  EXPECT_EQ(m.pools.at("local").reserved_peak_bytes, parts.geometry().full_reservation(kPrompt + 1));
  EXPECT_EQ(m.links.at("storage_to_local").bytes, 0);
  // The first token is the full KV's, a compression later.
  expect_time(m.ttft_s.mean(), simulated(full).ttft_s.mean() + parts.compression_s(kPrompt));
}

/// Ten rounds of 20 drafts whose bonus tokens make them 9.52: nine of 21 tokens, then one of 11 drafted.
double drafting_s(const Parts& parts) {
  double s = 0;
  for (std::int64_t done = 0; done < kOutput;) {
    const std::int64_t draft = std::min(kDraft, kOutput - done);
    s += parts.decodes_s(kPrompt + done, kPrompt + done + draft) + parts.message_s();
    s += parts.verify_s(kPrompt + done, draft);
    done += std::min(draft + 1, kOutput - done);
    if (done < kOutput) s += parts.message_s();
  }
  return s;
}

TEST(SinglePoolsRequest, OnP1LoadsCompressedKvDecompressesItAndDraftsWhileReloadsHide) {
  for (const char* path : {"P1_cached", "P1_stateless"}) {
    const auto s = pools_scenario(alone_on(path, {kAlwaysAgrees}));
    const Parts parts(s);
    const auto m = simulated(s);
    const double load = parts.slow_s(parts.geometry().compressed_transfer(kPrompt, 0)) + parts.decompress_s(kPrompt);
    expect_time(m.e2e_s.mean(), load + drafting_s(parts));
    EXPECT_EQ(m.rounds, 10U) << path;
    EXPECT_EQ(m.late_reloads, 0U) << path;
  }
}

TEST(SinglePoolsRequest, OnP1StatelessWaitsForReloadsThatDraftsDoNotHide) {
  // At 1 GB/s a reload takes 2.1 s, twenty drafts a tenth of that: rounds go at the pace of the link.
  const auto s = pools_scenario(alone_on("P1_stateless", {kAlwaysAgrees, "cluster.pools.local.link.read=1 GB/s"}));
  const Parts parts(s);
  const auto m = simulated(s);
  double rounds = 0;
  for (std::int64_t done = 0; done < kOutput; done += kDraft + 1) {
    rounds += parts.fast_s(parts.geometry().full_transfer(kPrompt + done)) +
              parts.verify_s(kPrompt + done, std::min(kDraft, kOutput - done));
    if (done + kDraft + 1 < kOutput) rounds += parts.message_s();
  }
  const double load = parts.slow_s(parts.geometry().compressed_transfer(kPrompt, 0)) + parts.decompress_s(kPrompt);
  expect_time(m.e2e_s.mean(), load + rounds);
  EXPECT_EQ(m.late_reloads, 10U);
}

/// Of a pass as long as expected, the share (L - 1) / L may pass while the last of the KV is still to come.
double hidden_s(const Parts& parts, const scenario::Scenario& s) {
  const auto layers = static_cast<double>(s.serving.model.layers);
  return (layers - 1) / layers * parts.shortest_step_s();
}

TEST(SinglePoolsRequest, OnP1StatelessIsVerifiedWhileTheLastLayersArrive) {
  // As above, but that a verification begins so much before its reload's end that its last layer, if the pass took T =
  // a step of one token, would begin with it: share T = 31/32 T. The pass V takes longer than that, so that the last
  // layer's KV is there in time, and the round ends V - share T after its reload. Ten rounds.
  const std::vector<std::string> sets = {kAlwaysAgrees, "cluster.pools.local.link.read=1 GB/s"};
  auto layerwise = sets;
  layerwise.emplace_back("schedule.arrival=layerwise");
  const auto s = pools_scenario(alone_on("P1_stateless", layerwise));
  const auto m = simulated(s);
  const auto whole = simulated(pools_scenario(alone_on("P1_stateless", sets)));
  constexpr double kNanoseconds = 20e-9;  // two a round
  EXPECT_NEAR(whole.e2e_s.mean() - m.e2e_s.mean(), 10 * hidden_s(Parts(s), s), kNanoseconds);
  EXPECT_NEAR(m.pools.at("local").busy_s, whole.pools.at("local").busy_s, kNanoseconds);
  EXPECT_EQ(m.rounds, 10U);
}

TEST(SinglePoolsRequest, WhoseLastLayersComeLaterThanExpectedKeepsTheNodeWaitingForThem) {
  // One round. Half way between the beginning of its verification, share T before the expected end of the reload, and
  // that end, the link dies for a second. The last layer runs when the KV is there: V/L after it. Of the step, V is
  // computing, and the rest counts as waiting for the link.
  std::vector<std::string> sets = {kAlwaysAgrees, "cluster.pools.local.link.read=1 GB/s", "workload.output=20 tokens",
                                   "schedule.arrival=layerwise"};
  const auto s = pools_scenario(alone_on("P1_stateless", sets));
  const Parts parts(s);
  const double drafts = parts.slow_s(parts.geometry().compressed_transfer(kPrompt, 0)) + parts.decompress_s(kPrompt);
  const double reload = parts.fast_s(parts.geometry().full_transfer(kPrompt));
  const double verify = parts.verify_s(kPrompt, kDraft);
  sets.push_back(fmt::format("cluster.pools.local.outages=[{{at: {:.9f} s, lasting: 1 s}}]",
                             drafts + reload - hidden_s(parts, s) / 2));
  const auto m = simulated(pools_scenario(alone_on("P1_stateless", sets)));
  expect_time(m.e2e_s.mean(), drafts + reload + 1 + verify / static_cast<double>(s.serving.model.layers));
  expect_time(m.pools.at("local").busy_s, verify);
  EXPECT_NEAR(m.iteration_s.max(), 1 + hidden_s(parts, s) + verify / static_cast<double>(s.serving.model.layers), 1e-6);
}

TEST(SinglePoolsRequest, OnP2DecodesAloneOnceTheRestIsThere) {
  // The rest, 1.44 GB, takes 1.2 s; until then it drafts and verifies as on P1.
  const auto s = pools_scenario(alone_on("P2_cached", {kAlwaysAgrees}));
  const auto m = simulated(s);
  EXPECT_GT(m.rounds, 0U);
  EXPECT_GT(m.direct_tokens, 0);
  const auto p1 = simulated(pools_scenario(alone_on("P1_cached", {kAlwaysAgrees})));
  EXPECT_LT(m.rounds, p1.rounds);
  EXPECT_EQ(m.links.at("storage_to_remote").bytes,
            Parts(s).geometry().full_transfer(kPrompt));  // compressed and rest together
}

TEST(SinglePoolsRequest, OnP2WithAFinishedRequestTheRestIsNotSent) {
  // Two tokens are there long before the rest is.
  const auto s = pools_scenario(alone_on("P2_stateless", {kAlwaysAgrees, "workload.output=2 tokens"}));
  const auto m = simulated(s);
  EXPECT_EQ(m.completed, 1U);
  EXPECT_EQ(m.direct_tokens, 0);
}

TEST(SinglePoolsRequest, HasAllItsTokensFromTheFullKvOnEveryPath) {
  for (const models::Path path : models::kAllPaths) {
    for (const char* agreement : {"0.3", "0.9", "1"}) {
      const auto s =
          pools_scenario(alone_on(std::string(path_name(path)),
                                  {std::string("decode.acceptance={model: constant, agreement: ") + agreement + "}"}));
      const auto m = simulated(s);
      EXPECT_EQ(m.output_tokens, kOutput) << path_name(path);
      EXPECT_EQ(m.accepted_tokens + m.corrections + m.direct_tokens, kOutput) << path_name(path);
      EXPECT_EQ(m.paths.at(models::index_of(path)).completed, 1U) << path_name(path);
      EXPECT_EQ(m.paths.at(models::index_of(path)).output_tokens, kOutput) << path_name(path);
    }
  }
}

TEST(SinglePoolsRequest, WhosePromptIsNotStoredIsPrefilledByTheFullKv) {
  for (const models::Path path : models::kAllPaths) {
    const auto s = pools_scenario(alone_on(std::string(path_name(path)), {"prefill=recompute"}));
    const auto m = simulated(s);
    EXPECT_EQ(m.prefix.prefilled_tokens, kPrompt) << path_name(path);
    EXPECT_EQ(m.output_tokens, kOutput) << path_name(path);
    // Drafting needs the compressed KV on the other node, by way of the storage node.
    const bool drafts = models::traits(path).drafts;
    EXPECT_EQ(m.links.at("local_to_storage").bytes > 0, drafts) << path_name(path);
    EXPECT_EQ(m.links.at("storage_to_remote").bytes > 0, drafts) << path_name(path);
  }
}

TEST(SinglePoolsRequest, WhosePromptIsPrefilledIsCompressedByTheKernelsThatItTakesOrAtTheCompressorsRate) {
  const std::string decode = "decode={policy: draft_verify, compressor: keydiff, keep_ratio: 0.3, draft_length: 20}";
  const auto with = [&](const std::string& rate) {
    std::vector<std::string> sets{"prefill=recompute", decode};
    if (!rate.empty()) sets.push_back("decode.compressor.compress_rate=" + rate);
    return pools_scenario(alone_on("P1_cached", sets));
  };
  const auto s = with("");
  const double bytes = static_cast<double>(Parts(s).geometry().full_transfer(kPrompt));
  const double at_once = simulated(with("1000 TB/s")).e2e_s.mean() - bytes / 1e15;
  constexpr double kNanoseconds = 3e-9;
  EXPECT_NEAR(simulated(with("500 GB/s")).e2e_s.mean() - at_once, bytes / 500e9, kNanoseconds);
  const double kernels = Parts(s).compression_s(kPrompt);
  EXPECT_GT(kernels, 1e-5);
  EXPECT_NEAR(simulated(s).e2e_s.mean() - at_once, kernels, kNanoseconds);
}

TEST(SinglePoolsRequest, IsNeverSlowerWithMoreOfAnything) {
  const std::vector<std::pair<std::string, std::string>> more = {
      {"cluster.pools.local.link.read=10 GB/s", "cluster.pools.local.link.read=40 GB/s"},
      {"cluster.pools.remote.link.read=1 GB/s", "cluster.pools.remote.link.read=2 GB/s"},
      {"cluster.pools.message_latency=20 ms", "cluster.pools.message_latency=1 ms"},
      {"cluster.gpu.type.memory_bandwidth=1.5 TB/s", "cluster.gpu.type.memory_bandwidth=3 TB/s"},
  };
  for (const models::Path path : models::kAllPaths) {
    for (const auto& [less, better] : more) {
      const std::string name(path_name(path));
      const double slow = simulated(pools_scenario(alone_on(name, {less}))).e2e_s.mean();
      const double fast = simulated(pools_scenario(alone_on(name, {better}))).e2e_s.mean();
      EXPECT_LE(fast, slow) << name << ", " << better;
    }
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
