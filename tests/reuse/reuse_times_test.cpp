// What putting a prompt together takes by itself: what the simulation adds up, by hand.
#include "sim/reuse/reuse_times.h"

#include <gtest/gtest.h>

#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using reuse::ReuseTimes;
using serving::ServingConfig;

ServingConfig config(const Sets& sets = {}) {
  return chunk_scenario(sets).serving;
}

models::StepTimer timer(const ServingConfig& c, const models::LlmSpec& model, std::int64_t gpus) {
  return {c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link, c.cluster.groups.front().profile, model,
          gpus};
}

TEST(ReuseTimes, MovingStoredKvReadsAndWritesItsKeys) {
  // 1,000 tokens of 131,072 bytes, half of them keys, in 32 layers.
  const ServingConfig c = config();
  EXPECT_DOUBLE_EQ(ReuseTimes(c).recover_s(1000), timer(c, c.model, 1).rewrite_s(65'536'000, 32));
  EXPECT_EQ(ReuseTimes(c).recover_s(0), 0);
}

TEST(ReuseTimes, MovingLatentKvReadsAndWritesItsRotaryPart) {
  // 64 of 512 + 64 elements of 2 bytes, in 4 layers.
  const ServingConfig c = config({"model={base: deepseek-v3, layers: 4}"});
  EXPECT_DOUBLE_EQ(ReuseTimes(c).recover_s(1000), timer(c, c.model, 1).rewrite_s(1000 * 4 * 64 * 2, 4));
}

TEST(ReuseTimes, EveryGpuOfAGroupMovesItsShare) {
  const ServingConfig c = config({"cluster.gpu.tensor_parallel=2"});
  EXPECT_DOUBLE_EQ(ReuseTimes(c).recover_s(1000), timer(c, c.model, 2).rewrite_s(32'768'000, 32));
}

TEST(ReuseTimes, TheSmallModelReadsThePromptInItsOwnTokens) {
  const ServingConfig c =
      config({"prefill.speculative={model: llama-3.2-1b, gpus: 0, own_tokenizer: true, tokens_ratio: 1.25, align_time: "
              "2 us}"});
  const ReuseTimes times(c);
  EXPECT_EQ(times.small_tokens(1000), 1250);
  EXPECT_EQ(times.small_tokens(1001), 1252);            // 1251.25
  EXPECT_EQ(times.scoring_bytes(1000), 1250 * 32'768);  // 16 layers of 8 KV heads of 64
  EXPECT_DOUBLE_EQ(times.align_s(1000), 2e-3);          // per token of the model that answers
  models::StepWork work;
  work.prefill = {.query_tokens = 1250, .kv_bytes = 1250.0 * 32'768, .pairs = 1250 * 1251 / 2.0, .requests = 1};
  work.chunks = {{1250, 0}};
  EXPECT_DOUBLE_EQ(times.score_s(1000), timer(c, c.reuse->speculative.model, 1).time(work).total_s);
}

TEST(ReuseTimes, PartsOfAPromptAreReadOverWhatWasReadBefore) {
  const ServingConfig c = config();
  const models::PrefillChunk second{500, 700};
  models::StepWork work;
  work.prefill = {
      .query_tokens = 500, .kv_bytes = 1200.0 * 32'768, .pairs = 500 * 700 + 500 * 501 / 2.0, .requests = 1};
  work.chunks = {second};
  EXPECT_DOUBLE_EQ(ReuseTimes(c).scoring_s({&second, 1}), timer(c, c.reuse->speculative.model, 1).time(work).total_s);
}

TEST(ReuseTimes, AGpuOfItsOwnScoresAlone) {
  // Of a group of two, a model that shares it is split over both; one with GPUs of its own is not.
  const ServingConfig own = config({"cluster.gpu.tensor_parallel=2", "prefill.speculative.gpus=2"});
  const ServingConfig shared = config({"cluster.gpu.tensor_parallel=2", "prefill.speculative.gpus=0"});
  const ServingConfig single = config();
  EXPECT_DOUBLE_EQ(ReuseTimes(own).score_s(5000), ReuseTimes(single).score_s(5000));
  EXPECT_LT(ReuseTimes(shared).score_s(5000), ReuseTimes(own).score_s(5000));
}

TEST(ReuseTimes, TheFirstLayerIsOneOfThoseThatTheOthersWouldTake) {
  const ServingConfig c = config();
  const ReuseTimes times(c);
  EXPECT_DOUBLE_EQ(times.first_layer_s(5184, 864, 4320), (times.prefill_s(5184, 0) - times.prefill_s(864, 4320)) / 32);
  EXPECT_EQ(times.first_layer_s(5184, 5184, 0), 0);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
