// Latent attention (MLA): the shapes of its two kernels, and what a step asks of their forms.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/calibration/latent_fit.h"
#include "models/catalogue/catalogue.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kPerLayer = 61;
constexpr double kTokenBytes = 576 * 2.0;  // of one layer's latent in bf16

class LatentTimes : public ::testing::Test {
 protected:
  LatentTimes() {
    model_.stated_weight_format = NumberFormat::bf16;
    model_.weight_bytes_per_parameter = 2;
    model_.kv_bytes_per_element = 2;
  }
  [[nodiscard]] StepTimer timer(std::int64_t gpus) const {
    return {gpu_, catalogue_.link(gpu_.peer_link), profile_, model_, gpus};
  }
  [[nodiscard]] const DecodeForm& decode() const { return profile_.fitted.latent_decode_attention.front(); }
  [[nodiscard]] const TiledForm& prefill() const { return profile_.fitted.latent_prefill_attention.front(); }
  /// Decoding requests with so many tokens of KV each.
  static void add_decodes(StepWork& work, double requests, double kv) {
    work.decode = {requests, requests * kv * kTokenBytes * kPerLayer, requests * kv, requests, kv};
  }
  static void add_chunk(StepWork& work, double tokens, double before) {
    work.chunks.push_back({tokens, before});
    work.prefill.query_tokens += tokens;
    work.prefill.pairs += tokens * (before + (tokens + 1) / 2);
    work.prefill.kv_bytes += (before + tokens) * kTokenBytes * kPerLayer;
  }
  [[nodiscard]] double layer_s(const StepWork& work, std::int64_t gpus = 8) const {
    return timer(gpus).time(work).attention_s / kPerLayer;
  }

  Catalogue catalogue_ = Catalogue::built_in();
  GpuSpec gpu_ = catalogue_.gpu("h100-sxm");
  KernelProfile profile_ = catalogue_.profile("h100-vllm");
  LlmSpec model_ = catalogue_.model("deepseek-v3");
  Machine machine_ = machine_for(gpu_, profile_);
};

TEST(LatentShapes, CountTheArithmeticOfTheAbsorbedAndTheExpandedKernel) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec model = catalogue.model("deepseek-v3");
  // 512 + 64 elements of keys, 512 of them values: 2 (576 + 512) FLOPs for a pair and head.
  const HeadShape absorbed = absorbed_shape(model.mla, 16);
  EXPECT_EQ(absorbed.heads, 16);
  EXPECT_EQ(absorbed.kv_heads, 1);
  EXPECT_DOUBLE_EQ(4 * absorbed.head_dim, 2 * (576 + 512));
  EXPECT_DOUBLE_EQ(4 * 128 * absorbed.head_dim * kPerLayer, model.attention_flops_per_pair());
  // Keys of 128 + 64, values of 128, for every head.
  const HeadShape expanded = expanded_shape(model.mla, 16);
  EXPECT_EQ(expanded.kv_heads, 16);
  EXPECT_DOUBLE_EQ(4 * expanded.head_dim, 2 * (192 + 128));
}

TEST(LatentShapes, QueryTokensOfARequestShareItsWalksAsHeadsDo) {
  DecodeForm form;
  form.t0_s = 40e-6;
  form.per_head_s = 2e-9;
  form.stream.bandwidth_efficiency = 0.9;
  form.walk = {4, 0.5, 0.5, 2e-6, 128, 4, 20e-9, 0, true};
  const Machine machine = Catalogue::built_in().profile("h100-vllm").machine->peaks();
  DecodeCall one{8, 64, 8 * 4096 * kTokenBytes, 4096, 0, 1, 544};
  DecodeCall four{8, 16, 8 * 4096 * kTokenBytes, 4096, 0, 1, 544, 4};
  EXPECT_DOUBLE_EQ(form.time(one, machine, false).seconds, form.time(four, machine, false).seconds);
  form.per_token_s = 1e-6;
  form.per_request_doubling_s = 3e-6;
  EXPECT_NEAR(form.time(four, machine, false).seconds - form.time(one, machine, false).seconds, (32 - 8) * 1e-6, 1e-12);
  DecodeForm plain = form;
  plain.per_request_doubling_s = 0;
  EXPECT_NEAR(form.time(one, machine, false).seconds - plain.time(one, machine, false).seconds, 3 * 3e-6, 1e-12);
}

