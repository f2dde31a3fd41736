// Several query tokens a request in a decode step, and a step cut into layers: by hand on the tiny machine (100 B/s,
// 1000 FLOP/s; 1360 B of weights, of which 160 B are the LM head's and 256 B query, key and value projections).
#include "models/kernels/step_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "models/catalogue/catalogue.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_model;
using testing::tiny_timer;

double sum(const LayerTime& t) {
  return t.layers * (t.before_s + t.attention_s + t.after_s) + t.tail_s;
}

/// `requests` requests with `queries` query tokens each.
StepWork decode(double requests, double queries, double kv_bytes, double pairs) {
  StepWork w;
  w.decode = {requests * queries, kv_bytes, pairs, requests, 0};
  w.logit_tokens = requests * queries;
  return w;
}

TEST(SeveralQueryTokens, ReadTheKvOnceUnlessTheProfileSaysOtherwise) {
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile()).time(decode(1, 2, 500, 2)).attention_s, 5);
  KernelProfile p = ideal_profile();
  p.further_query_share.value = 0.5;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(decode(1, 1, 500, 1)).attention_s, 5);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(decode(1, 2, 500, 2)).attention_s, 7.5);  // 500 (1 + 0.5 (2 - 1)) B
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(decode(2, 4, 500, 8)).attention_s, 12.5);
  StepWork unsaid = decode(3, 1, 500, 3);
  unsaid.decode.requests = 0;  // one query token each
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(unsaid).attention_s, 5);
}

TEST(SeveralQueryTokens, VerificationReadsTheKvOnceWhateverDecodingDoes) {
  KernelProfile p = ideal_profile();
  p.further_query_share.value = 1;
  StepWork w;
  w.verify = {4, 500, 4, 1, 0};
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(w).attention_s, 5);
}

/// A profile with fitted forms and no launch that decoding shares with chunks.
KernelProfile fitted_profile() {
  const Catalogue catalogue = Catalogue::built_in();
  return catalogue.profile("h100-vllm");
}

class FittedQueryTokens : public ::testing::Test {
 protected:
  Catalogue catalogue_ = Catalogue::built_in();
  LlmSpec model_ = catalogue_.model("mistral-7b");
  KernelProfile profile_ = fitted_profile();
  [[nodiscard]] double attention_s(const StepWork& w) const {
    return StepTimer(catalogue_.gpu("h100-sxm"), {}, profile_, model_, 1).time(w).attention_s;
  }
};

TEST_F(FittedQueryTokens, StreamTheKvOfOneToken) {
  EXPECT_DOUBLE_EQ(attention_s(decode(32, 2, 32 * 1e9, 64 * 7600.0)),
                   attention_s(decode(32, 1, 32 * 1e9, 32 * 7600.0)));
}

TEST_F(FittedQueryTokens, ReadTheirShareAgain) {
  profile_.further_query_share.value = 1;
  EXPECT_DOUBLE_EQ(attention_s(decode(32, 2, 32 * 1e9, 64 * 7600.0)),
                   attention_s(decode(32, 1, 64 * 1e9, 32 * 7600.0)));
}

TEST_F(FittedQueryTokens, LeaveWhatWasFittedByTheBytesTheyMove) {
  // Three quarters of the KV that was fitted, a layer, moved twice where each token reads it.
  const double fitted = profile_.fitted.decode_attention.front().valid_to;
  const StepWork work = decode(32, 2, 32 * 0.75 * fitted, 64 * 7600.0);
  const auto within = [&] {
    return StepTimer(catalogue_.gpu("h100-sxm"), {}, profile_, model_, 1).time(work).within_domain;
  };
  EXPECT_TRUE(within());
  profile_.further_query_share.value = 1;
  EXPECT_FALSE(within());
}

