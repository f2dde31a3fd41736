// A step on a tensor-parallel group: shards, all-reduces, and the words for figures that were replaced.
#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/step_time.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_gpu;
using testing::tiny_link;
using testing::tiny_model;
using testing::tiny_timer;

StepWork decode(double kv_bytes, double pairs) {
  StepWork w;
  w.decode = {1, kv_bytes, pairs};
  w.logit_tokens = 1;
  return w;
}

TEST(Sharding, DividesWeightsArithmeticAndKv) {
  const StepTimer one = tiny_timer(ideal_profile());
  const StepTimer two = tiny_timer(ideal_profile(), tiny_model(), 2);
  EXPECT_DOUBLE_EQ(two.time(decode(500, 10)).linear_s, one.time(decode(500, 10)).linear_s / 2);
  EXPECT_DOUBLE_EQ(two.time(decode(500, 10)).attention_s, 2.5);
  EXPECT_DOUBLE_EQ(two.time(decode(500, 1000)).attention_s, 16);
}

TEST(Sharding, KvStopsShrinkingWhenEveryGpuHasOneHead) {
  // Two KV heads: on four GPUs each still reads half of the KV.
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), tiny_model(), 4).time(decode(500, 10)).attention_s, 2.5);
}

TEST(Sharding, ALatentIsReadWholeByEveryGpu) {
  LlmSpec m = tiny_model();
  m.attention = AttentionKind::mla;
  m.mla = {4, 6, 3, 2, 5};
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile(), m, 4).time(decode(500, 10)).attention_s, 5);
}

TEST(AllReduce, IsTwicePerLayerOfTheActivationsAndOnceOfTheEmbedding) {
  // (Two layers x 2 + 1) x table(1 token x 8 x 2 B = 16 B), 0.5 s; and the logits, 10 x 2 B = 20 B.
  LlmSpec m = tiny_model();
  m.layers = 2;
  LinkSpec link = tiny_link();
  link.collectives = {{Collective::all_reduce, "nccl", 2, {{8, 0.25}, {24, 0.75}}, {}},
                      {Collective::all_reduce, "nccl", 4, {{8, 100}}, {}},
                      {Collective::all_gather, "nccl", 2, {{10, 1}, {30, 3}}, {}}};
  StepWork w = decode(1, 1);
  const StepTimer timer(tiny_gpu(), link, ideal_profile(), m, 2);
  w.logit_tokens = 1;
  EXPECT_DOUBLE_EQ(timer.time(w).collectives_s, 5 * 0.5 + 2);
  EXPECT_DOUBLE_EQ(timer.time(w).gathering_s, 0.5 + 2);
  w.logit_tokens = 0;
  EXPECT_DOUBLE_EQ(timer.time(w).collectives_s, 5 * 0.5);
}

StepWork decoding(double requests) {
  StepWork w;
  w.decode = {requests, 1e6, 1e3};
  w.logit_tokens = requests;
  return w;
}

TEST(FusedKernels, NormsAreAPartOfTheAllReduceWhereGpusShareALayer) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec model = catalogue.model("llama-3.1-8b");
  const GpuSpec gpu = catalogue.gpu("h100-sxm");
  const LinkSpec link = catalogue.link(gpu.peer_link);
  const KernelProfile apart = catalogue.profile("h100-vllm");
  KernelProfile fused = apart;
  fused.fused.norms = true;
  const auto total_s = [&](const KernelProfile& p, std::int64_t gpus) {
    return StepTimer(gpu, link, p, model, gpus).time(decoding(8)).total_s;
  };
  EXPECT_EQ(total_s(fused, 1), total_s(apart, 1));
  // Two a layer, each with its residual: four passes over 8 x 4,096 numbers of two bytes.
  const double norm_s = apart.fitted.elementwise->seconds(4.0 * 8 * 4096 * 2, machine_for(gpu, apart));
  EXPECT_NEAR(total_s(apart, 2) - total_s(fused, 2), 2 * 32 * norm_s, 1e-9);
  fused.captured_tokens = 7;  // the step is a larger one
  KernelProfile other = apart;
  other.captured_tokens = 7;
  EXPECT_EQ(total_s(fused, 2), total_s(other, 2));
}

TEST(StepTime, LinearLayersOfAnyNumberOfTokensStayBelowThePeak) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec model = catalogue.model("llama-3.1-8b");
  for (const char* name : {"h100-sxm", "a100", "b200", "l40s", "rtx-pro-6000"}) {
    const GpuSpec gpu = catalogue.gpu(name);
    const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), model, 1);
    const auto linear_s = [&](double tokens) {
      StepWork w;
      w.prefill = {tokens, 0, 0};
      return timer.time(w).linear_s;
    };
    const double whole_s = linear_s(16384);
    for (const double times : {1.5, 4.0, 64.0}) {
      const double seconds = linear_s(times * 16384);
      EXPECT_NEAR(seconds / whole_s, times, 0.05 * times) << name;
      EXPECT_GT(seconds, times * 16384 * model.linear_flops_per_token() * 0.9 / (1.05 * gpu.bf16_flops_per_s.value))
          << name;
    }
    EXPECT_GE(linear_s(16385), whole_s) << name;
  }
}

