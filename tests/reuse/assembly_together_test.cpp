// Several prompts put together at once: older ones come first, in iterations that hold no more than they may, and a
// request leaves nothing behind.
#include <gtest/gtest.h>

#include "sim/reuse/reuse_times.h"
#include "tests/reuse/told_requests.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

const std::vector<models::RequestSpec> kTwoAtOnce = {told_request(0, 0, 128, 1), told_request(1, 0, 128, 1)};

// One iteration computes the older one's chunk, the next its query, and both are full: the newer one gets nothing of
// them.
TEST(AssemblyTogether, ChunksOfTheOlderOneTakeTheIterationsTokensFirst) {
  const scenario::Scenario s = told_scenario(
      {"prefill={policy: full_reuse}", "placement.preload=false", "schedule.max_batched_tokens=128", "run.warmup=0 s"});
  const Measurements both = run_told(s, kTwoAtOnce).measured, alone = run_told(s, {kTwoAtOnce[0]}).measured;
  ASSERT_EQ(both.completed, 2U);
  EXPECT_EQ(ttft_s(both, 0), ttft_s(alone, 0));
  // Two more iterations for the other.
  EXPECT_NEAR(ttft_s(both, 1), 2 * ttft_s(alone, 0), 1e-6);
}

// The older one is read in the first iteration, the newer one in the second; both are aligned for 2.56 s after that.
TEST(AssemblyTogether, TheSmallModelReadsTheOlderPromptFirst) {
  const scenario::Scenario s =
      told_scenario({"prefill={policy: selective, speculative: {model: llama-3.2-1b, gpus: 0, align_time: 10 ms}}",
                     "cluster.host.link.read=1000 GB/s", "schedule.max_batched_tokens=256"});
  const reuse::ReuseTimes times(s.serving);
  const Measurements both = run_told(s, kTwoAtOnce).measured, alone = run_told(s, {kTwoAtOnce[0]}).measured;
  ASSERT_EQ(both.completed, 2U);
  EXPECT_EQ(ttft_s(both, 0), ttft_s(alone, 0));
  // Chosen after one reading, and after two.
  EXPECT_NEAR(both.reuse.select_s, 3 * times.score_s(256) + 2 * times.align_s(256), 1e-6);
}

// With GPUs of its own for each replica, nobody waits for the other replica's prompt.
TEST(AssemblyTogether, EveryReplicaHasItsOwnGpusToScoreOn) {
  const auto select_s = [](const char* replicas, const char* gpus) {
    const scenario::Scenario s = told_scenario({replicas, gpus, "cluster.router=round_robin"});
    return run_told(s, kTwoAtOnce).measured.reuse.select_s;
  };
  const scenario::Scenario alone = told_scenario({});
  const reuse::ReuseTimes times(alone.serving);
  const double score_s = times.score_s(256), align_s = times.align_s(256);
  const char* const one = "prefill.speculative.gpus=1";
  EXPECT_NEAR(select_s("cluster.replicas=1", one), 3 * score_s + 2 * align_s, 1e-7);
  EXPECT_NEAR(select_s("cluster.replicas=2", one), 2 * (score_s + align_s), 1e-7);
  EXPECT_NEAR(select_s("cluster.replicas=1", "prefill.speculative.gpus=2"), 2 * (score_s + align_s), 1e-7);
}

// Two replicas that have nothing to do are chosen in turn, whatever they had to do before: the third request finds the
// chunk that the first one left.
TEST(AssemblyTogether, AReplicaThatIsDoneHasNoTokensOutstanding) {
  const scenario::Scenario s = told_scenario({"cluster.replicas=2", "placement.preload=false"});
  models::RequestSpec later = told_request(2, 200, 128, 1);
  later.chunks = {0};
  const Measurements m = run_told(s, {told_request(0, 0, 128, 1), told_request(1, 100, 16, 1), later}).measured;
  EXPECT_EQ(m.reuse.apart_tokens, 2 * 128);
  EXPECT_EQ(m.reuse.loaded_tokens, 128);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