TEST_F(FittedQueryTokens, TakeAtLeastTheirArithmetic) {
  // The KV of few bits: next to nothing to stream, so 64 query tokens a request compute for longer.
  const StepWork work = decode(32, 64, 1e6, 32 * 64 * 7600.0);
  StepWork verify;
  verify.verify = work.decode;
  EXPECT_DOUBLE_EQ(attention_s(work), attention_s(verify));
  EXPECT_GT(attention_s(work), 2 * attention_s(decode(32, 1, 1e6, 32 * 7600.0)));
  const double flops = work.decode.pairs * model_.attention_flops_per_pair();
  EXPECT_GE(attention_s(work), flops / catalogue_.gpu("h100-sxm").bf16_flops_per_s.value);
}

TEST(SeveralQueryTokens, ReadTheirShareAgainInALaunchSharedWithChunks) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec model = catalogue.model("mistral-7b");
  KernelProfile p = catalogue.profile("rtx-pro-6000-vllm");
  ASSERT_FALSE(p.fitted.mixed_attention.empty());
  const auto attention_s = [&](double kv_bytes) {
    StepWork w = decode(32, 2, kv_bytes, 64 * 7600.0);
    w.prefill = {64, 64 * 131072.0, 64 * 32.0, 1, 0};
    return StepTimer(catalogue.gpu("rtx-pro-6000"), {}, p, model, 1).time(w).attention_s;
  };
  const double once = attention_s(32e9);
  const double twice = attention_s(64e9);
  p.further_query_share.value = 1;
  EXPECT_GT(twice, once);
  EXPECT_DOUBLE_EQ(attention_s(32e9), twice);
}

TEST(HeadTime, IsARooflineOfItsOwn) {
  // Streaming: 160 B at 100 B/s, whatever the layers compute beside it.
  KernelProfile p = ideal_profile();
  EXPECT_NEAR(tiny_timer(p).time(decode(1, 1, 0, 0)).head_s, 1.6, 1e-12);
  StepWork prompt;
  prompt.prefill.query_tokens = 20;
  prompt.logit_tokens = 1;
  EXPECT_NEAR(tiny_timer(p).time(prompt).head_s, 1.6, 1e-12);
  p.linear_t0_s.value = 3;  // and one of the five calls
  EXPECT_NEAR(tiny_timer(p).time(decode(1, 1, 0, 0)).head_s, 4.6, 1e-12);
}

TEST(HeadTime, OfAFittedProfileIsThatOfItsShape) {
  const Catalogue catalogue = Catalogue::built_in();
  const StepTimer timer(catalogue.gpu("h100-sxm"), {}, fitted_profile(), catalogue.model("mistral-7b"), 1);
  StepWork with = decode(8, 1, 1e9, 8 * 7600.0);
  StepWork without = with;
  without.logit_tokens = 0;
  EXPECT_EQ(timer.time(without).head_s, 0);
  EXPECT_GT(timer.time(with).head_s, 0);
  EXPECT_DOUBLE_EQ(timer.time(with).linear_s - timer.time(with).head_s, timer.time(without).linear_s);
}

TEST(HeadTime, OfNarrowWeightsIsThatOf16Bits) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  const LlmSpec wide = catalogue.model("mistral-7b");
  LlmSpec narrow = wide;
  narrow.weight_bytes_per_parameter = 1;
  for (const char* profile : {"h100-vllm", "datasheet-generic"}) {
    const auto time = [&](const LlmSpec& m) {
      return StepTimer(gpu, {}, catalogue.profile(profile), m, 1).time(decode(8, 1, 1e9, 8 * 7600.0));
    };
    EXPECT_NEAR(time(narrow).head_s / time(wide).head_s, 1, 1e-12) << profile;
    EXPECT_LT(time(narrow).linear_s, time(wide).linear_s) << profile;
  }
}

