// Each operator of a step by hand: t = t0 + max(bytes / (eta BW), flops / (eta FLOPS)), on a GPU of 100 B/s and
// 1000 FLOP/s with a model of 1360 B of weights read and 680 multiplied parameters, 80 of them in the LM head.
#include "models/kernels/step_times.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_gpu;
using testing::tiny_link;
using testing::tiny_model;
using testing::tiny_timer;

StepWork one_decode(double kv_bytes = 0, double pairs = 0) {
  StepWork w;
  w.decode = {1, kv_bytes, pairs};
  w.logit_tokens = 1;
  return w;
}

TEST(StepTime, WithoutTokensIsTheExtraKernelsAlone) {
  KernelProfile p = ideal_profile();
  p.iteration_overhead_s.value = 3;
  p.linear_t0_s.value = 1;
  StepWork nothing;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(nothing).total_s, 0);
  nothing.extra_gpu_s = 0.25;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(nothing).total_s, 0.25);
}

TEST(StepTime, ThePartOfTokensIsTheSameWhicheverCameBefore) {
  const KernelProfile profile = ideal_profile();
  const StepTimer timer = tiny_timer(profile);
  StepTimes times(timer);
  for (const double tokens : {0.0, 8.0, 8.0, 72.0, 8.5, 8.0, 136.0, 0.0, 8.0}) {
    for (const double logit_tokens : {8.0, 3.0, 0.0}) {
      StepWork work;
      work.decode.query_tokens = tokens;
      work.logit_tokens = logit_tokens;
      for (const double sampled : {0.0, 2.0}) {
        work.sampled = sampled;
        const TokenTime expected = timer.token_time(work);
        const TokenTime& found = times.of(work);
        EXPECT_EQ(found.linear_s, expected.linear_s) << tokens;
        EXPECT_EQ(found.head_s, expected.head_s) << tokens;
        EXPECT_EQ(found.collectives_s, expected.collectives_s) << tokens;
        EXPECT_EQ(found.overhead_s, expected.overhead_s) << tokens;
      }
    }
  }
}

TEST(StepTime, OfGrowingContextsIsTheSameWhicheverCameBefore) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const auto& [gpu_name, model] : {std::pair{"h100-sxm", "llama-3.1-8b"}, {"h200", "deepseek-v3"}}) {
    const GpuSpec gpu = catalogue.gpu(gpu_name);
    const LlmSpec llm = catalogue.model(model);
    const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), llm, 1);
    StepTimes times(timer);
    double before = 0;
    for (int i = 0; i < 3000; ++i) {
      const double n = 1 + i / 1000 * 40, mean = 64 + i % 1000;
      StepWork work;
      work.decode = {n, n * mean * static_cast<double>(llm.kv_bytes_per_token()), n * mean, n, mean};
      work.logit_tokens = n;
      const double found = times.time(work).total_s;
      ASSERT_EQ(found, timer.time(work).total_s) << gpu_name << " " << n << " " << mean;
      if (i % 1000 == 0) before = 0;
      ASSERT_GE(found, before) << gpu_name << " " << n << " " << mean;
      before = found;
    }
  }
}

/// What is read between two whole lengths lies on the line between them; elsewhere the form itself says.
TEST(StepTime, OfFullKvIsLinearBetweenWholeLengths) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  const LlmSpec llm = catalogue.model("llama-3.1-8b");
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), llm, 1);
  const auto attention_s = [&](double mean, double more_bytes) {
    StepWork work;
    work.decode = {4, 4 * mean * static_cast<double>(llm.kv_bytes_per_token()) + more_bytes, 4 * mean, 4, mean};
    return timer.time(work).attention_s;
  };
  for (const double mean : {96.0, 4096.0, 32000.0}) {
    const double at = attention_s(mean, 0), next = attention_s(mean + 32, 0);
    EXPECT_NEAR(attention_s(mean + 8, 0), at + 0.25 * (next - at), 1e-12);
    EXPECT_NEAR(attention_s(mean, 1) / at, 1, 1e-6);  // not as stored: by the form
    EXPECT_NEAR(attention_s(mean + 16, 1) / attention_s(mean + 16, 0), 1, 1e-3);
  }
}

