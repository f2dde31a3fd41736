// One request alone: every time follows from the timer and the link, by hand.
#include <gtest/gtest.h>

#include "models/kernels/step_time.h"
#include "planner/policy_words.h"
#include "sim/serving/kv_geometry.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr std::int64_t kPrompt = 16000;
constexpr std::int64_t kOutput = 200;

const std::vector<std::string> kAlone = {"workload.closed.concurrency=1", "workload.requests=1"};

std::vector<std::string> alone(std::initializer_list<const char*> more) {
  std::vector<std::string> all = kAlone;
  for (const char* m : more) all.emplace_back(m);
  return all;
}

models::StepTimer timer_of(const serving::ServingConfig& c) {
  return {c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link, c.cluster.groups.front().profile, c.model,
          c.cluster.groups.front().parallel.tensor};
}

serving::KvGeometry geometry_of(const serving::ServingConfig& c) {
  return {c.model,
          c.cluster.groups.front().parallel.tensor,
          {c.model, c.decode.compressor, c.decode.keep_ratio},
          c.schedule.block_tokens};
}

double decode_step_s(const serving::ServingConfig& c, double kv_bytes, double pairs) {
  models::StepWork w;
  w.decode = {1, kv_bytes, pairs};
  w.logit_tokens = 1;
  return timer_of(c).time(w).total_s;
}

double load_s(const serving::ServingConfig& c, std::int64_t bytes) {
  const auto& link = c.cluster.groups.front().host_link;
  return static_cast<double>(bytes) / link.read_bytes_per_s.value + link.latency_s.value + link.setup_s.value;
}

TEST(SingleRequest, FullKvWaitsForItsLoadThenDecodesOneTokenAStep) {
  const auto s = planner::with_policy(small_file(kAlone), "full_kv");
  const auto& c = s.serving;
  const serving::Measurements m = measure(s);
  const std::int64_t token = c.model.kv_bytes_per_token();
  double steps = 0;
  for (std::int64_t i = 0; i < kOutput; ++i) {
    const auto context = static_cast<double>(kPrompt + i);
    steps += decode_step_s(c, context * static_cast<double>(token), context);
  }
  EXPECT_NEAR(m.e2e_s.mean(), load_s(c, kPrompt * token) + steps, 1e-6);
  EXPECT_NEAR(m.ttft_s.mean(),
              load_s(c, kPrompt * token) + decode_step_s(c, kPrompt * static_cast<double>(token), kPrompt), 1e-8);
}

TEST(SingleRequest, RecomputedPromptsAreChunkedByTheTokenBudget) {
  const auto s = planner::with_policy(
      small_file(alone({"prefill=recompute", "decode.compressor=fast-kvzip", "schedule.max_batched_tokens=4096"})),
      "full_kv");
  const auto& c = s.serving;
  const serving::Measurements m = measure(s);
  double prefill = 0;
  for (std::int64_t done = 0; done < kPrompt;) {
    const std::int64_t n = std::min<std::int64_t>(4096, kPrompt - done);
    models::StepWork w;
    const auto tokens = static_cast<double>(n);
    w.prefill = {tokens, static_cast<double>((done + n) * c.model.kv_bytes_per_token()),
                 tokens * static_cast<double>(done) + tokens * (tokens + 1) / 2};
    w.logit_tokens = done + n == kPrompt ? 1 : 0;
    prefill += timer_of(c).time(w).total_s;
    done += n;
  }
  EXPECT_NEAR(m.ttft_s.mean(), prefill, 1e-7);  // the first token comes with the last chunk
  EXPECT_EQ(m.iteration_s.count(), 4U + kOutput - 1);
}

TEST(SingleRequest, DraftVerifyTakesXDraftStepsAndOneVerificationARound) {
  // Everything accepted, the reload hidden behind 20 drafts: 21 tokens a round. At 15k tokens it takes 3.75 drafting
  // iterations: far from a whole number, at which a step longer by a verification would have it placed one too late.
  const auto s =
      small_scenario(alone({"decode.acceptance={model: constant, agreement: 1}", "workload.output=210 tokens",
                            "decode.draft_limit=20", "workload.context=15k tokens"}));
  const serving::Measurements m = measure(s);
  EXPECT_EQ(m.rounds, 10U);
  EXPECT_EQ(m.drafted_tokens, 200);
  EXPECT_EQ(m.accepted_tokens, 200);
  EXPECT_EQ(m.corrections, 10);
  EXPECT_EQ(m.iteration_s.count(), 10U * 21U);
  EXPECT_EQ(m.late_reloads, 0U);
}

TEST(SingleRequest, AReloadLongerThanTheDraftIsLateAndPaysForItself) {
  // 1.2 GB at 0.6 GB/s take 2 s; 20 draft steps of about 7 ms do not hide them.
  const auto s = small_scenario(alone({"decode.acceptance={model: constant, agreement: 1}",
                                       "cluster.host.link.read=0.6 GB/s", "decode.draft_limit=20"}));
  const serving::Measurements m = measure(s);
  const auto& c = s.serving;
  const double reload = static_cast<double>(geometry_of(c).reload_transfer(kPrompt, 0)) / 0.6e9;
  EXPECT_GT(m.round_gap_s.mean(), reload);
  EXPECT_LT(m.round_gap_s.mean(), reload + 0.25);
  EXPECT_GT(m.link_bound_s, 0.5 * m.capacity_s);
}

TEST(SingleRequest, AStrictDraftIsAsLongAsItIsSaidHoweverLateTheReload) {
  // The reload of the test above hides behind some 280 drafts: by default a round of 20 goes on to 40.
  const auto drafts_a_round = [](const char* limit) {
    const serving::Measurements m = measure_with(
        alone({"decode.acceptance={model: constant, agreement: 1}", "cluster.host.link.read=0.6 GB/s", limit}));
    return static_cast<double>(m.drafted_tokens) / static_cast<double>(m.rounds);
  };
  EXPECT_LE(drafts_a_round("decode.draft_limit=strict"), 20);
  EXPECT_GT(drafts_a_round("decode.draft_limit=0"), 30);
}

TEST(SingleRequest, ADraftEndsWithTheOutput) {
  // 25 tokens: a round of 20 + 1, then 4 left: the drafter meets the end itself and no bonus token follows.
  const serving::Measurements m = measure_with(alone(
      {"decode.acceptance={model: constant, agreement: 1}", "workload.output=25 tokens", "decode.draft_limit=20"}));
  EXPECT_EQ(m.rounds, 2U);
  EXPECT_EQ(m.drafted_tokens, 24);
  EXPECT_EQ(m.corrections, 1);
  EXPECT_EQ(m.output_tokens, 25);
}

TEST(SingleRequest, AGeneratedTokenCrossesTheLinkToHostMemoryOnce) {
  const auto s = small_scenario(alone(
      {"workload.output=210 tokens", "decode.acceptance={model: constant, agreement: 1}", "decode.draft_limit=20"}));
  const serving::Measurements m = measure(s);
  // All but the last round's 21 tokens are written back before the next reload.
  EXPECT_EQ(m.links.at("gpu_to_host").bytes, 189 * s.serving.model.kv_bytes_per_token());
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