TEST(FusedKernels, QuantisedInputsAreThereAlready) {
  const Catalogue catalogue = Catalogue::built_in();
  LlmSpec model = catalogue.model("llama-3.1-8b");
  model.weight_bytes_per_parameter = 1;
  const GpuSpec gpu = catalogue.gpu("h200");
  const LinkSpec link = catalogue.link(gpu.peer_link);
  const KernelProfile apart = catalogue.profile("h200-vllm");
  KernelProfile fused = apart;
  fused.fused.quantise = true;
  const Machine machine = machine_for(gpu, apart);
  const LinearForm& form = *form_for(apart.fitted.linear, &LinearForm::weights, NumberFormat::fp8);
  double expected_s = 0;  // of the LM head none: its inputs stay in 16 bit
  for (const LinearShape& s : body_shapes(model, 1)) {
    expected_s += s.calls * (form.time(8, s.n, s.k, machine).seconds -
                             form.time(8, s.n, s.k, machine, {.quantised = true}).seconds);
  }
  EXPECT_GT(expected_s, 0);
  EXPECT_NEAR(StepTimer(gpu, link, apart, model, 1).time(decoding(8)).total_s -
                  StepTimer(gpu, link, fused, model, 1).time(decoding(8)).total_s,
              expected_s, 1e-9);
}

TEST(AllReduce, OutsideAGraphWorksOnACopyOfItsMessage) {
  // A copy of 3 tokens x 16 B reads and writes 96 B at 100 B/s, for each of 3 all-reduces.
  KernelProfile p = ideal_profile();
  p.captured_tokens = 2;
  const auto more_s = [&](double tokens) {
    StepWork w = decode(1, 1);
    w.decode.query_tokens = tokens;
    return tiny_timer(p, tiny_model(), 2).time(w).collectives_s -
           tiny_timer(ideal_profile(), tiny_model(), 2).time(w).collectives_s;
  };
  EXPECT_NEAR(more_s(3), 3 * 0.96, 1e-9);
  EXPECT_DOUBLE_EQ(more_s(2), 0);
}

TEST(AllReduce, IsThatOfTheEnginesLibrary) {
  LinkSpec link = tiny_link();
  link.collectives = {{Collective::all_reduce, "nccl", 2, {{8, 4}}, {}},
                      {Collective::all_reduce, "vllm", 2, {{8, 1}}, {}}};
  KernelProfile p = ideal_profile();
  StepWork w = decode(1, 1);
  w.logit_tokens = 0;
  EXPECT_DOUBLE_EQ(StepTimer(tiny_gpu(), link, p, tiny_model(), 2).time(w).collectives_s, 3);
  p.collective_library = "nccl";
  EXPECT_DOUBLE_EQ(StepTimer(tiny_gpu(), link, p, tiny_model(), 2).time(w).collectives_s, 12);
}

TEST(AllReduce, WithoutATableIsARingOverThePeerLink) {
  // 2 (n - 1) latency + 2 (n - 1)/n bytes/BW = 2 x 3 x 1 s + 1.5 x 16 B / 10 B/s = 8.4 s, three times, and
  // 3 x 1 s + 0.75 x 20 B / 10 B/s of the logits.
  StepWork w = decode(1, 1);
  w.logit_tokens = 1;
  EXPECT_NEAR(tiny_timer(ideal_profile(), tiny_model(), 4).time(w).collectives_s, 3 * 8.4 + 4.5, 1e-9);
}

TEST(AllReduce, OneGpuHasNone) {
  EXPECT_DOUBLE_EQ(tiny_timer(ideal_profile()).time(decode(1, 1)).collectives_s, 0);
}

TEST(Fallbacks, NoneWhereTheProfileIsOfThisGpuAndGroup) {
  KernelProfile p = ideal_profile();
  EXPECT_TRUE(tiny_timer(p).fallbacks().empty());
  LinkSpec link = tiny_link();
  link.collectives = {{Collective::all_reduce, "nccl", 2, {{8, 0.25}}, {}},
                      {Collective::all_gather, "nccl", 2, {{8, 0.25}}, {}}};
  EXPECT_TRUE(StepTimer(tiny_gpu(), link, p, tiny_model(), 2).fallbacks().empty());
}

TEST(Fallbacks, NameTheRingEstimate) {
  EXPECT_EQ(tiny_timer(ideal_profile(), tiny_model(), 4).fallbacks(),
            (std::vector<std::string>{"link tiny-link has no all_reduce figures: latency and bandwidth alone",
                                      "link tiny-link has no all_gather figures: latency and bandwidth alone"}));
}

TEST(Fallbacks, NameAProfileOfAnotherGpu) {
  KernelProfile p = ideal_profile();
  p.measured_on = "h100-sxm";
  EXPECT_EQ(tiny_timer(p).fallbacks(),
            (std::vector<std::string>{"profile ideal was measured on h100-sxm, used on tiny-gpu: efficiencies carried "
                                      "over, peaks from the datasheet"}));
}

TEST(Fallbacks, NameAProfileThatNobodyMeasured) {
  KernelProfile p = ideal_profile();
  for (const char* nothing : {"", "none"}) {
    p.measured_on = nothing;
    EXPECT_EQ(tiny_timer(p).fallbacks(),
              (std::vector<std::string>{
                  "profile ideal was measured on no machine: its efficiencies are generic or assumed"}));
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