TEST(StepTime, FewTokensStreamTheWeights) {
  // 1360 B / 100 B/s = 13.6 s, more than 2 x 680 / 1000 = 1.36 s of arithmetic.
  const StepTime t = tiny_timer(ideal_profile()).time(one_decode());
  EXPECT_DOUBLE_EQ(t.linear_s, 13.6);
  EXPECT_DOUBLE_EQ(t.hbm_bound_s, 13.6);
  EXPECT_DOUBLE_EQ(t.total_s, 13.6);
}

TEST(StepTime, LinearArithmeticIsTheBodyPerTokenAndTheHeadPerLogit) {
  // 20 tokens, 1 logit: 20 x 2 x 600 / 1000 = 24 s and the head's 160 B / 100 B/s = 1.6 s, a kernel of its own; with
  // all 20 logits 20 x 2 x 680 / 1000 = 27.2 s; with none nothing of the head.
  StepWork w;
  w.prefill = {20, 0, 0};
  w.logit_tokens = 1;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile()).time(w).linear_s, 25.6);
  w.logit_tokens = 0;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile()).time(w).linear_s, 24);
  w.logit_tokens = 20;
  const StepTime t = tiny_timer(ideal_profile()).time(w);
  EXPECT_DOUBLE_EQ(t.linear_s, 27.2);
  EXPECT_DOUBLE_EQ(t.hbm_bound_s, 0);
}

TEST(StepTime, TheBatchCrossesFromMemoryToArithmeticAtTheRidge) {
  // 13.6 s of streaming against 1.36 s of arithmetic a token: equal at 10 tokens.
  const StepTimer timer = tiny_timer(ideal_profile());
  const auto linear_s = [&](double tokens) {
    StepWork w;
    w.decode.query_tokens = w.logit_tokens = tokens;
    return timer.time(w).linear_s;
  };
  EXPECT_DOUBLE_EQ(linear_s(1), 13.6);
  EXPECT_DOUBLE_EQ(linear_s(9), 13.6);
  EXPECT_NEAR(linear_s(10), 13.6, 1e-12);
  EXPECT_NEAR(linear_s(11), 14.96, 1e-12);
  EXPECT_NEAR(linear_s(100), 136, 1e-12);
}

TEST(StepTime, EfficienciesDivideThePeaks) {
  KernelProfile p = ideal_profile();
  p.linear_bandwidth_efficiency.value = 0.5;
  p.attention_bandwidth_efficiency.value = 0.25;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(one_decode()).linear_s, 27.2);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(one_decode(50, 1)).attention_s, 2);  // 50 B / (0.25 x 100 B/s)
}

TEST(StepTime, ComputeEfficiencyFollowsTokensInTheStepAndKeysAttendedTo) {
  KernelProfile p = ideal_profile();
  p.linear_compute_efficiency.points = {{20, 0.5}, {2000, 1}};
  p.attention_compute_efficiency.points = {{5, 0.5}, {500, 1}};
  StepWork w;
  w.prefill = {20, 0, 100};  // each attends to 5 keys
  w.logit_tokens = 20;
  const StepTime t = tiny_timer(p).time(w);
  EXPECT_DOUBLE_EQ(t.linear_s, 54.4);    // 27.2 s at half the peak
  EXPECT_DOUBLE_EQ(t.attention_s, 6.4);  // 100 x 32 / (0.5 x 1000)
}

TEST(StepTime, FixedTimesAreOnePerLinearCallAndOnePerLayerAndKindOfAttention) {
  // Two layers: 2 x (QKV, output, gate+up, down) + LM head = 9 calls.
  LlmSpec m = tiny_model();
  m.layers = 2;
  KernelProfile p = ideal_profile();
  const StepTime without = tiny_timer(p, m).time(one_decode(1, 1));
  p.linear_t0_s.value = 1;
  p.attention_t0_s.value = 10;
  p.iteration_overhead_s.value = 0.5;
  const StepTime one = tiny_timer(p, m).time(one_decode(1, 1));
  EXPECT_DOUBLE_EQ(one.linear_s - without.linear_s, 9);
  EXPECT_DOUBLE_EQ(one.attention_s - without.attention_s, 20);
  EXPECT_DOUBLE_EQ(one.overhead_s, 0.5);
  StepWork mixed = one_decode(1, 1);
  mixed.verify = {3, 1, 1};
  mixed.prefill = {3, 1, 1};
  EXPECT_NEAR(tiny_timer(p, m).time(mixed).attention_s, 3 * one.attention_s, 1e-9);
}

