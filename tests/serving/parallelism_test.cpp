// Replicas of ranks and stages: memory by hand, what is refused, and whole runs.
#include <gtest/gtest.h>

#include "planner/policy_words.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

Sets mixture(const Sets& more) {
  Sets sets = {"model=deepseek-v3",
               "cluster.gpu={type: h200, tensor_parallel: 8, memory_fraction: 0.9, activations: 0 B}",
               "prefill=recompute",
               "decode={policy: full_kv}",
               "schedule={policy: fcfs}",
               "workload.context=2000 tokens",
               "workload.output=20 tokens",
               "workload.requests=40"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

Sets gpu(const std::string& cut) {
  return mixture({"cluster.gpu={type: h200, memory_fraction: 0.9, " + cut + ", activations: 0 B}"});
}

TEST(Parallel, RanksHoldCopiesOfAllButTheRoutedExperts) {
  const auto s = small_scenario(gpu("attention_data_parallel: 8"));
  const models::LlmSpec& m = s.serving.model;
  const std::int64_t experts = m.expert_weight_bytes(), others = m.weight_bytes() - experts;
  const serving::KvCapacity k = serving::kv_capacity(s.serving, s.serving.cluster.groups.front());
  EXPECT_EQ(k.weights_bytes, 8 * others + experts);
  const double usable = 8 * 0.9 * static_cast<double>(s.serving.cluster.groups.front().gpu.memory_bytes.value);
  EXPECT_NEAR(static_cast<double>(k.bytes), usable - static_cast<double>(k.weights_bytes), 1e7);
  // One copy of a latent in place of eight.
  const auto of_eight = small_scenario(gpu("tensor_parallel: 8"));
  const serving::KvCapacity group = serving::kv_capacity(of_eight.serving, of_eight.serving.cluster.uniform());
  EXPECT_GT(k.tokens, 5 * group.tokens);
  EXPECT_EQ(serving::gpus(s.serving.cluster), 8);
}

TEST(Parallel, StagesHoldTheirLayers) {
  const auto s = small_scenario(gpu("tensor_parallel: 4, pipeline_parallel: 2"));
  const serving::KvCapacity k = serving::kv_capacity(s.serving, s.serving.cluster.groups.front());
  EXPECT_EQ(serving::gpus(s.serving.cluster), 8);
  const double usable = 8 * 0.9 * static_cast<double>(s.serving.cluster.groups.front().gpu.memory_bytes.value);
  const double all = usable - static_cast<double>(s.serving.model.weight_bytes());
  EXPECT_LT(static_cast<double>(k.bytes), all);
  EXPECT_GT(static_cast<double>(k.bytes), 0.9 * all);  // 31 of 61 layers in the first stage
}

TEST(Parallel, RunsEndAndCountAllGpus) {
  for (const char* cut : {"attention_data_parallel: 8", "attention_data_parallel: 8, expert_parallel: 8",
                          "tensor_parallel: 2, attention_data_parallel: 2, pipeline_parallel: 2",
                          "tensor_parallel: 8, expert_parallel: 8"}) {
    const auto s = small_scenario(gpu(cut));
    const serving::Measurements m = measure(s);
    EXPECT_EQ(m.completed, 40U) << cut;
    EXPECT_EQ(serving::gpus(s.serving.cluster), 8) << cut;
  }
}

// A rank computes a chunk by itself, and has its own part of the step's tokens: no prompt takes all ranks'.
TEST(Parallel, AChunkIsNoLongerThanARanksPartOfTheStep) {
  const auto iterations = [](const std::string& cut) {
    Sets sets = gpu(cut);
    for (const char* more : {"schedule.max_batched_tokens=65536", "workload.context=64000 tokens",
                             "workload.output=1 token", "workload.requests=1"}) {
      sets.emplace_back(more);
    }
    return measure(small_scenario(sets)).iteration_s.count();
  };
  EXPECT_EQ(iterations("tensor_parallel: 8"), 1U);
  EXPECT_EQ(iterations("attention_data_parallel: 8"), 8U);
}

TEST(Parallel, ARequestLargerThanItsRankIsRefused) {
  const Sets large = {"cluster.gpu={type: h200, memory_fraction: 0.72, attention_data_parallel: 8, activations: 0 B}",
                      "workload.context=90k tokens", "workload.requests=2", "cluster.gpu.activations=4 GB"};
  const auto s = small_scenario(mixture(large));
  const std::int64_t rank_tokens = serving::kv_capacity(s.serving, s.serving.cluster.groups.front()).tokens / 8;
  ASSERT_LT(rank_tokens, 90000) << "memory_fraction is to leave less than a prompt";
  EXPECT_EQ(measure(s).completed, 0U);
}

TEST(Parallel, WhatCannotBeCutIsRefused) {
  EXPECT_NE(small_refusal(gpu("tensor_parallel: 8, expert_parallel: 3")).find("cannot be cut into 3 parts alike"),
            std::string::npos);
  EXPECT_NE(small_refusal({"cluster.gpu.expert_parallel=2"}).find("llama-3.1-8b has no routed experts"),
            std::string::npos);
  EXPECT_NE(small_refusal({"cluster.gpu.attention_data_parallel=2"}).find("use cluster.replicas: 2"),
            std::string::npos);
  EXPECT_NE(small_refusal({"cluster.gpu.pipeline_parallel=33"}).find("33 stages for the 32 layers"), std::string::npos);
  EXPECT_NE(small_refusal({"cluster.gpu.pipeline_parallel=2"}).find("decode policy draft_verify"), std::string::npos);
  EXPECT_NE(small_refusal({"cluster.gpu.pipeline_parallel=2", "decode={policy: full_kv}", "schedule={policy: fcfs}"})
                .find("use prefill: recompute"),
            std::string::npos);
}

TEST(Parallel, OnlyPoliciesWhoseStepsAreKnownAreCompared) {
  EXPECT_EQ(planner::default_policies(small_scenario(gpu("attention_data_parallel: 8"))), Sets{"full_kv"});
  Sets compressed = gpu("attention_data_parallel: 8");
  compressed.emplace_back("decode={policy: lossy, compressor: fast-kvzip, keep_ratio: 0.3}");
  EXPECT_EQ(planner::default_policies(small_scenario(compressed)), (Sets{"full_kv", "lossy"}));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
