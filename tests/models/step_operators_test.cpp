// The parts of a step: they add up, and bytes and arithmetic are those that can be counted by hand.
#include "models/kernels/step_operators.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/catalogue/catalogue.h"
#include "models/kernels/step_account.h"
#include "models/kernels/step_time.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_gpu;
using testing::tiny_link;
using testing::tiny_model;

StepWork decode(double requests, double kv_bytes, double pairs) {
  StepWork w;
  w.decode = {requests, kv_bytes, pairs};
  w.logit_tokens = requests;
  return w;
}

const StepOperator& named(const std::vector<StepOperator>& operators, const std::string& name) {
  for (const StepOperator& o : operators) {
    if (o.name == name) return o;
  }
  throw std::out_of_range(name);
}

TEST(StepOperators, AddUpToTheStep) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const char* gpu : {"h100-sxm", "a100", "rtx-pro-6000", "b200", "mi300x"}) {
    for (const char* model : {"llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3"}) {
      for (const std::int64_t gpus : {1, 2, 8}) {
        const GpuSpec g = catalogue.gpu(gpu);
        const LlmSpec m = catalogue.model(model);
        StepWork w = decode(16, 16 * 4096.0 * static_cast<double>(m.kv_bytes_per_token()), 16 * 4096);
        w.prefill = {512, 512.0 * static_cast<double>(m.kv_bytes_per_token()), 512 * 513 / 2};
        const LinkSpec link = catalogue.link(g.peer_link);
        KernelProfile profile = catalogue.profile(g.profile);
        profile.launch.kernel_s.value = gpus == 2 ? 1e-3 : 0;
        double sum_s = 0;
        for (const StepOperator& o : step_operators(g, link, profile, m, gpus, w)) {
          EXPECT_GE(o.seconds, 0) << gpu << model << o.name;
          EXPECT_EQ(o.name == "launching kernels", o.binds == "launches") << o.binds;
          sum_s += o.seconds;
        }
        EXPECT_EQ(sum_s, StepTimer(g, link, profile, m, gpus).time(w).total_s) << gpu << model << gpus;
      }
    }
  }
}

// Whatever the layers of a model and however GPUs share them: every operator is there once, and no time beside them.
TEST(StepOperators, AreEachListedOnceAndLeaveNothing) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec g = catalogue.gpu("h200");
  KernelProfile profile = catalogue.profile(g.profile);
  profile.quantised.emplace().layer_s.value = 1e-6;
  profile.drafts.emplace().round_s.value = 1e-4;
  profile.launch.graph_s.value = 1e-5;
  profile.tables.sampler = {{1, 1e-5}, {1000, 1e-4}};
  Parallelism ranks(2), stages(2), singles;
  ranks.attention_data = 4;
  stages.pipeline = 3;
  singles.pipeline = 2;
  std::set<std::string> all;
  for (const char* model : {"llama-3.1-8b", "gpt-oss-20b", "deepseek-v3.2", "qwen3.5-35b-a3b"}) {
    const LlmSpec m = catalogue.model(model);
    const auto token_bytes = static_cast<double>(m.kv_bytes_per_token());
    StepWork w = decode(16, 16 * 4096.0 * token_bytes, 16 * 4096);
    leave_out(w.decode, m.window, 4095, 1, 16);
    w.decode.quantised = 16 * 4096;
    w.verify = {4 * 5, 4 * 4096.0 * token_bytes, 4 * 5 * 4096.0, 4};
    for (const PrefillChunk& c : {PrefillChunk{.tokens = 500}, PrefillChunk{.tokens = 100, .before = 7000}}) {
      AttentionWork of{c.tokens, (c.before + c.tokens) * token_bytes, c.tokens * (c.before + (c.tokens + 1) / 2), 1};
      w.prefill.add(of, 1);
      w.chunks.push_back(c);
    }
    w.extra_gpu_s = 1e-3;
    for (const Parallelism& parallel : {Parallelism(), ranks, stages, singles}) {
      const StepTimer timer(g, catalogue.link(g.peer_link), profile, m, parallel);
      std::set<std::string> names;
      double sum_s = 0;
      for (const StepOperator& o : timer.operators(w)) {
        EXPECT_TRUE(names.insert(o.name).second) << o.name;
        EXPECT_GT(o.seconds, 0) << o.name;
        EXPECT_FALSE(o.from.empty()) << o.name;
        sum_s += o.seconds;
      }
      EXPECT_EQ(sum_s, timer.time(w).total_s) << model;
      EXPECT_EQ(names.count("collectives"), parallel.gpus() > 1 ? 1U : 0U);
      all.merge(names);
    }
  }
  EXPECT_EQ(all, (std::set<std::string>{"linear layers", "router and shared experts", "routed experts", "LM head",
                                        "attention", "recurrent states", "indexers", "attention over quantised KV",
                                        "collectives", "norms and activations", "launch and scheduling of an iteration",
                                        "sampling", "verifying drafts, beside kernels", "launching kernels",
                                        "extra kernels"}));
}

