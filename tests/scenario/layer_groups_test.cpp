// Layers of several kinds in whole runs: what a request of a hybrid holds and moves by closed form, none of a kind
// changes nothing, and what has no meaning there is refused.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "models/catalogue/catalogue.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// Of a layer 32 x 128 x 128 numbers in 4 bytes, and 3 x 8,192 of the convolution in 2: 2,146,304 bytes.
std::string states(std::int64_t layers) {
  return fmt::format(
      "model={{base: llama-3.1-8b, state: {{layers: {}, heads: 32, head_dim: 128, state_dim: 128, in_width: 12352, "
      "conv_channels: 8192, conv_kernel: 4, bytes_per_element: 4}}}}",
      layers);
}
constexpr std::int64_t kState = 32 * 128 * 128 * 4 + 3 * 8192 * 2;

std::string chunks(std::int64_t layers, std::int64_t tokens) {
  return fmt::format("model={{base: llama-3.1-8b, window: {{layers: {}, tokens: {} tokens, kind: chunked}}}}", layers,
                     tokens);
}

TEST(LayerGroups, NoLayerWithAStateChangesNothing) {
  const std::vector<Sets> cases = {
      {},
      {"prefill=recompute"},
      {"prefill=recompute", "schedule.engine=vllm", "cluster.gpu.memory_fraction=0.3", "workload.output=4k tokens"},
      {"prefill=recompute", "cluster.gpu.tensor_parallel=2", "cluster.replicas=2"},
      {"prefill=recompute", "cluster.gpu.profile=datasheet-generic"}};
  for (const Sets& more : cases) {
    const Sets sets = full_kv(more);
    EXPECT_EQ(summary(measure_with(with(sets, states(0)))), summary(measure_with(with(sets, "model=llama-3.1-8b"))))
        << (more.empty() ? "" : more.back());
  }
}

TEST(LayerGroups, AChunkAsLongAsTheLongestContextChangesNothing) {
  const Sets sets = full_kv({"prefill=recompute"});
  EXPECT_EQ(summary(measure_with(with(sets, chunks(13, 131072)))),
            summary(measure_with(with(sets, "model=llama-3.1-8b"))));
}

TEST(LayerGroups, ARequestHoldsAndMovesItsStates) {
  // One request at a time: 16,000 stored tokens are loaded, 200 generated. 4,096 bytes of a token in 8 layers.
  const serving::Measurements m = measure_with(full_kv(
      {states(24), "workload.closed={concurrency: 1}", "workload.requests=3", "workload.context=16000 tokens"}));
  EXPECT_EQ(m.completed, 3U);
  EXPECT_EQ(static_cast<double>(m.links.at("host_to_gpu").bytes), 3 * (8 * 4096.0 * 16000 + 24.0 * kState));
  EXPECT_EQ(m.kv_reserved_peak_bytes, 16 * 4096 * 8 * 1013 + 24 * kState);
}

TEST(LayerGroups, LayersThatShareKvHoldAndMoveNone) {
  const std::string sharing = "model={base: llama-3.1-8b, shared_kv_layers: 12}";
  const serving::Measurements m = measure_with(
      full_kv({sharing, "workload.closed={concurrency: 1}", "workload.requests=3", "workload.context=16000 tokens"}));
  EXPECT_EQ(m.completed, 3U);
  EXPECT_EQ(static_cast<double>(m.links.at("host_to_gpu").bytes), 3 * 20 * 4096.0 * 16000);
  EXPECT_EQ(m.kv_reserved_peak_bytes, 16 * 4096 * 20 * 1013);
  EXPECT_NE(small_refusal({sharing}).find("12 of the 32 layers of"), std::string::npos) << small_refusal({sharing});
}

TEST(LayerGroups, RoomIsSharedByStatesAndKv) {
  const Sets sets = full_kv({"prefill=recompute"});
  const auto scenario = small_scenario(with(sets, states(24)));
  const serving::KvGeometry g = serving::configured_geometry(scenario.serving, scenario.serving.cluster.groups.front());
  EXPECT_EQ(g.state_bytes(), 24 * kState);
  EXPECT_EQ(g.full_reservation(0), 0);
  EXPECT_EQ(g.full_reservation(1), 16 * 8 * 4096 + 24 * kState);
  EXPECT_EQ(g.full_reservation(1000) - g.full_reservation(1), (63 - 1) * 16 * 8 * 4096);
  const serving::KvCapacity room = serving::kv_capacity(scenario.serving, scenario.serving.cluster.groups.front());
  const std::int64_t longest = 16 * ((room.bytes - 24 * kState) / (16 * 8 * 4096));
  EXPECT_EQ(room.context_tokens, std::min<std::int64_t>(longest, 131072)) << "of one context";
  const auto halves = small_scenario(with(with(sets, states(24)), "cluster.gpu.tensor_parallel=2"));
  EXPECT_EQ(serving::configured_geometry(halves.serving, halves.serving.cluster.groups.front()).state_bytes(),
            24 * kState)
      << "heads are shared";
}