TEST_F(LatentTimes, ALayerOfDecodingIsTheFormForItsHeads) {
  StepWork work;
  add_decodes(work, 32, 4096);
  const DecodeCall call{32, 16, 32 * 4096 * kTokenBytes, 4096, 0, 1, 544};
  EXPECT_NEAR(layer_s(work) / decode().time(call, machine_, false).seconds, 1, 1e-9);
  const StepTimer step = timer(8);
  for (const std::string& text : step.fallbacks()) EXPECT_EQ(text.find("attention:"), std::string::npos) << text;
}

TEST_F(LatentTimes, TheLatentIsReadWholeByEveryGpu) {
  StepWork work;
  add_decodes(work, 64, 32768);
  // 2.4 GB a layer at 3.35 TB/s take longer than anything that heads divide.
  EXPECT_GT(layer_s(work, 8), 0.85 * layer_s(work, 1));
}

TEST_F(LatentTimes, NothingOfABlockIsCountedTwice) {
  // Rows are fitted as form + linear layers; a step's attention and the linear layers of its attention blocks are the
  // same sum. Without L2 a benchmark's block is a step's.
  LinearForm linear = *form_for(profile_.fitted.linear, &LinearForm::weights, NumberFormat::bf16);
  linear.benchmark = {};
  const DecodeCall call{16, 16, 16 * 2048 * kTokenBytes, 2048, 0, 1, 544};
  const double row_s = decode().time(call, machine_, false).seconds + block_linear_s(linear, 16, 16, machine_);
  StepWork work;
  add_decodes(work, 16, 2048);
  double step_s = layer_s(work);
  const double kLayers = kPerLayer;
  for (const LinearShape& s : attention_shapes(model_, 8)) {
    step_s += s.calls / kLayers * linear.time(16, s.n, s.k, machine_).seconds;
  }
  EXPECT_NEAR(step_s / row_s, 1, 1e-9);
  // body_shapes() has these linear layers once, and no other of an attention block.
  const std::vector<LinearShape> body = body_shapes(model_, 8);
  const std::vector<LinearShape> of_attention = attention_shapes(model_, 8);
  for (const LinearShape& s : of_attention) {
    EXPECT_EQ(std::count_if(body.begin(), body.end(), [&](const LinearShape& b) { return b.n == s.n && b.k == s.k; }),
              1);
  }
}

TEST_F(LatentTimes, TheRotaryEmbeddingIsInTheForm) {
  StepWork work;
  add_decodes(work, 16, 2048);
  const double with_form = timer(8).time(work).overhead_s;
  profile_.fitted.latent_decode_attention.clear();
  const double with_roofline = timer(8).time(work).overhead_s;
  const auto kernels = elementwise_kernels(model_, 8);
  const auto rotary = std::find_if(kernels.begin(), kernels.end(),
                                   [](const ElementwiseKernel& k) { return std::string(k.name) == "rotary_emb"; });
  const double expected = kPerLayer * profile_.fitted.elementwise->seconds(rotary->bytes_per_token * 16, machine_);
  EXPECT_NEAR((with_roofline - with_form) / expected, 1, 1e-6);
}

TEST_F(LatentTimes, ShortChunksAreAbsorbedAndLongOnesExpanded) {
  profile_.fitted.latent_decode_attention.front().chunks_up_to = 512;
  StepWork at, just_above;
  add_chunk(just_above, 513, 1000);
  add_chunk(at, 512, 1000);
  const DecodeCall call{1, 16, 1512 * kTokenBytes, 1000 + 256.5, 0, 1, 544, 512};
  EXPECT_NEAR(layer_s(at) / decode().time(call, machine_, false).seconds, 1, 1e-9);
  EXPECT_NEAR(layer_s(just_above) / layer_s(at), 1, 1e-9) << "expanded it would be done sooner than 512 tokens";
  StepWork above;
  add_chunk(above, 2049, 0);
  const HeadShape shape = expanded_shape(model_.mla, 16);
  TiledCall tiles;
  prefill().add_chunk(tiles, 2049, 0, shape);
  EXPECT_NEAR(layer_s(above) / prefill().time(tiles, shape, machine_).seconds, 1, 1e-9);
}

