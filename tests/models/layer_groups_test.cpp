// Layers of several kinds in one model: what chunks and selections leave out against counting, states and indexers in
// bytes, arithmetic and seconds, and parameters of hybrids by hand.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/kernels/layer_work.h"
#include "models/kernels/operators/state.h"
#include "models/kernels/step_operators.h"
#include "models/kernels/step_time.h"
#include "models/schema/error.h"
#include "models/schema/yaml.h"
#include "models/schemas.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_gpu;
using testing::tiny_link;
using testing::tiny_model;

RC_GTEST_PROP(Chunked, LeavesOutTheChunksBefore, ()) {
  const WindowLayers chunks{.layers = 1, .tokens = *rc::gen::inRange<std::int64_t>(1, 60), .kind = WindowKind::chunked};
  const auto before = *rc::gen::inRange<std::int64_t>(0, 200), queries = *rc::gen::inRange<std::int64_t>(1, 200);
  std::int64_t left_out = 0, oldest = before + queries;
  for (std::int64_t query = before; query < before + queries; ++query) {
    const std::int64_t first = query / chunks.tokens * chunks.tokens;
    left_out += first;
    oldest = std::min(oldest, first);
  }
  RC_ASSERT(chunks.unattended(static_cast<double>(before), static_cast<double>(queries)) ==
            static_cast<double>(left_out));
  RC_ASSERT(chunks.unread(static_cast<double>(before), static_cast<double>(queries)) == static_cast<double>(oldest));
}

TEST(Selected, EachTokenAttendsToSoManyAndAllAreKept) {
  const WindowLayers selected{.layers = 1, .tokens = 2048, .kind = WindowKind::selected};
  EXPECT_FALSE(selected.drops());
  EXPECT_EQ(selected.unread(9999, 1), 10000 - 2048);
  EXPECT_EQ(selected.unread(1000, 1), 0);
  EXPECT_EQ(selected.unread(9999, 3), 10002 - 3 * 2048) << "as far as they go, no two choose the same";
  EXPECT_EQ(selected.unattended(9999, 1), 10000 - 2048);
}

/// Three layers that keep a state and one with attention: a state of 2 x 4 x 8 numbers in 4 bytes, and a convolution
/// over 20 channels that keeps three tokens of them.
LlmSpec hybrid() {
  LlmSpec m = tiny_model();
  m.layers = 4;
  m.state = {.layers = 3,
             .heads = 2,
             .head_dim = 4,
             .state_dim = 8,
             .in_width = 30,
             .conv_channels = 20,
             .conv_kernel = 4,
             .further_parameters = 7,
             .bytes_per_element = 4};
  return m;
}

TEST(State, SizesByHand) {
  const LlmSpec m = hybrid();
  EXPECT_EQ(m.attention_layers(), 1);
  EXPECT_EQ(m.state.bytes(), 3 * (2 * 4 * 8 * 4 + 20 * 3 * 2));
  EXPECT_EQ(m.kv_bytes_per_token(), tiny_model().kv_bytes_per_token()) << "of one layer";
  EXPECT_EQ(m.attention_flops_per_pair(), tiny_model().attention_flops_per_pair());
  // Attention 192; a state's layer 8 x 30 in, 8 x 8 out, 20 x 4 of the convolution and 7; four blocks of 3 x 8 x 16,
  // norms 9 x 8, tables 2 x 80.
  EXPECT_EQ(m.parameters(), 192 + 3 * (240 + 64 + 80 + 7) + 4 * 384 + 72 + 160);
  EXPECT_FALSE(m.grows_evenly());
}

TEST(State, LayersOfOnePartEachAreCountedAsSuch) {
  // Nemotron-H: a state, attention, or a block of two matrices, one of them with experts of width 4 in 6 numbers.
  LlmSpec m = hybrid();
  m.layers = 7;
  m.without_attention = 3;
  m.without_block = 4;
  m.gated_blocks = false;
  m.moe = {.experts = 5,
           .experts_per_token = 2,
           .shared_experts = 1,
           .expert_intermediate = 4,
           .shared_intermediate = 9,
           .expert_hidden = 6,
           .dense_layers = 2};
  EXPECT_EQ(m.attention_layers(), 1);
  EXPECT_EQ(m.block_layers(), 3);
  EXPECT_EQ(m.routed_layers(), 1);
  EXPECT_EQ(m.sublayers(), 7);
  const std::int64_t mixers = 192 + 3 * (240 + 64 + 80 + 7), dense = 2 * (2 * 8 * 16);
  const std::int64_t experts = 5 * (2 * 6 * 4), beside = 2 * 8 * 9 + 2 * 8 * 6 + 8 * 5;
  EXPECT_EQ(m.parameters(), mixers + dense + experts + beside + 8 * 8 + 160);
  EXPECT_EQ(m.active_parameters(), m.parameters() - 80 - experts + 2 * (2 * 6 * 4));
}

