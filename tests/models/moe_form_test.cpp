// Routed experts by hand: who is reached, what that takes, on a machine of 100 B/s, 1000 FLOP/s and 10 multiprocessors.
#include "models/kernels/moe_form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

#include "models/catalogue/catalogue.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/step_time.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

Machine small_machine() {
  Machine m;
  m.memory_bytes_per_s = 100;
  m.bf16_flops_per_s = 1000;
  m.fp8_flops_per_s = 2000;
  m.l2_bytes = 1000;
  m.multiprocessors = 10;
  return m;
}

/// 16 experts of 3 x 4 x 8 weights, two of them for each token.
ExpertLayer small_layer() {
  ExpertLayer l;
  l.hidden = 4;
  l.intermediate = 8;
  l.top_k = 2;
  l.experts = 16;
  return l;
}

MoeForm one_tile() {
  MoeForm f;
  f.blend_power = 64;
  f.wave_quantisation = 0;
  f.io_efficiency = 50;
  f.tiles = {{16, 4, 1}};
  return f;
}

MoeCall at_random(const ExpertLayer& layer, double tokens) {
  return {layer, tokens, routed_at_random(layer, tokens)};
}

TEST(Routing, OneTokenReachesItsExpertsAndManyReachAll) {
  for (const auto& call : {MoeCall{small_layer(), 1, routed_evenly(small_layer(), 1)}, at_random(small_layer(), 1),
                           MoeCall{small_layer(), 1, routed_by_power_law(small_layer(), 1, 1.2)}}) {
    EXPECT_NEAR(call.reached(), 2, 1e-9);
    EXPECT_NEAR(call.pairs(), 2, 1e-9);
  }
  for (const auto& call :
       {MoeCall{small_layer(), 4096, routed_evenly(small_layer(), 4096)}, at_random(small_layer(), 4096),
        MoeCall{small_layer(), 4096, routed_by_power_law(small_layer(), 4096, 1.2)}}) {
    EXPECT_NEAR(call.reached(), 16, 1e-9);
    EXPECT_NEAR(call.pairs(), 8192, 1e-6);
  }
}

TEST(Routing, EvenlyEachPairHasAnExpertOfItsOwnUntilAllAreReached) {
  EXPECT_EQ(routed_evenly(small_layer(), 5)[0].experts, 10);
  EXPECT_EQ(routed_evenly(small_layer(), 8)[0].experts, 16);
  EXPECT_EQ(routed_evenly(small_layer(), 24)[0].tokens, 3);
}

TEST(Routing, AtRandomExpertsAreReachedAsIndependentChoicesDo) {
  const MoeCall call = at_random(small_layer(), 5);
  EXPECT_NEAR(call.reached(), 16 * (1 - std::pow(1 - 2.0 / 16, 5)), 1e-9);
  EXPECT_NEAR(call.pairs(), 10, 1e-9);
}

TEST(Routing, APowerLawReachesFewerThanEvenAndGivesTheFullestGpuMoreThanItsShare) {
  ExpertLayer layer = small_layer();
  layer.experts = 128;
  layer.top_k = 8;
  EXPECT_LT((MoeCall{layer, 16, routed_by_power_law(layer, 16, 1.2)}.reached()), 100);
  layer.expert_parallel = 8;
  const MoeCall fullest{layer, 1000, routed_by_power_law(layer, 1000, 1.2)};
  EXPECT_GT(fullest.pairs(), 1.2 * 1000);
  EXPECT_LE(fullest.pairs(), 8000);
  EXPECT_LE(fullest.reached(), 16);
  for (const ExpertGroup& g : fullest.routed) EXPECT_LE(g.tokens, 1000);  // no token chooses an expert twice
}

TEST(MoeForm, FewTokensReadTheWeightsOfTheExpertsTheyReach) {
  // One token: 2 experts of 96 weights, 2 B each: 384 B.
  MoeForm narrow = one_tile();
  narrow.tiles = {{1, 4, 1}};  // 2 x (4 x 2 x 4 x 4 + 2 x 4 x 8) FLOPs: 0.38 s
  const FormTime one = narrow.time(at_random(small_layer(), 1), small_machine(), false);
  const double io = 2 * (2 * 4 + 2.0 * (2 * 3 * 8 + 2 * 4)) / (50 * 100);
  EXPECT_NEAR(one.seconds, 3.84 + io, 1e-6);
  EXPECT_TRUE(one.memory_bound);
  MoeForm fixed = narrow;
  fixed.t0_s = 1;
  fixed.per_expert_s = 0.5;
  fixed.per_doubling_s = 2;
  EXPECT_NEAR(fixed.time(at_random(small_layer(), 1), small_machine(), false).seconds - one.seconds, 1 + 8 + 2, 1e-9);
}