TEST(StepTime, ExpertsAndLatentsHaveTheirOwnCalls) {
  KernelProfile p = ideal_profile();
  const auto calls = [&](const LlmSpec& m) {
    p.linear_t0_s.value = 0;
    const double without = tiny_timer(p, m).time(one_decode()).linear_s;
    p.linear_t0_s.value = 1;
    return tiny_timer(p, m).time(one_decode()).linear_s - without;
  };
  LlmSpec m = tiny_model();
  m.layers = 3;
  EXPECT_NEAR(calls(m), 3 * 4 + 1, 1e-9);
  // One dense layer, two of router and two grouped products.
  m.moe = {.experts = 4, .experts_per_token = 2, .expert_intermediate = 5, .dense_layers = 1};
  EXPECT_NEAR(calls(m), 3 * 2 + 1 * 2 + 2 * 3 + 1, 1e-9);
  m.moe.shared_experts = 1;
  EXPECT_NEAR(calls(m), 3 * 2 + 1 * 2 + 2 * 5 + 1, 1e-9);
  m.attention = AttentionKind::mla;  // four projections in place of two
  m.mla = {4, 6, 3, 2, 5};
  EXPECT_NEAR(calls(m), 3 * 4 + 1 * 2 + 2 * 5 + 1, 1e-9);
}

TEST(StepTime, RoutedExpertsHaveARooflineOfTheirOwn) {
  // 40 experts of 3 x 8 x 50 parameters in 2 bytes, of which 30 tokens reach nearly all: reading them takes longer than
  // computing, and the arithmetic of all else longer than reading that.
  LlmSpec m = tiny_model();
  m.moe = {.experts = 40, .experts_per_token = 1, .expert_intermediate = 50};
  StepWork w;
  w.decode = {30, 0, 0, 30};
  const double touched = m.experts_touched(30), expert = 3 * 8 * 50;
  const double experts_s = touched * expert * 2 / 100;
  EXPECT_GT(experts_s, 30 * expert * 2 / 1000);
  const double others = static_cast<double>(m.active_parameters()) - expert - 80;  // without the LM head
  EXPECT_GT(30 * 2 * others / 1000, 2 * (others + 80) / 100);
  EXPECT_NEAR(tiny_timer(ideal_profile(), m).time(w).linear_s, experts_s + 30 * 2 * others / 1000, 1e-9);
}

TEST(StepTime, AttentionReadsKvOrComputesPairs) {
  // 500 B / 100 B/s = 5 s against 10 pairs x 32 FLOPs / 1000 = 0.32 s; with 1000 pairs 32 s.
  const StepTimer timer = tiny_timer(ideal_profile());
  const StepTime reading = timer.time(one_decode(500, 10));
  EXPECT_DOUBLE_EQ(reading.attention_s, 5);
  EXPECT_DOUBLE_EQ(reading.hbm_bound_s, 13.6 + 5);
  const StepTime computing = timer.time(one_decode(500, 1000));
  EXPECT_DOUBLE_EQ(computing.attention_s, 32);
  EXPECT_DOUBLE_EQ(computing.hbm_bound_s, 13.6);
}

TEST(StepTime, EachKindOfAttentionHasItsOwnRoofline) {
  // 5 s of reading and 32 s of arithmetic add up where they are separate kernels, and overlap in one.
  StepWork w = one_decode(500, 0);
  w.verify = {1, 0, 1000};
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile()).time(w).attention_s, 37);
}

TEST(StepTime, PartsAddUpToTheTotal) {
  KernelProfile p = ideal_profile();
  p.linear_t0_s.value = 1;
  p.attention_t0_s.value = 2;
  p.iteration_overhead_s.value = 3;
  StepWork w = one_decode(500, 10);
  w.extra_gpu_s = 4;
  const StepTime t = tiny_timer(p, tiny_model(), 2).time(w);
  EXPECT_DOUBLE_EQ(t.overhead_s, 7);
  EXPECT_DOUBLE_EQ(t.total_s, t.linear_s + t.attention_s + t.collectives_s + t.overhead_s);
  const double fixed = 5 * 1 + 1 * 2;
  EXPECT_DOUBLE_EQ(t.linear_s + t.attention_s, t.hbm_bound_s + fixed);
}