TEST(State, IsReadAndWrittenOnceForEachRequestOfAStep) {
  const LlmSpec m = hybrid();
  StepWork w;
  w.decode = {2, 2 * 100.0 * 16, 200, 2};
  w.prefill = {50, 50.0 * 16, 50 * 51 / 2, 1};
  w.chunks = {{50, 0}};
  const OperatorLoad load = state_load(m, 1, w);
  const double activations = 52 * 3 * (30 + 2 * 20 + 8) * 2;
  EXPECT_DOUBLE_EQ(load.bytes, 3 * 2 * m.state.bytes() + activations);
  EXPECT_DOUBLE_EQ(load.flops, 52 * 3 * kStateFlops * 64) << "linear in tokens";
  EXPECT_DOUBLE_EQ(state_load(m, 2, w).bytes, load.bytes / 2);
  const StepTime time = StepTimer(tiny_gpu(), tiny_link(), ideal_profile(), m, 1).time(w);
  EXPECT_DOUBLE_EQ(time.state_s, std::max(load.bytes / 100, load.flops / 1000));
  LlmSpec alone = m.full_part();
  const StepTime attention = StepTimer(tiny_gpu(), tiny_link(), ideal_profile(), alone, 1).time(w);
  EXPECT_DOUBLE_EQ(time.attention_s - time.state_s, attention.attention_s);
}

TEST(State, DecodingTakesAsLongAfterAnyContext) {
  const LlmSpec m = hybrid();
  StepWork w, longer;
  w.decode = {1, 100.0 * 16, 100, 1};
  longer.decode = {1, 10000.0 * 16, 10000, 1};
  EXPECT_EQ(state_load(m, 1, w).bytes, state_load(m, 1, longer).bytes);
}

/// Two layers with a latent of 12 numbers, which attend to 100 tokens that one indexer selects.
LlmSpec sparse() {
  LlmSpec m = tiny_model();
  m.layers = 2;
  m.kv_heads = 4;
  m.attention = AttentionKind::mla;
  m.mla = {.q_lora_rank = 4, .kv_lora_rank = 8, .qk_nope_head_dim = 2, .qk_rope_head_dim = 4, .v_head_dim = 2};
  m.window = {.layers = 2, .tokens = 100, .kind = WindowKind::selected};
  m.indexer = {.layers = 1, .heads = 3, .head_dim = 16, .bytes_per_element = 1};
  m.max_context = 10000;
  return m;
}

TEST(Selected, KeysOfIndexersAreKeptBesideLatents) {
  const LlmSpec m = sparse();
  EXPECT_EQ(m.kv_bytes_per_token(), 2 * 12 * 2 + 16);
  EXPECT_EQ(m.window_part().kv_bytes_per_token(), 2 * 12 * 2);
  EXPECT_TRUE(m.grows_evenly());
  LlmSpec all = m;
  all.window = {};
  all.indexer = {};
  EXPECT_EQ(m.parameters() - all.parameters(), 4 * 3 * 16 + 8 * (16 + 3));
}

TEST(Selected, AStepReadsAllKeysAndTheSelectedLatents) {
  const LlmSpec m = sparse();
  StepWork w;
  w.decode = {1, 5000.0 * 64, 5000, 1};
  leave_out(w.decode, m.window, 4999, 1);
  const OperatorLoad keys = indexer_load(m, w.decode);
  EXPECT_DOUBLE_EQ(keys.bytes, 5000 * 16);
  EXPECT_DOUBLE_EQ(keys.flops, 5000 * 2 * 3 * 16);
  const StepTime time = StepTimer(tiny_gpu(), tiny_link(), ideal_profile(), m, 1).time(w);
  EXPECT_DOUBLE_EQ(time.indexer_s, std::max(keys.bytes / 100, keys.flops / 1000));
  const double latents_s = std::max(100 * 48.0 / 100, 100 * m.attention_flops_per_pair() / 1000);
  EXPECT_DOUBLE_EQ(time.attention_s - time.indexer_s, latents_s);
  for (const StepOperator& o : step_operators(tiny_gpu(), tiny_link(), ideal_profile(), m, 1, w)) {
    const bool attends = o.name == "attention", indexes = o.name == "indexers";
    EXPECT_DOUBLE_EQ(attends || indexes ? o.bytes : 0, attends ? 100 * 48 : indexes ? 5000 * 16 : 0);
  }
}