TEST(MoeForm, ManyTokensFillTiles) {
  // 512 tokens evenly: 64 an expert, 4 row tiles each, 64 in all; gate and up have 4 columns of tiles of 2 x 16 x 4 x 4
  // FLOPs, down has one of 2 x 16 x 4 x 8.
  const MoeCall call{small_layer(), 512, routed_evenly(small_layer(), 512)};
  const FormTime t = one_tile().time(call, small_machine(), false);
  const double io = 2 * (2 * 512 * 4 + 1024.0 * (2 * 3 * 8 + 2 * 4)) / (50 * 100);
  EXPECT_NEAR(t.seconds, 64 * (4 * 512 + 1024) / 1000.0 + io, 1e-6);
  EXPECT_FALSE(t.memory_bound);
}

TEST(MoeForm, ShardsDivideTheWorkOfAGpu) {
  const MoeForm form = one_tile();
  ExpertLayer apart = small_layer();
  apart.expert_parallel = 4;
  const MoeCall whole{small_layer(), 512, routed_evenly(small_layer(), 512)};
  const MoeCall quarter{apart, 512, routed_evenly(apart, 512)};
  EXPECT_DOUBLE_EQ(quarter.reached(), 4);
  EXPECT_DOUBLE_EQ(quarter.pairs(), 256);
  ExpertLayer within = small_layer();
  within.tensor_parallel = 2;
  const MoeCall half{within, 512, whole.routed};
  MoeForm silent = form;  // activations are not divided within experts
  silent.io_efficiency = 1e9;
  const double all = silent.time(whole, small_machine(), false).seconds;
  EXPECT_NEAR(silent.time(quarter, small_machine(), false).seconds, all / 4, 1e-6);
  EXPECT_NEAR(silent.time(half, small_machine(), false).seconds, all / 2, 1e-6);
  // Pairs of other GPUs pass through this one's activations where the library does not leave them out.
  MoeForm all_pass = form;
  all_pass.foreign_share = 1;
  EXPECT_GT(all_pass.time(quarter, small_machine(), false).seconds, form.time(quarter, small_machine(), false).seconds);
}

TEST(MoeForm, WarmWeightsComeFromL2WhereTheyFit) {
  MoeForm f = one_tile();
  f.tiles = {{1, 4, 1}};
  f.stream.l2_efficiency = 4;
  f.stream.l2_width = 0.05;
  const MoeCall call = at_random(small_layer(), 1);
  EXPECT_LT(f.time(call, small_machine(), true).seconds, 0.3 * f.time(call, small_machine(), false).seconds);
}