// Without forms and fixed times a kernel takes what its own bytes or its own arithmetic take: nothing is derived twice.
TEST(StepOperators, TakeTheTimeOfTheBytesAndFlopsThatTheyList) {
  const Catalogue catalogue = Catalogue::built_in();
  for (const char* model : {"llama-3.1-8b", "gemma-3-27b", "deepseek-v3.2", "qwen3.5-27b"}) {
    const LlmSpec m = catalogue.model(model);
    StepWork w = decode(16, 16 * 4096.0 * static_cast<double>(m.kv_bytes_per_token()), 16 * 4096);
    leave_out(w.decode, m.window, 4095, 1, 16);
    GpuSpec gpu = tiny_gpu();
    for (const double flops_per_s : {1.0, 1e9}) {  // arithmetic decides all, or none
      gpu.bf16_flops_per_s.value = gpu.fp8_flops_per_s.value = flops_per_s;
      for (const StepOperator& o : StepTimer(gpu, tiny_link(), ideal_profile(), m, 2).operators(w)) {
        if (o.binds != kBoundByKernels) continue;
        const bool part = m.moe.experts > 0 && (o.name == "linear layers" || o.name == "router and shared experts");
        EXPECT_NEAR(std::max(o.memory_share, o.flops_share), 1, part ? 1e-6 : 1e-9) << model << ", " << o.name;
      }
    }
  }
}

// The account of a step (models/kernels/step_account.h) and pages have these names.
TEST(StepOperators, WhatIsNoKernelIsNamedAsTheAccountNamesIt) {
  KernelProfile profile = ideal_profile();
  profile.iteration_overhead_s.value = 1;
  const auto all = step_operators(tiny_gpu(), tiny_link(), profile, tiny_model(), 2, decode(3, 500, 10));
  EXPECT_EQ(named(all, "launch and scheduling of an iteration").binds, "host");
  EXPECT_EQ(named(all, "collectives").binds, "collectives");
}

TEST(StepOperators, BytesAndArithmeticAreCounted) {
  // 760 parameters, 80 of them the head, 80 the embedding: 600 in layers, 2 B each, on two GPUs.
  const std::vector<StepOperator> two =
      step_operators(tiny_gpu(), tiny_link(), ideal_profile(), tiny_model(), 2, decode(3, 500, 10));
  EXPECT_DOUBLE_EQ(named(two, "linear layers").flops, 2 * 600 * 3 / 2.0);
  EXPECT_DOUBLE_EQ(named(two, "LM head").flops, 2 * 80 * 3 / 2.0);
  EXPECT_DOUBLE_EQ(named(two, "LM head").bytes, 80 * 2 / 2.0);
  EXPECT_DOUBLE_EQ(named(two, "attention").bytes, 250);
  EXPECT_DOUBLE_EQ(named(two, "attention").flops, 32 * 10 / 2.0);
  // (2 all-reduces + 1) of 3 tokens x 8, and 3 x 10 logits, in 2 B.
  EXPECT_DOUBLE_EQ(named(two, "collectives").bytes, (3 * 3 * 8 + 3 * 10) * 2.0);
}

