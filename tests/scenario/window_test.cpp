// Layers with a window in whole runs: what requests hold, read and move against closed forms; a window as long as the
// longest context changes nothing; what has no meaning there is refused.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "planner/policy_words.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

std::string windows(std::int64_t layers, std::int64_t tokens) {
  return fmt::format("model={{base: llama-3.1-8b, window: {{layers: {}, tokens: {} tokens}}}}", layers, tokens);
}

TEST(Window, AsLongAsTheLongestContextChangesNothing) {
  const std::vector<Sets> cases = {
      {},
      {"prefill=recompute"},
      {"prefill=recompute", "schedule.engine=vllm", "cluster.gpu.memory_fraction=0.3", "workload.output=4k tokens"},
      {"prefill=recompute", "cluster.gpu.tensor_parallel=2", "cluster.replicas=2"},
      {"prefill=recompute", "cluster.gpu.type=a100", "cluster.gpu.memory_fraction=0.6"},
      {"prefill=recompute", "cluster.gpu.profile=datasheet-generic"},
      {"prefill=recompute", "decode={policy: drafter, drafter: {type: llama-3.2-1b}}"},
  };
  for (const Sets& more : cases) {
    const Sets sets = full_kv(more);
    std::string usual;
    try {
      usual = summary(measure_with(with(sets, "model=llama-3.1-8b")));
    } catch (const std::exception& e) {
      FAIL() << e.what();
    }
    EXPECT_EQ(summary(measure_with(with(sets, windows(13, 131072)))), usual) << (more.empty() ? "" : more.back());
  }
}

TEST(Window, AsLongAsTheLongestContextCountsTheRoomOnce) {
  const auto tokens = [](const std::string& model) {
    const auto s = small_scenario(
        full_kv({model, "prefill=recompute", "cluster.gpu={type: h200, memory_fraction: 0.9, activations: 0 B}"}));
    return serving::kv_capacity(s.serving, s.serving.cluster.uniform()).bytes;
  };
  EXPECT_GT(tokens("model=llama-3.1-8b"), 2 * 131072 * 131072L);
  EXPECT_EQ(tokens(windows(13, 131072)), tokens("model=llama-3.1-8b"));
}

TEST(Window, LongerThanAllContextsChangesNothingWhereMemoryIsPlenty) {
  // Room is less by the new tokens of a step, which nobody misses.
  const Sets sets = full_kv({"prefill=recompute", "workload.requests=20"});
  const std::string usual = summary(measure_with(with(sets, "model=llama-3.1-8b")));
  EXPECT_EQ(summary(measure_with(with(sets, windows(13, 16300)))), usual);
  EXPECT_NE(summary(measure_with(with(sets, windows(13, 16100)))), usual);
}

TEST(Window, ARequestHoldsAndMovesItsWindow) {
  // One request at a time: 16,000 stored tokens are loaded, 200 generated. 4,096 bytes of a token in a layer.
  const serving::Measurements m = measure_with(full_kv(
      {windows(24, 1000), "workload.closed={concurrency: 1}", "workload.requests=3", "workload.context=16000 tokens"}));
  EXPECT_EQ(m.completed, 3U);
  const double loaded = 8 * 4096.0 * 16000 + 24 * 4096.0 * 1000;
  EXPECT_EQ(static_cast<double>(m.links.at("host_to_gpu").bytes), 3 * loaded);
  // 16,199 tokens and one in work are in 1,013 blocks of 16; a window of 1,000 lies in 64 at most.
  EXPECT_EQ(m.kv_reserved_peak_bytes, 16 * 4096 * (8 * 1013 + 24 * 64));
}

TEST(Window, RequestsOfPublishedModelsByHand) {
  struct Hand {
    const char* model;
    std::int64_t full, windowed, tokens,
        blocks;  // bytes of a token in layers of either kind; the window, and in blocks
  };
  for (const Hand& h : {Hand{"gpt-oss-120b", 36864, 36864, 128, 9}, Hand{"gemma-3-27b", 81920, 425984, 1024, 65}}) {
    const auto s = small_scenario(full_kv({std::string("model=") + h.model, "prefill=recompute",
                                           "cluster.gpu={type: h200, memory_fraction: 0.9, activations: 0 B}"}));
    const serving::KvGeometry g = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
    EXPECT_EQ(g.full_transfer(100000), 100000 * h.full + h.tokens * h.windowed) << h.model;
    EXPECT_EQ(g.full_transfer(100), 100 * (h.full + h.windowed)) << h.model;
    EXPECT_EQ(g.full_reservation(100000), 16 * (6250 * h.full + h.blocks * h.windowed)) << h.model;
    // 141 GB x 0.9 less weights and the 2,048 new tokens of a step.
    const double room = 0.9 * static_cast<double>(s.serving.cluster.groups.front().gpu.memory_bytes.value) -
                        static_cast<double>(s.serving.model.weight_bytes()) - 2048.0 * static_cast<double>(h.windowed);
    EXPECT_NEAR(static_cast<double>(serving::kv_capacity(s.serving, s.serving.cluster.groups.front()).bytes), room,
                16.0 * static_cast<double>(h.full + h.windowed))
        << h.model;
  }
}

