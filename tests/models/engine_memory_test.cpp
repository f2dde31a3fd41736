// GPU memory beside weights and KV: logged parts of vLLM 0.19.0 on H100 SXM, and how the engines size their KV.
#include <gtest/gtest.h>

#include <string>

#include "models/catalogue/catalogue.h"
#include "models/engines/engine_memory.h"
#include "sim/serving/kv_capacity.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kGib = 1024.0 * 1024 * 1024;

EngineMemory of(const char* engine) {
  return *Catalogue::built_in().engine(engine).memory;
}

EngineLoad load_of(std::int64_t tensor, std::int64_t pipeline = 1) {
  EngineLoad load;
  load.parallel = Parallelism(tensor);
  load.parallel.pipeline = pipeline;
  load.max_requests = 1024;
  load.max_batched_tokens = 8192;
  return load;
}

double peak_gib(const char* model, std::int64_t tensor = 1, const char* engine = "vllm") {
  return activation_peak(of(engine), Catalogue::built_in().model(model), load_of(tensor)) / kGib;
}

// "torch peak memory increase" of the start-up logs.
TEST(EngineMemory, ActivationsAreThoseOfTheLogs) {
  EXPECT_NEAR(peak_gib("llama-3.1-8b"), 1.89, 0.02);
  EXPECT_NEAR(peak_gib("llama-3.1-8b", 4), 1.89, 0.02) << "every GPU samples from all logits";
  EXPECT_NEAR(peak_gib("llama-3.1-70b", 2), 1.96, 0.02);
  EXPECT_NEAR(peak_gib("qwen2.5-7b"), 2.21, 0.02);
  EXPECT_NEAR(peak_gib("qwen3-14b", 1, "vllm-0.16"), 5.64, 0.02);
  EXPECT_NEAR(peak_gib("mixtral-8x7b", 2), 1.21, 0.02) << "buffers of experts stay while it samples";
}

TEST(EngineMemory, FewerRequestsSampleLessUntilALayerDecides) {
  const EngineMemory memory = of("vllm");
  const LlmSpec model = Catalogue::built_in().model("llama-3.1-8b");
  EngineLoad load = load_of(1);
  load.max_requests = 1;
  // 8,192 tokens: gate, up and their product of 14,336 columns, 3.4 residual streams of 4,096, in 16 bit; 46 MiB.
  const double layer = 8192.0 * 2 * (3 * 14336 + 3.4 * 4096) + 46 * 1024 * 1024;
  EXPECT_NEAR(activation_peak(memory, model, load), layer, 1);
  load.max_batched_tokens = 512;
  load.max_requests = 4096;
  const double sampled = activation_peak(memory, model, load);
  load.max_requests = 512;
  EXPECT_EQ(activation_peak(memory, model, load), sampled) << "no step has more requests than tokens";
}

TEST(EngineMemory, GrowsWithTheGpusThatShareLayers) {
  const EngineMemory memory = of("vllm");
  const LlmSpec model = Catalogue::built_in().model("llama-3.1-8b");
  const auto beside = [&](const EngineLoad& load) {
    return static_cast<double>(memory_beside_kv(memory, model, load));
  };
  const double alone = beside(load_of(1));
  EXPECT_NEAR((beside(load_of(2)) - alone) / kGib, 2.07 - 0.25, 0.05);
  EXPECT_LT(beside(load_of(1, 2)), alone) << "stages of one GPU have no collectives: 0.07 for 0.25 GiB";
  EngineLoad slow = load_of(2);
  slow.fast_peers = false;
  EXPECT_LT(beside(slow), beside(load_of(2)));
  EXPECT_GT(beside(slow), alone);
}

TEST(EngineMemory, IsSizedAsTheEngineSizesIt) {
  EngineMemory memory;
  memory.context_bytes.value = 1000;
  memory.alone_bytes.value = 500;
  memory.buffers_bytes.value = 200;
  LlmSpec model;
  EngineLoad load;
  load.memory_fraction = 0.8;
  load.weights_of_gpu = 10'000;
  const auto sized = [&](KvSizing sizing) {
    memory.sizing.value = sizing;
    return memory_beside_kv(memory, model, load);
  };
  EXPECT_EQ(sized(KvSizing::profiled), 700) << "the context lies beyond the fraction";
  EXPECT_EQ(sized(KvSizing::free_share), 1200) << "0.8 (M - 1,500) - weights";
  EXPECT_EQ(sized(KvSizing::rest_share), -640) << "0.8 (M - 1,700 - weights), of 0.8 M - weights";
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
