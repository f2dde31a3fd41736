// Which requests an iteration takes in, told by the kinds of iterations on the GPU's timeline. Llama-3.1-8B on one H100
// computes a thousand prompt tokens in more than ten milliseconds.
#include <gtest/gtest.h>

#include <utility>

#include "sim/engine/recording_trace.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using Names = std::vector<std::string>;

class ListFeed final : public serving::RequestFeed {
 public:
  explicit ListFeed(std::vector<models::RequestSpec> requests) : requests_(std::move(requests)) {}
  std::optional<models::RequestSpec> next() override {
    return at_ < requests_.size() ? std::optional(requests_[at_++]) : std::nullopt;
  }

 private:
  std::vector<models::RequestSpec> requests_;
  std::size_t at_ = 0;
};

models::RequestSpec request(std::uint64_t id, std::int64_t arrival_ns, std::int64_t prompt, std::int64_t output) {
  return {id, arrival_ns, prompt, output, {}};
}

constexpr std::int64_t kMs = 1'000'000;

struct Served {
  Names iterations;
  std::vector<engine::RecordedSlice> slices;
  serving::SimulationOutcome outcome;
};

Served run(std::vector<models::RequestSpec> requests, const std::vector<std::string>& overrides) {
  std::vector<std::string> all{"prefill=recompute", "decode={policy: full_kv}", "schedule={policy: fcfs}"};
  all.insert(all.end(), overrides.begin(), overrides.end());
  ListFeed feed(std::move(requests));
  engine::RecordingTrace trace;
  Served result;
  result.outcome = systems::simulate(small_scenario(all).serving, feed, {&trace, {}, true});
  result.slices = trace.track("/GPU");
  for (const engine::RecordedSlice& s : result.slices) result.iterations.push_back(s.name);
  return result;
}

Names iterations(std::vector<models::RequestSpec> requests, const std::vector<std::string>& overrides = {}) {
  return run(std::move(requests), overrides).iterations;
}

TEST(Iterations, DecodeEverybodyAndFillUpWithPrompts) {
  // 2,048 tokens: 1,000 of the first prompt and 1,048 of the second, whose other 452 go with the first's second token.
  EXPECT_EQ(iterations({request(0, 0, 1000, 3), request(1, 0, 1500, 2)}),
            (Names{"prefill", "decode+prefill", "decode"}));
}

TEST(Iterations, TakeInAllThatArriveAtOneInstant) {
  EXPECT_EQ(iterations({request(0, kMs, 100, 2), request(1, kMs, 100, 2), request(2, kMs, 100, 2)}),
            (Names{"prefill", "decode"}));
}

TEST(Iterations, ARequestRunsFromItsFirstChunkOn) {
  // The first prompt takes the whole first iteration, so the second request waits until there are tokens left for it.
  const Served r = run({request(0, 0, 3000, 2), request(1, 0, 100, 2)}, {"run.sample_every=1 ms"});
  const serving::LoadSample& first = r.outcome.timeline.samples.front();
  EXPECT_EQ(first.running, 1);
  EXPECT_EQ(first.waiting, 1);
}

TEST(Iterations, TakeInWhatArrivedBeforeTheyBegin) {
  EXPECT_EQ(iterations({request(0, 0, 1000, 3), request(1, kMs, 100, 1)}),
            (Names{"prefill", "decode+prefill", "decode"}));
}

TEST(AsynchronousIterations, TakeInWhatArrivedBeforeTheOneAheadOfThemBegan) {
  EXPECT_EQ(iterations({request(0, 0, 1000, 4), request(1, kMs, 100, 1)}, {"schedule.asynchronous=true"}),
            (Names{"prefill", "decode", "decode+prefill", "decode"}));
}

TEST(AsynchronousIterations, SeeAPlaceThatFallsFreeOneIterationLater) {
  // Two places; the second request is done after the first iteration, the third waits for its place.
  const std::vector<models::RequestSpec> requests{request(0, 0, 500, 4), request(1, 0, 500, 1), request(2, 0, 500, 1)};
  EXPECT_EQ(iterations(requests, {"schedule.max_requests=2"}),
            (Names{"prefill", "decode+prefill", "decode", "decode"}));
  EXPECT_EQ(iterations(requests, {"schedule.max_requests=2", "schedule.asynchronous=true"}),
            (Names{"prefill", "decode", "decode+prefill", "decode"}));
}