TEST_F(LatentTimes, LayersThatSelectTokensTakeTheFasterWayAndNeverLessForMore) {
  model_ = catalogue_.model("deepseek-v3.2");
  gpu_ = catalogue_.gpu("b200");
  profile_ = catalogue_.profile("b200-vllm");  // whose engine expands chunks of all lengths
  const StepTimer step = timer(8);
  double before_s = 0;
  for (double before = 1900; before < 2300; before += 7) {
    StepWork work;
    add_chunk(work, 16, before);
    leave_out(work.prefill, model_.window, before, 16);
    const double s = step.time(work).attention_s;
    EXPECT_GE(s, before_s * 0.999) << before;
    before_s = s;
  }
}

TEST_F(LatentTimes, EarlierContextIsExpandedAgain) {
  StepWork work;
  add_chunk(work, 2048, 16384);
  const HeadShape shape = expanded_shape(model_.mla, 16);
  TiledCall tiles;
  prefill().add_chunk(tiles, 2048, 16384, shape);
  const double attention_s = prefill().time(tiles, shape, machine_).seconds;
  // 16 heads of 128 + 128 out of 512, for 16,384 tokens: 69 GFLOP.
  const LinearForm& linear = *form_for(profile_.fitted.linear, &LinearForm::weights, NumberFormat::bf16);
  const double expansion_s = linear.time(16384, 16 * 256, 512, machine_).seconds;
  EXPECT_NEAR(layer_s(work) / (attention_s + expansion_s), 1, 1e-3);
  EXPECT_GT(expansion_s, 69e9 / 989e12);
}

TEST_F(LatentTimes, AStepOfBothPaysWhatSurroundsAttentionOnce) {
  StepWork decoding, prefilling, both;
  add_decodes(decoding, 32, 4096);
  add_chunk(prefilling, 2048, 0);
  add_decodes(both, 32, 4096);
  add_chunk(both, 2048, 0);
  const double apart_s = layer_s(decoding) + layer_s(prefilling);
  EXPECT_NEAR(layer_s(both), apart_s - std::min(decode().t0_s, prefill().t0_s), 1e-12);
}

TEST_F(LatentTimes, VerifyingReadsTheLatentOnceAndComputesMore) {
  StepWork one, four;
  add_decodes(one, 4, 65536);
  four.verify = {16, one.decode.kv_bytes, 4 * one.decode.pairs, 4, 65536};
  // 16 heads of one token are a tile of 16 rows, of four tokens four such tiles.
  EXPECT_GE(layer_s(four), layer_s(one));
  EXPECT_LT(layer_s(four), 3.9 * layer_s(one));
}

TEST_F(LatentTimes, WithoutFormsOfItsKvItIsARooflineAndSaysSo) {
  profile_.fitted.latent_prefill_attention.clear();
  const auto said = [](const StepTimer& timer, const char* what) {
    const auto& texts = timer.fallbacks();
    return std::any_of(texts.begin(), texts.end(),
                       [&](const std::string& text) { return text.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(said(timer(8), "attention: the profile has no fitted forms for a latent;"));
  profile_ = catalogue_.profile("l40s-vllm");
  model_.kv_bytes_per_element = 1;
  EXPECT_TRUE(said(timer(8), "attention: the profile has no fitted forms for a fp8 KV cache of a latent;"));
}

TEST_F(LatentTimes, LongerContextsAndMoreRequestsNeverTakeLess) {
  for (const char* name : {"h100-vllm", "h200-vllm", "b200-vllm", "gb200-vllm", "l40s-vllm", "rtx-pro-6000-vllm"}) {
    profile_ = catalogue_.profile(name);
    gpu_ = catalogue_.gpu(profile_.measured_on);
    const StepTimer step = timer(8);
    for (double requests = 1; requests <= 512; requests *= 2) {
      double before_s = 0;
      for (double kv = 16; kv <= 131072; kv *= 2) {
        StepWork work;
        add_decodes(work, requests, kv);
        const double s = step.time(work).attention_s;
        EXPECT_GE(s, before_s) << name << " " << requests << " x " << kv;
        before_s = s;
      }
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
