// The parts of a step: they add up, and bytes and arithmetic are those that can be counted by hand.
#include "models/kernels/step_operators.h"

#include <gtest/gtest.h>

#include "models/catalogue/catalogue.h"
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
          sum_s += o.seconds;
        }
        EXPECT_NEAR(sum_s / StepTimer(g, link, profile, m, gpus).time(w).total_s, 1, 1e-12) << gpu << model << gpus;
      }
    }
  }
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
  EXPECT_EQ(binds(decode(1, 500, 10), 100), "fixed times");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