TEST(AsynchronousIterations, DoNotLeaveTheGpuIdleWhileSomebodyWaits) {
  // One place: after each request there is nothing that could have been decided ahead.
  EXPECT_EQ(iterations({request(0, 0, 500, 1), request(1, 0, 500, 1), request(2, kMs, 500, 1)},
                       {"schedule.max_requests=1", "schedule.asynchronous=true"}),
            (Names{"prefill", "prefill", "prefill"}));
}

TEST(AsynchronousIterations, AreNoOtherForARequestAlone) {
  const std::vector<models::RequestSpec> requests{request(0, 0, 3000, 20)};
  EXPECT_EQ(run(requests, {}).outcome.measured.e2e_s.mean(),
            run(requests, {"schedule.asynchronous=true"}).outcome.measured.e2e_s.mean());
}

// The first prompt takes less than 30 ms, and with the four iterations after it more.

TEST(ReceiveInterval, WhatComesWhileOthersDecodeIsSeenAfterSoManyIterations) {
  const std::vector<models::RequestSpec> requests{request(0, 0, 1000, 8), request(1, 30 * kMs, 100, 1)};
  EXPECT_EQ(iterations(requests, {"schedule.receive_interval=4"}),
            (Names{"prefill", "decode", "decode", "decode", "decode", "decode+prefill", "decode", "decode"}));
  EXPECT_EQ(iterations(requests, {"schedule.receive_interval=6"}),
            (Names{"prefill", "decode", "decode", "decode", "decode", "decode", "decode", "decode+prefill"}));
}

TEST(ReceiveInterval, AfterAChunkAndWhereNothingDecodesRequestsAreSeenAtOnce) {
  EXPECT_EQ(iterations({request(0, 0, 1000, 3), request(1, kMs, 100, 1)}, {"schedule.receive_interval=100"}),
            (Names{"prefill", "decode+prefill", "decode"}));
  EXPECT_EQ(iterations({request(0, 0, 1000, 1), request(1, 200 * kMs, 100, 1)}, {"schedule.receive_interval=100"}),
            (Names{"prefill", "prefill"}));
}

/// The longest time without an iteration between two of them: 40 tokens of one request are decoded, and a second comes
/// meanwhile whose prompt is stored: 3.9 GB, 66 ms.
double longest_pause_s(std::vector<std::string> overrides) {
  overrides.insert(overrides.begin(), {"prefill=stored", "cluster.host.link.read=60 GB/s"});
  const Served r = run({request(0, 0, 1000, 40), request(1, 50 * kMs, 30000, 3)}, overrides);
  EXPECT_EQ(r.outcome.measured.completed, 2U);
  double longest = 0;
  for (std::size_t i = 1; i < r.slices.size(); ++i) {
    longest = std::max(longest, r.slices[i].begin_s - r.slices[i - 1].end_s);
  }
  return longest;
}

TEST(BlockingLoads, HoldUpEverybodyWhoDecodes) {
  EXPECT_LT(longest_pause_s({}), 1e-6);
  EXPECT_NEAR(longest_pause_s({"schedule.blocking_loads=true"}), 30000.0 * 131072 / 60e9, 1e-3);
  EXPECT_NEAR(longest_pause_s({"schedule.blocking_loads=true", "schedule.asynchronous=true"}), 30000.0 * 131072 / 60e9,
              1e-3);
}

TEST(BlockingLoads, TakeNothingFromWhatComputesItsPrompts) {
  const std::vector<models::RequestSpec> requests{request(0, 0, 3000, 4), request(1, kMs, 100, 1),
                                                  request(2, 90 * kMs, 500, 2)};
  for (const std::vector<std::string>& more : {Names{}, Names{"schedule.asynchronous=true", "schedule.max_requests=1"},
                                               Names{"schedule.prefill_order=prefill_first"}}) {
    std::vector<std::string> blocking = more;
    blocking.emplace_back("schedule.blocking_loads=true");
    EXPECT_EQ(run(requests, more).outcome.measured.e2e_s.mean(), run(requests, blocking).outcome.measured.e2e_s.mean());
  }
}