TEST(Window, RoomIsWhatASteppingBatchLeaves) {
  const Sets sets = full_kv({"prefill=recompute", "schedule.max_batched_tokens=4096"});
  const auto capacity = [&](const std::string& model) {
    const auto s = small_scenario(with(sets, model));
    return serving::kv_capacity(s.serving, s.serving.cluster.uniform());
  };
  const serving::KvCapacity full = capacity("model=llama-3.1-8b"), window = capacity(windows(24, 1000));
  EXPECT_NEAR(static_cast<double>(full.bytes - window.bytes), 4096.0 * 24 * 4096, 16 * 131072);
  // Blocks of one context: of all layers while the window fills, then of the full ones.
  const std::int64_t blocks = (window.bytes - 64 * 16 * 131072) / (16 * 8 * 4096) + 64;
  EXPECT_EQ(window.context_tokens, std::min<std::int64_t>(16 * blocks, 131072));
}

TEST(Window, MoreRequestsFitAndStepsAreShorter) {
  const Sets sets = full_kv({"prefill=recompute", "cluster.gpu.memory_fraction=0.3", "workload.requests=20"});
  const serving::Measurements full = measure_with(with(sets, "model=llama-3.1-8b"));
  const serving::Measurements window = measure_with(with(sets, windows(24, 1000)));
  EXPECT_EQ(window.direct_tokens, full.direct_tokens);
  EXPECT_LT(window.e2e_s.mean(), 0.8 * full.e2e_s.mean());
}

TEST(Window, PreemptedRequestsFindAllOfTheirKvOrNothing) {
  for (const char* preempted : {"cached", "dropped"}) {
    const serving::Measurements m = measure_with(
        full_kv({windows(8, 1000), "prefill=recompute", "cluster.gpu.memory_fraction=0.3", "workload.output=8k tokens",
                 "workload.requests=12", fmt::format("schedule.preempted={}", preempted)}));
    EXPECT_GT(m.preemptions, 0U) << preempted;
    EXPECT_EQ(m.direct_tokens, 12U * 8000) << preempted;
  }
}

TEST(Window, WhatActsOnWholeContextsIsRefused) {
  const std::string window = windows(24, 1000);
  for (const auto& [sets, key, why] : std::vector<std::tuple<Sets, std::string, std::string>>{
           {{}, "decode.policy", "decode policy draft_verify"},
           {{"decode.policy=lossy"}, "decode.policy", "lossy"},
           {{"decode={policy: full_offload}", "schedule.policy=fcfs"}, "decode.policy", "full_offload"},
           {full_kv({"prefill=recompute", "cluster.gpu.pipeline_parallel=2"}), "pipeline_parallel", "use 1"},
           {full_kv({"prefill=prefix_cache", "placement={policy: lru}"}), "placement", "leave it out"}}) {
    const std::string message = small_refusal(with(sets, window));
    EXPECT_NE(message.find(key), std::string::npos) << message;
    EXPECT_NE(message.find("24 of the 32 layers of"), std::string::npos) << message;
    EXPECT_NE(message.find(why), std::string::npos) << message;
  }
}

TEST(Window, ShapesThatCannotBeAreRefused) {
  const auto message = [](const std::string& window) {
    return small_refusal(full_kv({"model={base: llama-3.1-8b, window: {" + window + "}}"}));
  };
  EXPECT_NE(message("layers: 32, tokens: 1000 tokens").find("window.layers: must be below layers (32)"),
            std::string::npos);
  EXPECT_NE(message("layers: 3, tokens: 1000 tokens, kv_heads: 5").find("32 heads do not share 5 KV heads"),
            std::string::npos);
  EXPECT_NE(message("layers: 3").find("tokens"), std::string::npos);
  EXPECT_EQ(message("layers: 3, tokens: 1000 tokens"), "");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
