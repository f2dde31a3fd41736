// KV memory as engines lay it out: blocks, tokens and concurrency that vLLM logged, by hand.
#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "sim/serving/kv_layout.h"

namespace kvsim::serving::KVSIM_FILE {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;
constexpr std::int64_t kBudget = 8192;

KvLayout of(const models::LlmSpec& model) {
  return {model, 1, 16, 0};
}

models::LlmSpec entry(const char* name) {
  return models::Catalogue::built_in().model(name);
}

// Llama-3.1-8B on one H100 with vLLM 0.19.0: 58.11 GiB, 476,016 tokens, 29,751 blocks, 58.11 at 8,192 tokens.
TEST(KvLayout, LayersAlikeAreOneGroup) {
  const KvLayout layout = of(entry("llama-3.1-8b"));
  EXPECT_EQ(layout.groups(), 1);
  EXPECT_EQ(layout.block_bytes(), 16 * 131072);
  const double bytes = layout.bytes_of_blocks(29751);
  EXPECT_NEAR(bytes / kGib, 58.11, 0.01);
  EXPECT_EQ(layout.tokens(bytes, 8192, kBudget), 476016);
  EXPECT_NEAR(layout.concurrency(bytes, 8192, kBudget), 58.11, 0.005);
  EXPECT_EQ(layout.bytes_of_tokens(476016, 8192, kBudget), bytes);
}

// gemma-3-4b: 5 of 34 layers attend to all tokens, so 29 are 6 groups of 5, one of them padded. Logged: 62.51 GiB,
// 204,817 blocks, 57.05 at 8,192.
TEST(KvLayout, WindowsAreGroupsAsLargeAsTheRarestKind) {
  models::LlmSpec model = entry("gemma-3-12b");
  model.layers = 34;
  model.kv_heads = 4;
  model.window.layers = 29;
  const KvLayout layout = of(model);
  EXPECT_EQ(layout.groups(), 7);
  EXPECT_EQ(layout.block_bytes(), 5 * 16 * 4096);
  const double bytes = layout.bytes_of_blocks(204817);
  EXPECT_NEAR(bytes / kGib, 62.51, 0.01);
  EXPECT_EQ(layout.blocks_of_request(8192, kBudget), 512 + 6 * 513);
  EXPECT_NEAR(layout.concurrency(bytes, 8192, kBudget), 57.05, 0.005);
  EXPECT_NEAR(static_cast<double>(layout.tokens(bytes, 8192, kBudget)), 468144, 0.002 * 468144);
}

// vLLM 0.24 on an H200: 103.92 GiB are 1,007,303 tokens, 3.84 times 262,144; 64.68 GiB are 626,949.
TEST(KvLayout, AWindowHoldsWhatAStepMayWriteAndNarrowHeadsHaveLargerBlocks) {
  const KvLayout layout = of(entry("gemma-4-31b"));
  EXPECT_EQ(layout.groups(), 6);
  // 262,144 tokens in blocks of 32; 1,023 + 8,192 in blocks of 16, wherever they begin.
  EXPECT_EQ(layout.blocks_of_request(262144, kBudget), 8192 + 5 * 577);
  EXPECT_NEAR(layout.concurrency(103.92 * kGib, 262144, kBudget), 3.84, 0.005);
  EXPECT_NEAR(static_cast<double>(layout.tokens(103.92 * kGib, 262144, kBudget)), 1007303, 0.001 * 1007303);
  EXPECT_NEAR(static_cast<double>(layout.tokens(64.68 * kGib, 262144, kBudget)), 626949, 0.001 * 626949);
}

// Qwen3.5-27B with vLLM 0.19: 290,864 tokens, 33.04 at 32,768 (vllm issue 40691): 371 blocks of 784 tokens a group.
TEST(KvLayout, BlocksAreAsLargeAsAState) {
  const KvLayout layout = of(entry("qwen3.5-27b"));
  EXPECT_EQ(layout.block_tokens(), 784);
  EXPECT_EQ(layout.groups(), 4);
  EXPECT_EQ(layout.blocks_of_request(32768, kBudget), 42 + 3);
  const double bytes = layout.bytes_of_blocks(1487);
  EXPECT_EQ(layout.tokens(bytes, 32768, kBudget), 290864);
  EXPECT_NEAR(layout.concurrency(bytes, 32768, kBudget), 33.04, 0.005);
  models::LlmSpec narrow = entry("qwen3.5-35b-a3b");
  EXPECT_EQ(of(narrow).block_tokens(), 1056);  // "Setting attention block size to 1056 tokens"
  narrow.kv_bytes_per_element = 1;
  EXPECT_EQ(of(narrow).block_tokens(), 2096);  // likewise, with KV in 8 bit
}

TEST(KvLayout, WhatIsStatedIsStatedAgain) {
  for (const char* name : {"llama-3.1-8b", "gemma-3-27b", "gemma-4-31b", "gpt-oss-20b", "qwen3.5-27b", "deepseek-v3"}) {
    const models::LlmSpec model = entry(name);
    const KvLayout layout = of(model);
    for (const std::int64_t tokens : {300'000, 1'234'567}) {
      const double bytes = layout.bytes_of_tokens(tokens, model.max_context, kBudget);
      const auto again = static_cast<double>(layout.tokens(bytes, model.max_context, kBudget));
      EXPECT_GE(again, static_cast<double>(tokens)) << name;
      EXPECT_LT(again, static_cast<double>(tokens) * 1.01) << name;
      const std::int64_t blocks = layout.blocks(bytes);
      EXPECT_EQ(layout.blocks(layout.bytes_of_blocks(blocks)), blocks) << name;
    }
  }
}

}  // namespace
}  // namespace kvsim::serving::KVSIM_FILE