TEST(BatchWait, HoldsPromptsBackForSoManyIterationsWhileOthersDecode) {
  const std::vector<models::RequestSpec> requests{request(0, 0, 1000, 6), request(1, kMs, 100, 1)};
  EXPECT_EQ(iterations(requests, {"schedule.batch_wait.iterations=3"}),
            (Names{"prefill", "decode", "decode", "decode", "decode+prefill", "decode"}));
  // No longer than there is somebody who decodes.
  EXPECT_EQ(iterations(requests, {"schedule.batch_wait.iterations=9"}),
            (Names{"prefill", "decode", "decode", "decode", "decode", "decode", "prefill"}));
}

TEST(BatchWait, EndsWithEnoughOfThem) {
  const Names at_once{"prefill", "decode+prefill", "decode"};
  const std::vector<models::RequestSpec> two{request(0, 0, 1000, 3), request(1, kMs, 100, 1), request(2, kMs, 100, 1)};
  EXPECT_EQ(iterations(two, {"schedule.batch_wait={iterations: 9, requests: 2}"}), at_once);
  EXPECT_NE(iterations(two, {"schedule.batch_wait={iterations: 9, requests: 3}"}), at_once);
  // 200 tokens and the one that is decoded, of 2,048.
  EXPECT_EQ(iterations(two, {"schedule.batch_wait={iterations: 9, tokens: 0.098}"}), at_once);
  EXPECT_NE(iterations(two, {"schedule.batch_wait={iterations: 9, tokens: 0.099}"}), at_once);
}

TEST(Timeline, IsOfTheWholeRunAtThePeriodAskedFor) {
  const Served some = run({request(0, 0, 1000, 5)}, {"run.sample_every=1 ms"});
  const serving::Timeline& t = some.outcome.timeline;
  // A sample a millisecond until the only request is done.
  EXPECT_EQ(t.samples.size(), static_cast<std::size_t>(some.outcome.measured.measured_s * 1e3));
  for (const serving::LoadSample& s : t.samples) {
    EXPECT_EQ(s.running, 1);
    // 1,000 to 1,005 tokens and the next one: 63 blocks of 16 x 131,072 B.
    EXPECT_EQ(s.kv_bytes, 63 * 16 * 131'072);
    EXPECT_EQ(s.kv_streaming_bytes, 0);
  }
  EXPECT_GT(t.samples.size(), 20U);
}

TEST(Timeline, IsThereAtAnyLengthOnlyWhereAPeriodWasAskedFor) {
  const Served none = run({request(0, 0, 1000, 1)}, {});  // over within 0.1 s
  EXPECT_EQ(none.outcome.timeline.period_s, 0);
  const Served some = run({request(0, 0, 1000, 1)}, {"run.sample_every=1 s"});
  EXPECT_EQ(some.outcome.timeline.period_s, 1);
  EXPECT_TRUE(some.outcome.timeline.samples.empty());
}

TEST(Timeline, CountsTheIterationUnderWayAsFarAsItHasCome) {
  // One prompt of 8,192 tokens in four iterations of some 40 ms: every millisecond of them is busy.
  const Served r = run({request(0, 0, 8192, 1)}, {"run.sample_every=1 ms"});
  ASSERT_GT(r.outcome.timeline.samples.size(), 100U);
  std::int64_t ms = 0;
  for (const serving::LoadSample& s : r.outcome.timeline.samples) {
    ++ms;
    EXPECT_EQ(s.gpu.computing.ns, ms * kMs);
    EXPECT_EQ(s.gpu.link.ns + s.gpu.idle.ns, 0);
  }
}

TEST(Timeline, HalvesItselfWhenItIsFull) {
  serving::Timeline t;
  t.period_s = 1;
  for (std::size_t i = 1; i <= t.most; ++i) {
    serving::LoadSample sample;
    sample.running = static_cast<std::int64_t>(i);
    t.add(sample, {{"a link", {.busy_s = static_cast<double>(i), .links = 1}}});
  }
  EXPECT_EQ(t.period_s, 2);
  ASSERT_EQ(t.samples.size(), 60U);
  ASSERT_EQ(t.links["a link"].busy_s.size(), 60U);
  for (std::size_t i = 0; i < t.samples.size(); ++i) {
    ASSERT_EQ(t.samples[i].running, static_cast<std::int64_t>(2 * (i + 1)));  // still of the time (i + 1) period
    ASSERT_EQ(t.links["a link"].busy_s[i], static_cast<double>(2 * (i + 1)));
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
