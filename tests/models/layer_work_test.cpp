// Attention of layers with a window: pairs and bytes against counting them one by one, and times by layer kind.
#include "models/kernels/layer_work.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_operators.h"
#include "models/kernels/step_time.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_gpu;
using testing::tiny_link;

RC_GTEST_PROP(Window, LeavesOutWhatCountingLeavesOut, ()) {
  const WindowLayers window{.layers = 1, .tokens = *rc::gen::inRange<std::int64_t>(1, 60)};
  const auto before = *rc::gen::inRange<std::int64_t>(0, 100), queries = *rc::gen::inRange<std::int64_t>(1, 100);
  std::int64_t left_out = 0, oldest = before + queries;
  for (std::int64_t query = before; query < before + queries; ++query) {
    const std::int64_t first = std::max<std::int64_t>(0, query - window.tokens + 1);
    left_out += first;
    oldest = std::min(oldest, first);
  }
  RC_ASSERT(window.unattended(static_cast<double>(before), static_cast<double>(queries)) ==
            static_cast<double>(left_out));
  RC_ASSERT(window.unread(static_cast<double>(before), static_cast<double>(queries)) == static_cast<double>(oldest));
}

/// Four layers, two of them with a window of 100 tokens and half as many KV heads: 2 x 4 x 8 x 2 = 128 bytes of a token
/// in a full layer, 64 in one with a window.
LlmSpec windowed() {
  LlmSpec m = testing::tiny_model();
  m.layers = 4;
  m.heads = m.kv_heads = 4;
  m.head_dim = 8;
  m.hidden = 32;
  m.max_context = 10000;
  m.window = {.layers = 2, .tokens = 100, .kv_heads = 2};
  return m;
}

StepWork prefill(double tokens, double before, const LlmSpec& m) {
  StepWork w;
  w.prefill = {tokens, (before + tokens) * static_cast<double>(m.kv_bytes_per_token()),
               tokens * (before + (tokens + 1) / 2), 1};
  w.chunks.push_back({tokens, before});
  leave_out(w.prefill, m.window, before, tokens);
  return w;
}

TEST(LayerWork, KeepsBytesAndPairsOfEachKind) {
  const LlmSpec m = windowed();
  ASSERT_EQ(m.kv_bytes_per_token(), 2 * 128 + 2 * 64);
  StepWork w = prefill(250, 30, m);
  w.decode = {2, 1100.0 * 384, 1100, 2, 1000};  // two requests, of 100 and of 1,000 tokens
  leave_out(w.decode, m.window, 99, 1);
  leave_out(w.decode, m.window, 999, 1);
  const LayerWork layers(m);
  const StepWork full = layers.in_full_layers(w), window = layers.in_window_layers(w);
  EXPECT_EQ(full.decode.kv_bytes, 1100 * 256);
  EXPECT_EQ(full.decode.pairs, 1100);
  EXPECT_EQ(full.decode.longest_kv, 1000);
  EXPECT_EQ(window.decode.kv_bytes, (100 + 100) * 128);
  EXPECT_EQ(window.decode.pairs, 200);
  EXPECT_EQ(window.decode.longest_kv, 100);
  // Tokens 31 to 280: 70 see 31 to 100, 180 see 100 each.
  EXPECT_EQ(full.prefill.pairs, 250 * 30 + 250 * 251 / 2);
  EXPECT_EQ(window.prefill.pairs, 70 * (31 + 100) / 2 + 180 * 100);
  EXPECT_EQ(window.prefill.kv_bytes, 280 * 128) << "the first of them sees all that is there";
  ASSERT_EQ(window.chunks.size(), 1U);
  const PrefillChunk& c = window.chunks.front();
  EXPECT_EQ(c.tokens, 100);
  EXPECT_DOUBLE_EQ(c.alike * c.tokens, 250);
  EXPECT_NEAR(c.alike * c.tokens * (c.before + (c.tokens + 1) / 2), window.prefill.pairs, 1e-6);
}

TEST(LayerWork, AChunkWithinTheWindowStaysAsItIs) {
  const LlmSpec m = windowed();
  const StepWork w = prefill(60, 40, m);
  EXPECT_FALSE(LayerWork::differs(w));
  const StepWork window = LayerWork(m).in_window_layers(w);
  ASSERT_EQ(window.chunks.size(), 1U);
  EXPECT_EQ(window.chunks.front().tokens, 60);
  EXPECT_EQ(window.chunks.front().before, 40);
  EXPECT_EQ(window.chunks.front().alike, 1);
  EXPECT_EQ(window.prefill.pairs, w.prefill.pairs);
}

TEST(LayerWork, TimeIsThatOfEachKind) {
  const LlmSpec m = windowed();
  StepWork w;
  w.decode = {1, 5000.0 * 384, 5000, 1};
  leave_out(w.decode, m.window, 4999, 1);
  const auto attention_s = [&](const LlmSpec& model, const StepWork& work) {
    return StepTimer(tiny_gpu(), tiny_link(), ideal_profile(), model, 1).time(work).attention_s;
  };
  StepWork full, window;
  full.decode = {1, 5000.0 * 256, 5000, 1};
  window.decode = {1, 100.0 * 128, 100, 1};
  EXPECT_DOUBLE_EQ(attention_s(m, w), attention_s(m.full_part(), full) + attention_s(m.window_part(), window));
  const auto bytes = [&](const std::vector<StepOperator>& all) {
    for (const StepOperator& o : all) {
      if (o.name == "attention") return o.bytes;
    }
    return 0.0;
  };
  EXPECT_DOUBLE_EQ(bytes(step_operators(tiny_gpu(), tiny_link(), ideal_profile(), m, 1, w)), 5000 * 256 + 100 * 128);
}

TEST(LayerWork, EndlessWindowsTakeTheTimeOfNone) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const char* name : {"h100-sxm", "a100", "h20"}) {
    const GpuSpec gpu = catalogue.gpu(name);
    const KernelProfile profile = catalogue.profile(gpu.profile);
    const LinkSpec link = catalogue.link(gpu.peer_link);
    const LlmSpec m = catalogue.model("qwen3-30b-a3b");
    LlmSpec endless = m;
    endless.window = {.layers = 31, .tokens = m.max_context};
    StepWork w = prefill(700, 3000, m);
    w.decode = {5, 5000.0 * static_cast<double>(m.kv_bytes_per_token()), 5000, 0, 3000};
    w.logit_tokens = 6;
    const StepTime all = StepTimer(gpu, link, profile, m, 2).time(w);
    const StepTime some = StepTimer(gpu, link, profile, endless, 2).time(w);
    EXPECT_EQ(some.total_s, all.total_s) << name;
    EXPECT_EQ(some.attention_s, all.attention_s) << name;
    const auto said = [](const StepTimer& timer) {
      return std::count_if(timer.fallbacks().begin(), timer.fallbacks().end(),
                           [](const std::string& f) { return f.starts_with("attention of layers with a window"); });
    };
    EXPECT_EQ(said(StepTimer(gpu, link, profile, endless, 2)), 1) << name;
    EXPECT_EQ(said(StepTimer(gpu, link, profile, m, 2)), 0) << name;
    EXPECT_EQ(endless.parameters(), m.parameters());
    EXPECT_EQ(endless.kv_bytes_per_token(), m.kv_bytes_per_token());
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