TEST(StepTime, ACapturedStepTakesALaunchMoreAndALargerOneAtLeastThatOfItsKernels) {
  KernelProfile p = ideal_profile();
  p.captured_tokens = 1;
  const double plain_s = tiny_timer(p).time(one_decode()).total_s;
  StepWork two = one_decode();
  two.decode.query_tokens = 2;
  const double two_s = tiny_timer(p).time(two).total_s;
  p.launch.graph_s.value = 0.5;
  p.launch.kernel_s.value = 1e-3;  // less than the kernels take
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(one_decode()).total_s, plain_s + 0.5);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(one_decode()).launch_s, 0.5);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(two).total_s, two_s);
  p.launch.kernel_s.value = 10;
  // A layer has four products, writing keys and values, attention, two norms, rotary embedding and activation; a step
  // the LM head, the sampler, the embedding and the last norm.
  const double kernels = 10 * static_cast<double>(tiny_model().layers) + 4;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(two).total_s, 10 * kernels);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(StepWork{}).total_s, 0);
}

TEST(StepTime, QuantisedKvIsUnpackedByEveryQueryHeadAndWalkedTokenByToken) {
  KernelProfile p = ideal_profile();
  GpuSpec gpu = tiny_gpu();
  gpu.multiprocessors.value = 2;
  const auto seconds = [&](const StepWork& work) {
    return StepTimer(gpu, tiny_link(), p, tiny_model(), 1).time(work).total_s;
  };
  StepWork whole = one_decode(160, 10), quantised = whole;
  quantised.decode.quantised = 10;
  const double reading_s = seconds(whole);
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s) << "nobody says that it takes time";
  p.quantised = QuantisedKernel{};
  p.quantised->layer_s.value = 3;
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s + 3);
  EXPECT_DOUBLE_EQ(seconds(whole), reading_s);
  p.quantised->elements_per_s.value = 8;  // 10 tokens x 4 heads x 2 x 2 elements, by two multiprocessors
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s + 3 + 10);
  p.quantised->token_s.value = 0.5;
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s + 3 + 10) << "the longer of the two";
  p.quantised->token_s.value = 2;
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s + 3 + 20);
  StepWork two = quantised;  // two query tokens of one request
  two.decode.query_tokens = 2;
  two.decode.requests = 1;
  two.decode.quantised = 20;
  const QuantisedKernel& kernel = *p.quantised;
  EXPECT_DOUBLE_EQ(kernel.layer_time_s(two, 4, 4, 2), kernel.layer_time_s(quantised, 4, 4, 2)) << "unpacked once";
  quantised.decode.longest_kv = 20;
  EXPECT_DOUBLE_EQ(seconds(quantised), reading_s + 3 + 40);
}

TEST(StepTime, AStepWithAChunkIsLaunchedKernelByKernelWhereOnlyDecodingIsCaptured) {
  KernelProfile p = ideal_profile();
  p.captured_tokens = 100;
  p.launch.graph_s.value = 0.5;
  p.launch.kernel_s.value = 10;
  StepWork chunk;
  chunk.prefill = {4, 400, 10};
  chunk.logit_tokens = 1;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(chunk).launch_s, 0.5);
  p.launch.chunks_captured = false;
  const double kernels = 10 * static_cast<double>(tiny_model().layers) + 4;
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(chunk).total_s, 10 * kernels);
  EXPECT_DOUBLE_EQ(tiny_timer(p).time(one_decode()).launch_s, 0.5);
}

TEST(StepTime, KernelsThatAreLaunchedAreCounted) {
  // How many more there are than the tiny model's 10 a layer and 4 a step.
  const auto more = [](const LlmSpec& m, std::int64_t gpus, bool fused = false) {
    KernelProfile p = ideal_profile();
    p.captured_tokens = 0;
    p.launch.kernel_s.value = 1000;
    p.fused = {fused, fused};
    return tiny_timer(p, m, gpus).time(one_decode()).total_s / 1000 - (10 * static_cast<double>(m.layers) + 4);
  };
  const auto layers = static_cast<double>(tiny_model().layers);
  EXPECT_DOUBLE_EQ(more(tiny_model(), 1), 0);
  EXPECT_DOUBLE_EQ(more(tiny_model(), 2), 2 * layers);  // all-reduces
  EXPECT_DOUBLE_EQ(more(tiny_model(), 2, true), 0);     // in place of norms
  LlmSpec routed = tiny_model();
  routed.moe = {4, 1, 0, 50, 0};
  // Router and two products for gate+up and down; choosing, sorting (two), activation and sum for the activation.
  EXPECT_DOUBLE_EQ(more(routed, 1), (1 + 4) * layers);
  LlmSpec narrow = tiny_model();
  narrow.weight_bytes_per_parameter = 1;
  EXPECT_DOUBLE_EQ(more(narrow, 1), 4 * layers);  // inputs of four products quantised; those of the LM head are not
  EXPECT_DOUBLE_EQ(more(narrow, 1, true), 0);
}