TEST(StepOperators, ExpertsAreApartFromLinearLayers) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec g = catalogue.gpu("h100-sxm");
  const KernelProfile profile = catalogue.profile(g.profile);
  const LlmSpec m = catalogue.model("deepseek-v3");
  const std::vector<StepOperator> parts =
      step_operators(g, catalogue.link(g.peer_link), profile, m, 8, decode(64, 64e6, 64 * 1000));
  // 58 layers; of each a router of 7168 x 256 and a shared expert of 3 matrices of 7168 x 2048; 8 of 256 experts.
  const double expert = 3 * 7168.0 * 2048;
  // What of the shared expert runs beside the routed ones is counted with those.
  const StepOperator beside = named(parts, "router and shared experts"), routed = named(parts, "routed experts");
  EXPECT_NEAR((beside.flops + routed.flops) / (2 * 58 * (9 * expert + 7168 * 256) * 64 / 8), 1, 1e-12);
  EXPECT_GE(beside.flops, 2 * 58 * 7168 * 256.0 * 64 / 8);
  // 256 (1 - (1 - 8 / 256)^64) = 222.44 experts are reached, in a byte a weight.
  EXPECT_NEAR(beside.bytes + routed.bytes, 58 * (223.44 * expert + 7168 * 256) / 8, 1e7);
  EXPECT_GE(beside.bytes, 58 * 7168 * 256.0 / 8);
  // By the form: 58 layers as 64 tokens at random reach them, and the step's curve is worked out at every such number.
  const ExpertLayer layer = routed_layer(m, 8);
  const MoeForm& form = *form_for(profile.fitted.moe, &MoeForm::weights, m.weight_format());
  const MoeCall call{layer, 64, routed_at_random(layer, 64)};
  EXPECT_NEAR(named(parts, "routed experts").seconds / (58 * form.time(call, Machine::of(g), false).seconds), 1, 1e-6);
  EXPECT_EQ(named(parts, "routed experts").error, form.error);
  EXPECT_TRUE(form.error->held_out);
  const StepTime whole = StepTimer(g, catalogue.link(g.peer_link), profile, m, 8).time(decode(64, 64e6, 64 * 1000));
  EXPECT_NEAR(named(parts, "linear layers").seconds + named(parts, "router and shared experts").seconds +
                  named(parts, "routed experts").seconds,
              whole.linear_s - whole.head_s, 1e-15);
}

TEST(StepOperators, AKernelFarBelowTheBandwidthIsNamed) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec g = catalogue.gpu("h100-sxm");
  LlmSpec m = catalogue.model("qwen3-30b-a3b");
  const auto named = [&](NumberFormat weights) {
    m.weight_bytes_per_parameter = bytes_per_element(weights);
    m.stated_weight_format = weights;
    std::string all;
    const StepTimer timer(g, {}, catalogue.profile(g.profile), m, 1);
    for (const std::string& said : timer.fallbacks()) all += said + '\n';
    return all.find("which reads weights at 22 % of the memory bandwidth") != std::string::npos;
  };
  EXPECT_TRUE(named(NumberFormat::fp8));
  EXPECT_FALSE(named(NumberFormat::fp8_block));
}

// Where there are no forms, each of them is a roofline of its own.
TEST(StepOperators, NoneIsFasterThanTheMachine) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec g = catalogue.gpu("h100-sxm");
  for (const char* model : {"gpt-oss-20b", "llama-3.1-8b"}) {
    const LlmSpec m = catalogue.model(model);
    for (const double requests : {1.0, 64.0, 300.0, 2000.0}) {
      StepWork w = decode(requests, requests * 1e6, requests * 1000);
      w.logit_tokens = 1;  // of a long chunk one token
      for (const StepOperator& o : step_operators(g, {}, catalogue.profile("datasheet-generic"), m, 1, w)) {
        EXPECT_LE(std::max(o.memory_share, o.flops_share), 1.0) << model << ", " << requests << ", " << o.name;
      }
    }
  }
}

// Of Llama 4 a shared expert is as large as the routed one of a token: hidden behind it, it is not read in no time.
TEST(StepOperators, WhatRunsBesideRoutedExpertsIsReadWithThem) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec g = catalogue.gpu("h200");
  const KernelProfile profile = catalogue.profile(g.profile);
  const LlmSpec m = catalogue.model("llama-4-scout");
  for (const int requests : {1, 8, 128}) {
    const std::vector<StepOperator> parts = step_operators(g, catalogue.link(g.peer_link), profile, m, 2,
                                                           decode(requests, requests * 1e6, requests * 1000));
    for (const char* name : {"router and shared experts", "routed experts"}) {
      EXPECT_LE(named(parts, name).memory_share, 1.05) << name << ", " << requests;
    }
  }
}

TEST(StepOperators, KnowTheErrorOfAFormOnItsOwnMachineAlone) {
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec m = catalogue.model("llama-3.1-8b");
  const KernelProfile profile = catalogue.profile("h100-vllm");
  const auto linear = [&](const char* gpu) {
    return named(step_operators(catalogue.gpu(gpu), {}, profile, m, 1, decode(4, 1e6, 1000)), "linear layers");
  };
  EXPECT_EQ(linear("h100-sxm").error, profile.fitted.linear[0].error);
  EXPECT_FALSE(linear("h200").error.has_value());
}

