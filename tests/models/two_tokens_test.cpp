// Where a second token a request stops being free, by hand on a GPU of 100 B/s and 1000 FLOP/s: a step streams 13.6 s
// of weights and K/100 s of KV a request, against 1.36 s of arithmetic a token.
#include "models/kernels/step_time.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

#include "models/catalogue/catalogue.h"
#include "tests/models/tiny_machine.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using testing::ideal_profile;
using testing::tiny_model;
using testing::tiny_timer;

TEST(TwoTokens, AreFreeWhileTheStepStreams) {
  EXPECT_DOUBLE_EQ(two_token_cost(tiny_timer(ideal_profile()), {500, 0}, 1), 0);
  EXPECT_DOUBLE_EQ(two_token_cost(tiny_timer(ideal_profile()), {500, 0}, 5), 0);
}

TEST(TwoTokens, CostTheirArithmeticOnceItDecides) {
  // Without KV: batch 8 is 2 x 8 x 1.36 = 21.76 s against 13.6 s; batch 100 twice as long.
  EXPECT_NEAR(two_token_cost(tiny_timer(ideal_profile()), {}, 8), 21.76 / 13.6 - 1, 1e-12);
  EXPECT_NEAR(two_token_cost(tiny_timer(ideal_profile()), {}, 100), 1, 1e-12);
}

TEST(TwoTokens, ReachFivePercentWhereArithmeticOvertakesStreaming) {
  // 2.72 b >= 1.05 x 13.6 at b = 5.25.
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {}, 1000).first, 6);
  // With 10 s of KV a request: 2.72 b + 10 b >= 1.05 (13.6 + 10 b), that is 2.22 b >= 14.28 at b = 6.43.
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {1000, 0}, 1000).first, 7);
  // A higher threshold is reached later: 2.72 b >= 1.5 x 13.6 at b = 7.5.
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {}, 1000, 0.5).first, 8);
}

TEST(TwoTokens, LongKvHidesTheSecondTokenForEver) {
  // 100 s of KV a request against 1.36 s more of arithmetic: 1.4 % at any batch.
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {10'000, 0}, 1'000'000).first, std::nullopt);
}

TEST(TwoTokens, NothingBeyondTheLimitIsLookedAt) {
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {}, 5).first, std::nullopt);
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {}, 6).first, 6);
  EXPECT_EQ(two_token_batches(tiny_timer(ideal_profile()), {}, 1).first, std::nullopt);
}

TEST(TwoTokens, KernelsThatReadTheKvForEachAreNeverFree) {
  // 10 s of KV read twice: 33.6 / 23.6 at batch 1.
  KernelProfile eager = ideal_profile();
  eager.further_query_share.value = 1;
  EXPECT_NEAR(two_token_cost(tiny_timer(eager), {1000, 0}, 1), 10 / 23.6, 1e-12);
  EXPECT_EQ(two_token_batches(tiny_timer(eager), {1000, 0}, 1000).first, 1);
}

TEST(TwoTokens, AttentionArithmeticOfBothCounts) {
  // Contexts of 100 tokens: 3.2 s a query token against 5 s of KV; two take 6.4 s.
  EXPECT_NEAR(two_token_cost(tiny_timer(ideal_profile()), {500, 100}, 1), 1.4 / 18.6, 1e-12);
}

RC_GTEST_PROP(TwoTokensProperty, AreThoseOfLookingAtEveryBatch, ()) {
  static const Catalogue catalogue = Catalogue::built_in();
  const auto names = catalogue.list(EntryKind::profile);
  const KernelProfile profile = catalogue.profile(names[*rc::gen::inRange<std::size_t>(0, names.size())].name);
  const std::string model_name = *rc::gen::element<std::string>("mistral-7b", "qwen2.5-14b");
  const LlmSpec model = catalogue.model(model_name);
  const StepTimer timer(catalogue.gpu("h100-sxm"), {}, profile, model, 1);
  const double context = *rc::gen::inRange(1, 100'000);
  const double share = *rc::gen::inRange(1, 101) / 100.0;
  const TwoTokenWork work{share * context * static_cast<double>(model.kv_bytes_per_token()), context};
  const std::int64_t limit = *rc::gen::inRange(1, 1024);
  const TwoTokenBatches found = two_token_batches(timer, work, limit);
  std::optional<std::int64_t> first, always;
  for (std::int64_t batch = limit; batch >= 1; --batch) {
    if (two_token_cost(timer, work, static_cast<double>(batch)) >= 0.05) first = batch;
  }
  RC_ASSERT(found.first == first);
  for (std::int64_t batch = limit; batch >= 1; --batch) {
    if (two_token_cost(timer, work, static_cast<double>(batch)) < 0.05) break;
    always = batch;
  }
  RC_ASSERT(found.always == always);
}

TEST(TwoTokens, ACostThatFallsAgainIsNotForGood) {
  // Of a mixture of experts a second token reads others while the batch is small.
  const Catalogue catalogue = Catalogue::built_in();
  const LlmSpec model = catalogue.model("qwen3-30b-a3b");
  const GpuSpec gpu = catalogue.gpu("h200");
  const StepTimer timer(gpu, catalogue.link(gpu.peer_link), catalogue.profile(gpu.profile), model, 1);
  const TwoTokenWork work{8000.0 * 0.25 * static_cast<double>(model.kv_bytes_per_token()), 8000};
  const TwoTokenBatches found = two_token_batches(timer, work, 1000);
  EXPECT_EQ(found.first, 1);
  EXPECT_LT(two_token_cost(timer, work, 64), 0.05);
  EXPECT_TRUE(!found.always || *found.always > 64);
}

RC_GTEST_PROP(TwoTokensProperty, ASecondTokenNeverSavesTime, ()) {
  static const Catalogue catalogue = Catalogue::built_in();
  const auto names = catalogue.list(EntryKind::profile);
  const KernelProfile profile = catalogue.profile(names[*rc::gen::inRange<std::size_t>(0, names.size())].name);
  const LlmSpec model = catalogue.model("mistral-7b");
  const StepTimer timer(catalogue.gpu("a6000"), {}, profile, model, 1);
  const double context = *rc::gen::inRange(1, 100'000);
  RC_ASSERT(two_token_cost(timer, {context * 10'000, context}, *rc::gen::inRange(1, 1000)) >= -1e-12);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