RC_GTEST_PROP(MoeFormProperty, MoreTokensNeverTakeLess, ()) {
  static const Catalogue catalogue = Catalogue::built_in();
  const KernelProfile profile = catalogue.profile("h100-vllm");
  RC_ASSERT(!profile.fitted.moe.empty());
  const LlmSpec model = catalogue.model("qwen3-30b-a3b");
  const auto gpus = *rc::gen::element(1.0, 2.0, 4.0);
  const LinearTimes times(profile, model, profile.machine->peaks(), static_cast<std::int64_t>(gpus));
  const double few = *rc::gen::inRange(1, 20'000);
  const double more = few + *rc::gen::inRange(0, 5'000);
  RC_ASSERT(times.body(more, more).seconds >= times.body(few, few).seconds);
}

TEST(BesideEachOther, TakesTheLongerAndNoLessThanReadingBoth) {
  EXPECT_EQ(beside_each_other_s(2, 5, 0.1), 5);
  EXPECT_EQ(beside_each_other_s(5, 2, 0.1), 5);
  EXPECT_EQ(beside_each_other_s(2, 5, 6), 6);
  EXPECT_EQ(beside_each_other_s(2, 5, 9), 7);  // never longer than one after the other
}

TEST(MoeTimes, SharedExpertsRunBesideRoutedOnesInSmallSteps) {
  const Catalogue catalogue = Catalogue::built_in();
  const KernelProfile profile = catalogue.profile("h200-vllm");
  const LlmSpec model = catalogue.model("deepseek-v3");
  const Machine machine = profile.machine->peaks();
  const LinearForm& linear = *form_for(profile.fitted.linear, &LinearForm::weights, model.weight_format());
  const MoeForm& experts = *form_for(profile.fitted.moe, &MoeForm::weights, model.weight_format());
  const auto sum_s = [&](const std::vector<LinearShape>& shapes, double tokens) {
    double sum = 0;
    for (const LinearShape& s : shapes) sum += s.calls * linear_time(profile, linear, s, tokens, machine).seconds;
    return sum;
  };
  const LinearTimes times(profile, model, machine, 8);
  for (const double tokens : {4.0, 64.0, 256.0, 257.0, 512.0}) {
    const double all_s = sum_s(body_shapes(model, 8), tokens), shared_s = sum_s(shared_expert_shapes(model, 8), tokens);
    const double routed_s = routed_layers(model) * experts.time(experts_call(model, 8, tokens), machine, false).seconds;
    EXPECT_GT(shared_s, 0);
    const double expected =
        tokens <= 256
            ? all_s - shared_s + beside_each_other_s(shared_s, routed_s, experts_streamed_s(model, 8, machine, tokens))
            : all_s + routed_s;
    EXPECT_NEAR(times.body(tokens, tokens).seconds, expected, 1e-12) << tokens;
  }
  // Ranks that share the routed experts: the same of a single rank's.
  Parallelism ranks = 1;
  ranks.attention_data = 8;
  ranks.expert = 8;
  const LinearTimes shared(profile, model, machine, ranks);
  for (const double tokens : {4.0, 64.0, 256.0}) {
    const double all_s = sum_s(body_shapes(model, 1), tokens), shared_s = sum_s(shared_expert_shapes(model, 1), tokens);
    const double routed_s =
        routed_layers(model) * experts.time(experts_call(model, ranks, 8 * tokens), machine, false).seconds;
    EXPECT_NEAR(shared.body(tokens, 8 * tokens).seconds,
                all_s - shared_s +
                    beside_each_other_s(shared_s, routed_s, experts_streamed_s(model, ranks, machine, 8 * tokens)),
                1e-6 * all_s)
        << tokens;
  }
}

TEST(MoeTimes, AStepOfAMixtureIsItsLayersAndItsRoutedExperts) {
  const Catalogue catalogue = Catalogue::built_in();
  const KernelProfile profile = catalogue.profile("h100-vllm");
  const LlmSpec model = catalogue.model("qwen3-30b-a3b");
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  const Machine machine = machine_for(gpu, profile);
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), profile, model, 2);
  StepWork work;
  work.decode.query_tokens = 20;
  const LinearForm& linear = *form_for(profile.fitted.linear, &LinearForm::weights, NumberFormat::bf16);
  const ExpertLayer layer = routed_layer(model, 2);
  EXPECT_EQ(layer.intermediate / layer.tensor_parallel, 384);
  double expected = 48 * profile.fitted.moe[0].time(at_random(layer, 20), machine, false).seconds;
  for (const LinearShape& shape : body_shapes(model, 2)) {
    expected += shape.calls * linear.time(20, shape.n, shape.k, machine).seconds;
  }
  EXPECT_NEAR(timer.time(work).linear_s / expected, 1, 1e-9);
  for (const std::string& text : timer.fallbacks()) EXPECT_EQ(text.find("linear layers:"), std::string::npos) << text;
}

TEST(MoeTimes, WithoutAFormAMixtureIsARooflineAndSaysSo) {
  const Catalogue catalogue = Catalogue::built_in();
  KernelProfile profile = catalogue.profile("h100-vllm");
  profile.fitted.moe.clear();
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  const StepTimer timer(gpu, {}, profile, catalogue.model("qwen3-30b-a3b"), 1);
  bool said = false;
  for (const std::string& text : timer.fallbacks()) {
    said = said || text.find("no fitted form for routed experts with bf16 weights") != std::string::npos;
  }
  EXPECT_TRUE(said);
}

TEST(BodyShapes, OfLatentsAndMixturesHoldAllParametersButRoutedOnes) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const char* name : {"deepseek-v3", "qwen3-30b-a3b", "llama-3.1-8b"}) {
    const LlmSpec m = catalogue.model(name);
    double sum = 0;
    for (const LinearShape& s : body_shapes(m, 1)) sum += s.calls * s.n * s.k;
    sum += routed_layers(m) * static_cast<double>(m.moe.experts * m.moe.expert_intermediate * m.hidden) * 3;
    const double head = static_cast<double>(m.vocabulary * m.hidden);
    // Norms are the rest.
    EXPECT_NEAR((sum + head * (m.tied_embeddings ? 1 : 2)) / static_cast<double>(m.parameters()), 1, 2e-4) << name;
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
