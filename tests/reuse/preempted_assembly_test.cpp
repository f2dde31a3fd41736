// Requests that are pushed out of GPU memory while their prompt is being put together: while chunks load, while the
// small model reads, while tokens are aligned. What comes for them afterwards is for nobody, and they start again.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sim/reuse/reuse_times.h"
#include "sim/serving/kv_capacity.h"
#include "tests/reuse/told_requests.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

constexpr std::int64_t kTokenBytes = 131072;

/// Of one replica with KV memory for so many tokens.
scenario::Scenario with_memory(Sets sets, std::int64_t tokens) {
  sets.push_back(fmt::format("cluster.gpu.kv_bytes={} B", tokens * kTokenBytes));
  return told_scenario(sets);
}

serving::SimulationOutcome run(const scenario::Scenario& scenario, const std::vector<models::RequestSpec>& requests) {
  EXPECT_EQ(serving::kv_capacity(scenario.serving, scenario.serving.cluster.groups.front()).bytes % kTokenBytes, 0);
  return run_told(scenario, requests);
}

// The older request decodes 300 tokens after its 200, for more than 3 s. The newer one of 400 tokens, which fits beside
// it at first, has to go when both need more than 700, and comes back when the older one is done.
std::vector<models::RequestSpec> two_requests(double second_s) {
  return {told_request(0, 0, 72, 300), told_request(1, second_s, 272, 20)};
}

TEST(PreemptedAssembly, OneThatWasLoadingWaitsForTheSameLoad) {
  // 128 x 131,072 bytes at 1 MB/s: 16.8 s. The older request decodes from then on; the newer one comes just after.
  const scenario::Scenario s = with_memory({"prefill.policy=epic", "cluster.host.link.read=0.001 GB/s"}, 704);
  const double load_s = 128 * 131072 / 1e6;
  const Measurements m = run(s, two_requests(load_s + 0.1)).measured;
  EXPECT_EQ(m.completed, 2U);
  EXPECT_EQ(m.preemptions, 1U);
  EXPECT_EQ(m.placement.loads, 2U);         // each chunk crosses the link once
  EXPECT_EQ(m.placement.joined_loads, 1U);  // the newer one, readmitted
  EXPECT_EQ(m.reuse.loaded_tokens, 2 * 128);
  EXPECT_EQ(m.reuse.apart_tokens, 0);
  EXPECT_GT(ttft_s(m, 1), load_s);
  EXPECT_LT(ttft_s(m, 1), load_s + 0.3);  // not a second load
  EXPECT_GT(m.reuse.queue_s, 2);          // pushed out until the older one was done
}

/// Both requests' tokens take seconds to align: 25 ms each.
const Sets kSlowAlignment = {"prefill.speculative.align_time=25 ms", "cluster.host.link.read=100 GB/s"};

TEST(PreemptedAssembly, OneThatWasBeingAlignedIsScoredAgain) {
  for (const int gpus : {0, 1}) {
    SCOPED_TRACE(gpus);
    // On the replica, the small model's KV of 400 tokens takes the room of 100.
    const std::int64_t room = gpus == 0 ? 804 : 704;
    const scenario::Scenario s =
        with_memory(kSlowAlignment + Sets{fmt::format("prefill.speculative.gpus={}", gpus)}, room);
    const reuse::ReuseTimes times(s.serving);
    const Measurements m = run(s, two_requests(times.score_s(200) + times.align_s(200) + 0.1)).measured;
    EXPECT_EQ(m.completed, 2U);
    EXPECT_EQ(m.preemptions, 1U);
    // 0.1 s + 10 s of aligning, beside more than 2 s of decoding until it was pushed out: the first choice comes after
    // it was readmitted, and is not taken.
    const double choices_s = times.align_s(200) + times.align_s(400);
    EXPECT_GE(m.reuse.select_s, choices_s);
    EXPECT_LT(m.reuse.select_s, choices_s + 0.1);
    EXPECT_GT(ttft_s(m, 1), 2 + times.align_s(400));
    if (gpus == 0) continue;
    EXPECT_NEAR(m.reuse.scorers_busy_s, times.score_s(200) + 2 * times.score_s(400), 1e-7);
    EXPECT_NEAR(m.reuse.select_s, choices_s + times.score_s(200) + times.score_s(400), 1e-6);
  }
}

TEST(PreemptedAssembly, OneThatWasBeingReadIsReadAgainFromItsFirstToken) {
  // Two tokens an iteration: the newer one is read in 200 of them, and pushed out before.
  const scenario::Scenario s = with_memory(
      {"prefill.speculative.gpus=0", "schedule.max_batched_tokens=2", "cluster.host.link.read=100 GB/s"}, 804);
  const Measurements older = run(s, {two_requests(0)[0]}).measured, newer = run(s, {two_requests(0)[1]}).measured;
  const double decoding_from_s = ttft_s(older, 0), until_s = older.e2e_s.values()[0];
  const Measurements m = run(s, two_requests(decoding_from_s + 0.1)).measured;
  EXPECT_EQ(m.completed, 2U);
  EXPECT_EQ(m.preemptions, 1U);
  // All of it again after the older one is done.
  EXPECT_GT(decoding_from_s + 0.1 + ttft_s(m, 1), until_s + ttft_s(newer, 0) - 0.05);
  const serving::KvCapacity capacity = serving::kv_capacity(s.serving, s.serving.cluster.groups.front());
  EXPECT_LE(m.hbm_reserved_peak_bytes, capacity.bytes + capacity.weights_bytes);
}

// Beside its context of 2,000 tokens and more, scoring takes the room of 500 (32,768 bytes a token of Llama-3.2-1B).
// It fits at first. When it has been pushed out after 300 tokens, it no longer does: it must not be let in at all.
TEST(PreemptedAssembly, OneThatCouldNeverComeBackIsRefused) {
  const scenario::Scenario s = with_memory({"prefill.speculative.gpus=0"}, 2800);
  const std::vector<models::RequestSpec> requests = {told_request(0, 0, 8, 500), told_request(1, 0.5, 1872, 700)};
  const serving::SimulationOutcome r = run(s, requests);
  EXPECT_EQ(r.measured.completed + r.measured.refused, 2U);
  EXPECT_EQ(r.measured.refused, 1U);
  // With GPUs of its own the small model needs no room there.
  const scenario::Scenario own = with_memory({"prefill.speculative.gpus=1"}, 2800);
  const serving::SimulationOutcome all = run(own, requests);
  EXPECT_EQ(all.measured.completed, 2U);
  EXPECT_GE(all.measured.preemptions, 1U);
}

TEST(PreemptedAssembly, OneThatFitsWhateverItHasGeneratedIsNotRefused) {
  // 2,000 + 288 tokens, in blocks of 16, and 500 to score: 2,788.
  const scenario::Scenario s = with_memory({"prefill.speculative.gpus=0"}, 2800);
  const Measurements m = run(s, {told_request(0, 0, 8, 500), told_request(1, 0.5, 1872, 288)}).measured;
  EXPECT_EQ(m.completed, 2U);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