TEST(LayerTime, ProjectionsComeBeforeAttentionAndTheRestAfter) {
  // Two layers of 600 multiplied parameters, 128 of them query, key and value projections (8 x (4 + 2 x 2) x 2), and a
  // head of 80: 2 B each at 100 B/s.
  LlmSpec m = tiny_model();
  m.layers = 2;
  KernelProfile p = ideal_profile();
  p.iteration_overhead_s.value = 3;
  StepWork w = decode(1, 1, 500, 1);
  w.extra_gpu_s = 4;
  const StepTimer timer = tiny_timer(p, m);
  const StepTime t = timer.time(w);
  const LayerTime layers = timer.layers(t, w);
  EXPECT_DOUBLE_EQ(layers.layers, 2);
  EXPECT_NEAR(layers.before_s, 2.56, 1e-9);
  EXPECT_NEAR(layers.attention_s, 2.5, 1e-9);
  EXPECT_NEAR(layers.after_s, (t.linear_s - t.head_s) / 2 - 2.56, 1e-9);
  EXPECT_NEAR(layers.tail_s, t.head_s + 3 + 4, 1e-9);
  EXPECT_NEAR(sum(layers), t.total_s, 1e-9);
}

TEST(LayerTime, KernelsLaunchedOneByOneAreWaitedForInEveryLayerAndAGraphOnceAPass) {
  KernelProfile p = ideal_profile();
  p.launch.kernel_s.value = 10;
  p.launch.graph_s.value = 0.5;
  const StepWork w = decode(2, 1, 500, 1);
  for (const std::int64_t captured_tokens : {1, 2}) {
    p.captured_tokens = captured_tokens;
    const StepTimer timer = tiny_timer(p), unlaunched = tiny_timer(ideal_profile());
    const StepTime t = timer.time(w);
    const LayerTime layers = timer.layers(t, w), without = unlaunched.layers(unlaunched.time(w), w);
    const double in_layers_s = captured_tokens == 1 ? t.launch_s / layers.layers : 0;
    ASSERT_GT(t.launch_s, 0);
    EXPECT_NEAR(layers.after_s, without.after_s + in_layers_s, 1e-9);
    EXPECT_NEAR(sum(layers), t.total_s, 1e-9);
  }
}

TEST(LayerTime, ExpertsReadComeAfterAttention) {
  // 128 parameters of projections, however many experts the tokens touch.
  LlmSpec m = tiny_model();
  m.moe = {4, 1, 0, 50, 0};
  const StepTimer timer = tiny_timer(ideal_profile(), m);
  for (const double tokens : {1.0, 2.0}) {
    const StepWork w = decode(tokens, 1, 0, 0);
    EXPECT_NEAR(timer.layers(timer.time(w), w).before_s, 2.56, 1e-9);
  }
}

TEST(LayerTime, LatentsComeBeforeAttentionUpToTheAbsorbedKeys) {
  // Queries 4 (8 + 20), the latent 8 (6 + 2), keys expanded from it 6 x 4 x 3: 248 parameters of 2 B at 100 B/s.
  LlmSpec m = tiny_model();
  m.attention = AttentionKind::mla;
  m.mla = {4, 6, 3, 2, 5};
  const StepTimer timer = tiny_timer(ideal_profile(), m);
  const StepWork w = decode(1, 1, 0, 0);
  EXPECT_NEAR(timer.layers(timer.time(w), w).before_s, 4.96, 1e-9);
}

TEST(LayerTime, AllReducesFollowAttentionAndWhatComesOnceIsAtTheEnd) {
  const StepTimer timer = tiny_timer(ideal_profile(), tiny_model(), 2);
  const StepWork w = decode(1, 1, 500, 1);
  const StepTime t = timer.time(w);
  ASSERT_GT(t.collectives_s, 0);
  const LayerTime layers = timer.layers(t, w);
  EXPECT_NEAR(layers.after_s, t.linear_s - t.head_s - layers.before_s + t.collectives_s - t.gathering_s, 1e-9);
  EXPECT_NEAR(layers.tail_s, t.head_s + t.gathering_s + t.overhead_s, 1e-9);
}