// The shortest step is what iterations are estimated by until one was timed.
TEST(Selected, OneTokenWithNothingBeforeItTakesATime) {
  LlmSpec all = sparse();
  all.indexer = {};
  const auto shortest_s = [](const LlmSpec& m) {
    return StepTimer(tiny_gpu(), tiny_link(), ideal_profile(), m, 1).one_token_s();
  };
  EXPECT_GE(shortest_s(sparse()), shortest_s(all)) << "no NaN";
}

TEST(Selected, ALongChunkOverLatentsSaysWhatIsLeftOut) {
  const LlmSpec m = sparse();
  StepWork w;
  w.prefill = {400, 1000.0 * 64, 400 * 600 + 400 * 401 / 2, 1};
  w.chunks = {{400, 600}};
  leave_out(w.prefill, m.window, 600, 400);
  const StepWork part = LayerWork(m).in_window_layers(w);
  ASSERT_EQ(part.chunks.size(), 1U);
  EXPECT_TRUE(part.chunks.front().selects);
  EXPECT_EQ(part.chunks.front().unattended, 400 * 600 + 400 * 401 / 2 - 400 * 100);
  EXPECT_EQ(part.chunks.front().unread, 0) << "together they choose all";
  EXPECT_EQ(part.prefill.pairs, 400 * 100);
  EXPECT_EQ(part.prefill.kv_bytes, 1000 * 48);
  StepWork short_one;
  short_one.prefill = {60, 60.0 * 64, 60 * 61 / 2, 1};
  short_one.chunks = {{60, 0}};
  EXPECT_EQ(LayerWork(m).in_window_layers(short_one).chunks.size(), 1U) << "nothing is left out of it";
}

std::string refusal(const std::string& more) {
  const std::string text =
      "{description: small, layers: 4, hidden: 32, heads: 4, kv_heads: 2, head_dim: 8, intermediate: 64, "
      "vocabulary: 100, max_context: 1000 tokens, " +
      more + "}";
  try {
    static_cast<void>(llm_schema().parse(schema::read_yaml(text, "model.yaml"), {"model", nullptr}));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "read";
}

TEST(LayerGroups, WhatCannotBeIsRefusedAtItsKey) {
  const auto refused = [](const std::string& more, const std::string& why) {
    EXPECT_NE(refusal(more).find(why), std::string::npos) << refusal(more);
  };
  const std::string state = "heads: 2, head_dim: 4, state_dim: 8, in_width: 30}";
  EXPECT_EQ(refusal("state: {layers: 3, " + state), "read");
  refused("state: {layers: 4, " + state, "model.state.layers: 4 layers keep a state and 0 have no attention, of 4");
  refused("without_attention: 4", "no layer is left that keeps KV");
  refused("without_attention: 3, without_block: 2", "neither attention nor state nor feed-forward block");
  refused("without_block: 4", "model.without_block: must be below layers (4)");
  refused("window: {layers: 2, tokens: 100 tokens, kind: selected}", "selected is known for layers that keep a latent");
  refused("indexer: {layers: 2, heads: 2, head_dim: 8}", "no layer attends to what it selects");
  refused("state: {layers: 2, " + state + ", window: {layers: 2, tokens: 100 tokens}", "must be below layers");
  EXPECT_EQ(refusal("shared_kv_layers: 3"), "read");
  refused("shared_kv_layers: 4", "model.shared_kv_layers: 4 of 4: no layer is left whose KV they could read");
  const std::string window = "window: {layers: 2, tokens: 100 tokens, shared_kv_layers: ";
  EXPECT_EQ(refusal("shared_kv_layers: 2, " + window + "1}"), "read");
  refused("shared_kv_layers: 1, " + window + "2}", "shared_kv_layers: 1, fewer than the 2 of window.shared_kv_layers");
  refused("shared_kv_layers: 2, " + window + "2}", "window.shared_kv_layers: 2 of 2: no layer is left");
  refused("shared_kv_layers: 3, " + window + "1}", "shared_kv_layers: 2 of 2: no layer is left");
  refused("state: {layers: 2, heads: 1000000, head_dim: 65536, state_dim: 65536, in_width: 30}", "bytes of state");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