TEST(LayerGroups, AChunkIsHeldWholeAndMovedAsFarAsItGoes) {
  const auto scenario = small_scenario(full_kv({chunks(24, 8192), "prefill=recompute"}));
  const serving::KvGeometry g = serving::configured_geometry(scenario.serving, scenario.serving.cluster.groups.front());
  EXPECT_EQ(g.full_transfer(20000), 20000 * 8 * 4096 + (20000 - 2 * 8192) * 24 * 4096);
  EXPECT_EQ(g.full_transfer(8192), 8192 * 32 * 4096);
  EXPECT_EQ(g.full_reservation(20000), 16 * 4096 * (8 * 1250 + 24 * 512)) << "chunks begin with blocks";
}

TEST(LayerGroups, PreemptedRequestsFindTheirStateOrNothing) {
  for (const char* preempted : {"cached", "dropped"}) {
    const serving::Measurements m = measure_with(
        full_kv({states(8), "prefill=recompute", "cluster.gpu.memory_fraction=0.3", "workload.output=8k tokens",
                 "workload.requests=12", fmt::format("schedule.preempted={}", preempted)}));
    EXPECT_GT(m.preemptions, 0U) << preempted;
    EXPECT_EQ(m.direct_tokens, 12U * 8000) << preempted;
  }
}

TEST(LayerGroups, WhatActsOnWholeContextsIsRefused) {
  const std::string drafter = "decode={policy: drafter, drafter: {type: llama-3.2-1b}}";
  for (const auto& [sets, key, why] : std::vector<std::tuple<Sets, std::string, std::string>>{
           {{}, "decode.policy", "decode policy draft_verify"},
           {{"decode.policy=lossy"}, "decode.policy", "lossy"},
           {{"decode={policy: full_offload}", "schedule.policy=fcfs"}, "decode.policy", "full_offload"},
           {{drafter, "schedule.policy=fcfs", "prefill=recompute"}, "decode.policy", "tokens that are not accepted"},
           {full_kv({"prefill=recompute", "cluster.gpu.pipeline_parallel=2"}), "pipeline_parallel", "use 1"},
           {full_kv({"prefill=prefix_cache", "placement={policy: lru}"}), "placement", "leave it out"}}) {
    const std::string message = small_refusal(with(sets, states(24)));
    EXPECT_NE(message.find(key), std::string::npos) << message;
    EXPECT_NE(message.find("24 of the 32 layers of"), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
  const std::string odd = states(24);
  const std::string message =
      small_refusal(full_kv({odd, "prefill=recompute", "model.state.heads=31", "cluster.gpu.tensor_parallel=2"}));
  EXPECT_NE(message.find("layers with a state cannot be sharded evenly over 2 GPUs"), std::string::npos) << message;
}

TEST(LayerGroups, EveryModelOfTheCatalogueRuns) {
  for (const auto& line : models::Catalogue::built_in().list(models::EntryKind::model)) {
    const Sets sets = full_kv({"model=" + line.name, "prefill=recompute", "workload.requests=3",
                               "workload.context=3000 tokens", "workload.output=20 tokens"});
    std::string why;
    bool ran = false;
    for (int gpus = 1; gpus <= 16 && !ran; gpus *= 2) {  // the fewest that hold it
      const Sets on = with(
          sets,
          fmt::format("cluster.gpu={{type: h200, memory_fraction: 0.9, tensor_parallel: {}, activations: 0 B}}", gpus));
      why = small_refusal(on);
      if (!why.empty()) continue;
      EXPECT_EQ(measure_with(on).completed, 3U) << line.name;
      ran = true;
    }
    EXPECT_TRUE(ran) << line.name << ": " << why;
  }
}

TEST(LayerGroups, TokensOfRoomAsEnginesReportThem) {
  const auto tokens = [](const Sets& sets) {
    const auto s = small_scenario(full_kv(sets));
    return serving::kv_capacity(s.serving, s.serving.cluster.uniform()).tokens;
  };
  // vLLM logs 476,016 and 1,044,688 of Llama-3.1-8B on one and two H100 at 0.95 (0.19.0), 417,440 of Qwen3-4B at 0.85.
  const Sets vllm = {"prefill=recompute", "schedule.engine=vllm"};
  const auto on = [&](const std::string& model, const std::string& gpu) {
    return static_cast<double>(tokens(with(with(vllm, "model=" + model), "cluster.gpu={type: h100-sxm, " + gpu + "}")));
  };
  EXPECT_NEAR(on("llama-3.1-8b", "memory_fraction: 0.95"), 476016, 0.002 * 476016);
  EXPECT_NEAR(on("llama-3.1-8b", "tensor_parallel: 2, memory_fraction: 0.95"), 1044688, 0.005 * 1044688);
  EXPECT_NEAR(on("qwen3-4b", "memory_fraction: 0.85"), 417440, 0.005 * 417440);
  // Figures of a log line are what the line says again.
  for (const char* stated : {"kv_tokens: 41408 tokens", "kv_blocks: 2588", "kv_bytes: 5427429376 B"}) {
    EXPECT_EQ(tokens(with(vllm, fmt::format("cluster.gpu={{type: rtx-4090, {}}}", stated))), 41408) << stated;
  }
  // SGLang reports about 509k of DeepSeek-R1 on 8 H200 at 0.82, each of which has a copy of the latents.
  EXPECT_NEAR(static_cast<double>(tokens({"prefill=recompute", "schedule.engine=sglang", "model=deepseek-r1",
                                          "cluster.gpu={type: h200, tensor_parallel: 8, memory_fraction: 0.82}"})),
              509e3, 0.08 * 509e3);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