TEST(StepOperators, NameTheLaunchThatServesTheStep) {
  const Catalogue catalogue = Catalogue::built_in();
  const auto source = [&catalogue](const char* gpu, const StepWork& w) {
    const GpuSpec g = catalogue.gpu(gpu);
    return named(step_operators(g, {}, catalogue.profile(g.profile), catalogue.model("llama-3.1-8b"), 1, w),
                 "attention")
        .source.reference;
  };
  StepWork w = decode(8, 8 * 1e8, 8000);
  EXPECT_EQ(source("rtx-pro-6000", w).find("mixed attention"), std::string::npos);
  EXPECT_NE(source("h100-sxm", w).find("decode attention"), std::string::npos);
  w.verify = {26, 1e8, 26000, 1};
  EXPECT_EQ(source("rtx-pro-6000", w).find("mixed attention"), std::string::npos);
  EXPECT_NE(source("h100-sxm", w).find("decode attention"), std::string::npos);
  w.prefill = {512, 1e8, 512 * 513 / 2};
  EXPECT_NE(source("rtx-pro-6000", w).find("mixed attention"), std::string::npos);
  EXPECT_NE(source("h100-sxm", w).find("decode attention"), std::string::npos);
  w = {};
  w.prefill = {512, 1e8, 512 * 513 / 2};
  EXPECT_NE(source("h100-sxm", w).find("prefill attention"), std::string::npos);
}

TEST(StepOperators, WhatBindsIsTheLongerOfBothOrFixedTimes) {
  const auto binds = [](const StepWork& w, double t0_s) {
    KernelProfile p = ideal_profile();
    p.attention_t0_s.value = t0_s;
    return named(step_operators(tiny_gpu(), tiny_link(), p, tiny_model(), 1, w), "attention").binds;
  };
  EXPECT_EQ(binds(decode(1, 500, 10), 0), "memory");        // 5 s of bytes, 0.32 s of arithmetic
  EXPECT_EQ(binds(decode(1, 500, 1000), 0), "arithmetic");  // 32 s
  EXPECT_EQ(binds(decode(1, 500, 10), 100), "neither") << "a hundredth of the bandwidth, less of the arithmetic";
}

// Twice a resource saves of the operators together what it saves of the step, and an operator is bound by what saves
// more of it: the mean of doubling it first and last.
TEST(StepOperators, AnOperatorIsBoundAsTheAccountOfTheStepHasIt) {
  const Catalogue catalogue = Catalogue::built_in();
  const auto check = [&catalogue](const char* gpu, const char* model, int gpus, int requests) {
    const GpuSpec g = catalogue.gpu(gpu);
    const KernelProfile profile = catalogue.profile(g.profile);
    const Interconnect links = catalogue.link(g.peer_link);
    const LlmSpec m = catalogue.model(model);
    const double pairs = 4000.0 * requests;
    const StepWork w = decode(requests, pairs * static_cast<double>(m.kv_bytes_per_token()), pairs);
    const auto on = [&](double memory, double arithmetic) {
      return step_operators(faster_gpu(g, memory, arithmetic), links, profile, m, gpus, w);
    };
    const auto now = on(1, 1), memory = on(2, 1), arithmetic = on(1, 2), both = on(2, 2);
    double all_memory = 0, all_arithmetic = 0;
    for (const StepOperator& o : now) {
      if (o.binds != "memory" && o.binds != "arithmetic" && o.binds != "neither") continue;
      const double s = o.seconds, s_m = named(memory, o.name).seconds, s_a = named(arithmetic, o.name).seconds,
                   s_b = named(both, o.name).seconds;
      const double by_memory = s - s_m + s_a - s_b, by_arithmetic = s - s_a + s_m - s_b;
      all_memory += by_memory;
      all_arithmetic += by_arithmetic;
      const std::string of = std::string(model) + ", " + o.name;
      if (o.binds == "memory") {
        EXPECT_GE(by_memory, by_arithmetic) << of;
      }
      if (o.binds == "arithmetic") {
        EXPECT_LE(by_memory, by_arithmetic) << of;
      }
      EXPECT_EQ(o.binds == "neither", s - s_b < s / 4) << of;
    }
    const StepTimer timer(g, links, profile, m, gpus);
    const PerResource bound = StepAccounts(timer).of(w).bound;
    const double hbm = bound[static_cast<std::size_t>(Resource::hbm_bandwidth)],
                 compute = bound[static_cast<std::size_t>(Resource::compute)];
    // Accounts are of nearly the same sizes.
    EXPECT_NEAR(hbm / (hbm + compute), all_memory / (all_memory + all_arithmetic), 0.1) << model;
  };
  for (const int requests : {8, 256}) {
    check("b200", "deepseek-v3", 8, requests);
    check("h200", "gpt-oss-120b", 2, requests);
    check("h100-sxm", "llama-3.1-8b", 1, requests);
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