TEST(StepTime, ExpertsReadGrowWithTheTokensOfTheStep) {
  LlmSpec m = tiny_model();
  m.moe = {4, 1, 0, 50, 0};
  KernelProfile p = ideal_profile();
  const double one = tiny_timer(p, m).time(one_decode()).linear_s;
  StepWork two = one_decode();
  two.decode.query_tokens = 2;
  // 4 (1 - (3/4)^2) = 1.75 experts of 3 x 8 x 50 parameters instead of 1, 2 B each.
  EXPECT_NEAR(tiny_timer(p, m).time(two).linear_s - one, 0.75 * 1200 * 2 / 100, 1e-9);
}

TEST(StepTime, NarrowWeightsComputeAtTheFp8RateWhereTheGpuHasOne) {
  LlmSpec m = tiny_model();
  m.weight_bytes_per_parameter = 1;
  StepWork w;
  w.prefill.query_tokens = w.logit_tokens = 100;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), m).time(w).linear_s, 100 * (1200 / 4000.0 + 160 / 1000.0));
  m.stated_head_format = NumberFormat::fp8;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), m).time(w).linear_s, 100 * 1360 / 4000.0);
  LlmSpec unknown = m;  // turned into 16 bits on their way
  unknown.stated_head_format.reset();
  unknown.weight_bytes_per_parameter = 0.53125;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), unknown).time(w).linear_s, 100 * 1360 / 1000.0);
  GpuSpec old = tiny_gpu();
  old.fp8_flops_per_s.value = 0;
  EXPECT_DOUBLE_EQ(StepTimer(old, tiny_link(), ideal_profile(), m, 1).time(w).linear_s, 100 * 1360 / 1000.0);
}

TEST(StepTime, LayersThatShareKvReadWhatTheyDoNotKeep) {
  LlmSpec m = tiny_model();
  m.layers = 6;
  const LlmSpec all = m;
  m.shared_kv_layers = 2;
  const auto attention_s = [](const LlmSpec& model, double tokens) {
    return tiny_timer(ideal_profile(), model)
        .time(one_decode(tokens * static_cast<double>(model.kv_bytes_per_token()), tokens))
        .attention_s;
  };
  EXPECT_DOUBLE_EQ(attention_s(m, 500), 500 * 6 * 16 / 100.0);
  EXPECT_DOUBLE_EQ(attention_s(m, 500), attention_s(all, 500));
}

TEST(StepTime, NarrowWeightsLeaveAttentionAtTheBf16Rate) {
  LlmSpec narrow = tiny_model();
  narrow.weight_bytes_per_parameter = 1;
  StepWork w;
  w.prefill.query_tokens = 100;
  w.prefill.pairs = 100 * 1000.0;
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), narrow).time(w).attention_s,
                   tiny_timer(ideal_profile(), tiny_model()).time(w).attention_s);
}

TEST(StepTime, ThePublishedExampleTakesThirtyFiveMilliseconds) {
  // 50 GB of weights and ten compressed contexts of 1 GB at 0.96 x 1792 GB/s: 60 / 1720.32 = 34.9 ms.
  const Catalogue catalogue = Catalogue::built_in();
  LlmSpec m = catalogue.model("mistral-24b");
  m.weight_bytes_override = 50'000'000'000;
  KernelProfile p = ideal_profile();
  p.linear_bandwidth_efficiency.value = p.attention_bandwidth_efficiency.value = 0.96;
  const StepTimer timer(catalogue.gpu("rtx-pro-6000"), tiny_link(), p, m, 1);
  StepWork draft;
  draft.decode = {10, 10e9, 10 * 6100.0};
  draft.logit_tokens = 10;
  EXPECT_NEAR(timer.time(draft).total_s, 60e9 / (0.96 * 1792e9), 1e-12);
  EXPECT_NEAR(timer.time(draft).total_s, 34.9e-3, 0.05e-3);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