TEST(LayerTime, NormsAndRotaryAreCutWhereTheyRun) {
  // 7 s a call, and 100 B/s: a norm (64 B) and the rotary embedding (48 B) before, a norm and the activation (96 B)
  // after; embedding (32 B) and last norm outside.
  KernelProfile p = ideal_profile();
  p.machine.emplace();
  p.machine->memory_bytes_per_s.value = 100;
  p.machine->bf16_flops_per_s.value = 1000;
  p.fitted.elementwise = ElementwiseForm{7, {}, {}};
  p.fitted.elementwise->stream.bandwidth_efficiency = 1;
  const KernelProfile none = ideal_profile();
  const StepWork w = decode(1, 1, 0, 0);
  const LayerTime with = tiny_timer(p).layers(tiny_timer(p).time(w), w);
  const LayerTime without = tiny_timer(none).layers(tiny_timer(none).time(w), w);
  EXPECT_NEAR(with.before_s - without.before_s, 14 + 1.12, 1e-6);
  EXPECT_NEAR(with.after_s - without.after_s, 14 + 1.6, 1e-6);
  EXPECT_NEAR(with.tail_s - without.tail_s, 14 + 0.96, 1e-6);
}

TEST(LayerTime, OfNothingIsTheExtraKernels) {
  StepWork nothing;
  nothing.extra_gpu_s = 0.25;
  const StepTimer timer = tiny_timer(ideal_profile());
  const LayerTime t = timer.layers(timer.time(nothing), nothing);
  EXPECT_DOUBLE_EQ(t.before_s + t.attention_s + t.after_s, 0);
  EXPECT_DOUBLE_EQ(t.tail_s, 0.25);
}

TEST(Selection, ReadsTheScoresThreeTimesAtTheWeightsBandwidthWithoutAForm) {
  KernelProfile p = ideal_profile();
  p.linear_bandwidth_efficiency.value = 0.5;
  EXPECT_DOUBLE_EQ(tiny_timer(p).selection_s(100, 1, 4), 3 * 4 * 100 / 50.0);
  EXPECT_DOUBLE_EQ(tiny_timer(p).selection_s(0, 1, 4), 0);
}

TEST(Selection, LaunchesThreeKernelsALayer) {
  const Catalogue catalogue = Catalogue::built_in();
  const KernelProfile p = fitted_profile();
  ASSERT_TRUE(p.fitted.elementwise);
  const StepTimer timer(catalogue.gpu("h100-sxm"), {}, p, catalogue.model("mistral-7b"), 1);
  EXPECT_NEAR(timer.selection_s(1000, 1, 33) - timer.selection_s(1000, 1, 32), 3 * p.fitted.elementwise->t0_s, 1e-12);
}

RC_GTEST_PROP(LayerTimeProperty, LayersAndTailAddUpToTheStep, ()) {
  static const Catalogue catalogue = Catalogue::built_in();
  const auto any = [&](EntryKind kind) {
    const auto lines = catalogue.list(kind);
    return lines[*rc::gen::inRange<std::size_t>(0, lines.size())].name;
  };
  const GpuSpec gpu = catalogue.gpu(any(EntryKind::gpu));
  const LlmSpec model = catalogue.model(any(EntryKind::model));
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(any(EntryKind::profile)), model,
                        *rc::gen::element<std::int64_t>(1, 2, 4, 8));
  const double requests = *rc::gen::inRange(0, 500);
  const double context = *rc::gen::inRange(1, 100'000);
  StepWork w = decode(requests, *rc::gen::inRange(1, 4), requests * context * 1e5, requests * context);
  w.prefill.query_tokens = *rc::gen::inRange(0, 4096);
  w.prefill.pairs = w.prefill.query_tokens * context;
  w.logit_tokens = *rc::gen::inRange(0, 1024);
  w.extra_gpu_s = *rc::gen::inRange(0, 100) * 1e-4;
  const StepTime t = timer.time(w);
  const LayerTime layers = timer.layers(t, w);
  RC_ASSERT(t.head_s >= 0 && t.head_s <= t.linear_s * (1 + 1e-12));
  for (const double part : {layers.before_s, layers.attention_s, layers.after_s, layers.tail_s}) {
    RC_ASSERT(part >= -1e-12 * t.total_s);
  }
  RC_ASSERT(std::abs(sum(layers) - t.total_s) <= 1e-9 * t.total_s);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
