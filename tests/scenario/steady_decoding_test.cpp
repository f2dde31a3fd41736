// Requests that decode or draft in step with each other are simulated as one (UniformBatch), unless there is a timeline
// that shows each; and steps in which nothing else happens are one event (a stretch). A schedule is asked about a
// request when what it decided stands no longer; where every step is an event, about everybody in each. With and
// without must give the same, to the last bit.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include <fmt/format.h>

#include "sim/engine/trace.h"
#include "sim/serving/bottleneck.h"
#include "tests/scenario/summary.h"
#include "tests/support/pools_scenario.h"
#include "tests/support/random_pools.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

class Nowhere final : public engine::TraceSink {
 public:
  int add_track(std::string_view, std::string_view) override { return 0; }
  int add_counter(std::string_view, std::string_view) override { return 0; }
  void slice(int, std::string_view, engine::SimTime, engine::SimTime, std::uint64_t, double) override {}
  void counter(int, engine::SimTime, double) override {}
};

std::string one_by_one(const scenario::Scenario& s) {
  Nowhere trace;
  serving::SimulationOptions options;
  options.trace = &trace;
  return summary(planner::simulate_replication(s, 0, options).measured);
}

std::string together(const scenario::Scenario& s) {
  return summary(planner::simulate_replication(s, 0, {}).measured);
}

/// The load over time, sampled while it runs.
std::string over_time(scenario::Scenario s, bool stretches) {
  s.serving.run.stretches = stretches;
  serving::SimulationOptions options;
  options.timeline = true;
  const serving::SimulationOutcome outcome = planner::simulate_replication(s, 0, options);
  std::string all = summary(outcome.measured);
  for (const serving::LoadSample& at : outcome.timeline.samples) {
    all += fmt::format("{} {} {}", at.running, at.waiting, at.kv_bytes);
    for (const serving::TimePartName& part : serving::kTimeParts) all += fmt::format(" {}", part.seconds(at.gpu));
    all += "\n";
  }
  return all;
}

std::vector<std::string> drawn_sets() {
  const std::string load =
      (*rc::gen::arbitrary<bool>()
           ? fmt::format("closed: {{concurrency: {}}}", *rc::gen::inRange(1, 60))
           : fmt::format("arrivals: {{process: gamma, rate: {}/s, cv: 3}}", *rc::gen::inRange(1, 200))) +
      (*rc::gen::arbitrary<bool>()
           ? ""
           : fmt::format(", sessions: {{turns: {{distribution: uniform, min: 1, max: {}}}, "
                         "growth: {} tokens, think_time: {} s}}",
                         *rc::gen::inRange(1, 9), *rc::gen::inRange(1, 900), *rc::gen::element(0.0, 0.05, 1.0)));
  return {"decode={policy: full_kv}", "schedule.policy=fcfs",
          // From room for one of these requests up.
          fmt::format("cluster.gpu.memory_fraction={:.3f}", *rc::gen::inRange(240, 500) / 1000.0),
          fmt::format("cluster.replicas={}", *rc::gen::inRange(1, 3)),
          fmt::format("prefill={}", *rc::gen::element("stored", "recompute")),
          fmt::format("cluster.host.discipline={}", *rc::gen::element("serialised", "fair_share")),
          fmt::format("schedule.max_requests={}", *rc::gen::inRange(1, 80)),
          fmt::format("schedule.max_batched_tokens={}", *rc::gen::inRange(100, 4096)),
          fmt::format("schedule.block_size={} tokens", *rc::gen::element(1, 7, 16, 64)),
          fmt::format("schedule.asynchronous={}", *rc::gen::element("true", "false")),
          fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
          fmt::format("run.warmup={} s", *rc::gen::element(0.0, 0.3)),
          fmt::format("run.duration={} s", *rc::gen::element(0.5, 2.0, 10.0)),
          "slo={ttft_p99: 1 s, tpot_p99: 30 ms, itl_p99: 60 ms}",
          fmt::format("workload={{{}, context: {{distribution: lognormal, mean: {} tokens, cv: 1, max: 4k tokens}}, "
                      "output: {{distribution: exponential, mean: {} tokens, max: 2k tokens}}}}",
                      load, *rc::gen::inRange(10, 4000), *rc::gen::inRange(1, 400))};
}

/// The same with requests that draft and verify, under any schedule.
std::vector<std::string> drawn_rounds() {
  std::vector<std::string> sets = drawn_sets();
  const bool stored = *rc::gen::arbitrary<bool>();
  const bool resident = *rc::gen::arbitrary<bool>();
  const std::int64_t longest = *rc::gen::inRange(1, 25);
  const std::string compressor =
      resident || *rc::gen::arbitrary<bool>()
          ? fmt::format("compressor: {}, keep_ratio: {:.2f}", *rc::gen::element("snapkv", "kvzap", "fast-kvzip"),
                        *rc::gen::inRange(10, 90) / 100.0)
          : fmt::format("compressor: {}", *rc::gen::element("kivi-2bit", "kivi-4bit", "kvquant"));
  const std::string lengths = *rc::gen::element<std::string>(
      "", "draft_lengths: {policy: adaptive, maximum: 20}, ", "draft_lengths: {policy: goodput, maximum: 16}, ",
      "draft_lengths: {policy: table, table: [{batch: 2, context: 500 tokens, draft_length: 9}, "
      "{batch: 8, context: 500 tokens, draft_length: 3}]}, ");
  const std::int64_t most = lengths.empty() ? longest : 20;  // no limit is below what is drafted
  sets.push_back(fmt::format("prefill={}", stored ? "stored" : "recompute"));
  sets.push_back(fmt::format("decode={{policy: {}, {}{}, draft_length: {}, resident: {}, draft_limit: {}}}",
                             resident ? "sparse_self" : "draft_verify", lengths, compressor, longest,
                             *rc::gen::element(0, 0, 2), *rc::gen::element<std::int64_t>(0, most, most + 3)));
  sets.push_back(fmt::format("schedule.policy={}",
                             *rc::gen::element("staggered", "staggered", "fcfs", "lock_step", "sequential_verify")));
  sets.push_back(fmt::format("schedule.arrival={}", *rc::gen::element("layerwise", "whole")));
  sets.push_back(fmt::format("schedule.window={}", *rc::gen::element(8, 32, 128)));
  sets.push_back(fmt::format("schedule.max_requests={}", *rc::gen::inRange(2, 80)));
  sets.push_back(fmt::format("cluster.host.link.latency={}", *rc::gen::element("1 us", "2 ms", "100 ms")));
  sets.push_back(
      fmt::format("cluster.gpu.profile.interference={{kernels_to_gpu: {}, copies_to_gpu: {}, "
                  "kernels_from_gpu: {}, copies_from_gpu: 0.1}}",
                  *rc::gen::element("0", "0.37"), *rc::gen::element("0", "0.2"), *rc::gen::element("0", "1.5")));
  // A verification may be longer than a step has room for beside the others.
  sets.push_back(fmt::format("schedule.max_batched_tokens={}", *rc::gen::element(60, 300, 4096)));
  return sets;
}

/// The same with requests that decode over compressed KV.
std::vector<std::string> drawn_lossy() {
  std::vector<std::string> sets = drawn_sets();
  sets.push_back(fmt::format(
      "decode={{policy: lossy, {}}}",
      *rc::gen::arbitrary<bool>()
          ? fmt::format("compressor: {}, keep_ratio: {:.3f}", *rc::gen::element("snapkv", "kvzap", "fast-kvzip"),
                        *rc::gen::inRange(50, 950) / 1000.0)
          : fmt::format("compressor: {}",
                        *rc::gen::element("kivi-1bit", "kivi-2bit", "kivi-4bit", "kivi-8bit", "kvquant", "rotatekv"))));
  return sets;
}

void same_together(scenario::Scenario s) {
  s.serving.run.token_samples = *rc::gen::arbitrary<bool>();
  RC_ASSERT(one_by_one(s) == together(s));
  RC_ASSERT(over_time(s, false) == over_time(s, true));
}

TEST(SteadyDecoding, AreTurnedOffByTheirKey) {
  EXPECT_TRUE(small_scenario({}).serving.run.stretches);
  EXPECT_FALSE(small_scenario({"run.stretches=false"}).serving.run.stretches);
}

RC_GTEST_PROP(SteadyDecodingProperty, RoundsTogetherAreOneByOne, ()) {
  same_together(small_scenario(drawn_rounds()));
}

RC_GTEST_PROP(SteadyDecodingProperty, OverCompressedKvTogetherIsOneByOne, ()) {
  same_together(small_scenario(drawn_lossy()));
}

RC_GTEST_PROP(SteadyDecodingProperty, TogetherIsOneByOne, ()) {
  scenario::Scenario s = small_scenario(drawn_sets());
  s.serving.run.token_samples = *rc::gen::arbitrary<bool>();
  if (*rc::gen::arbitrary<bool>()) s.serving.run.judge_until_s = 1;
  if (*rc::gen::arbitrary<bool>())
    s.serving.run.most_misses = {{serving::kAnyMiss, *rc::gen::inRange<std::uint64_t>(0, 50)}};
  RC_ASSERT(one_by_one(s) == together(s));
  RC_ASSERT(over_time(s, false) == over_time(s, true));
}

RC_GTEST_PROP(SteadyDecodingProperty, BetweenPoolsTogetherIsOneByOne, ()) {
  scenario::Scenario s = pools_scenario(random_pools());
  if (*rc::gen::arbitrary<bool>()) s.serving.run.warmup_s = *rc::gen::inRange(0, 300) / 1000.0;
  RC_ASSERT(one_by_one(s) == together(s));
  RC_ASSERT(over_time(s, false) == over_time(s, true));
}

TEST(SteadyDecoding, NodesInLockStepAreOneByOne) {
  // Equal requests that all come at once: steps, arrivals and messages of many nodes are at the same nanosecond again
  // and again, and which is first decides who is verified with whom.
  for (const char* latency : {"0 ms", "1 ms"}) {
    const scenario::Scenario s = pools_scenario({"cluster.pools.local.nodes=6", "cluster.pools.remote.nodes=14",
                                                 "workload.closed.concurrency=160", "workload.requests=640",
                                                 "decode.acceptance={model: constant, agreement: 1}",
                                                 fmt::format("cluster.pools.message_latency={}", latency)});
    EXPECT_EQ(one_by_one(s), together(s)) << latency;
    EXPECT_EQ(over_time(s, false), over_time(s, true)) << latency;
  }
}

TEST(SteadyDecoding, AStretchEndsWhereSomebodyLooks) {
  // One request alone: all of its steps are one stretch, but for the samples on the way.
  scenario::Scenario s =
      small_scenario({"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
                      "workload={closed: {concurrency: 1}, requests: 3, context: 500 tokens, output: "
                      "2000 tokens}"});
  for (const double period_s : {1e-6, 0.0137, 0.5}) {
    s.serving.run.sample_every_s = period_s;
    EXPECT_EQ(over_time(s, false), over_time(s, true)) << period_s;
  }
}

TEST(SteadyDecoding, WhoIsReadyDuringAnothersFirstStepIsNotPartOfIt) {
  // Under fair share a short context is there before a long one that was admitted first.
  const scenario::Scenario s = small_scenario(
      {"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=stored", "cluster.host.discipline=fair_share",
       "workload={arrivals: {process: poisson, rate: 40/s}, requests: 200, output: {distribution: exponential, mean: "
       "40 "
       "tokens, max: 200 tokens}, context: {distribution: lognormal, mean: 4k tokens, cv: 2, max: 20k tokens}}"});
  EXPECT_EQ(one_by_one(s), together(s));
}

TEST(SteadyDecoding, WhoDraftsIsNotLookedAtInEveryStep) {
  // One request that drafts 4,000 tokens and verifies once: its drafting is one event, where each step was one.
  scenario::Scenario s = small_scenario(
      {"decode={policy: sparse_self, compressor: kvzip, keep_ratio: 0.25, draft_length: 4000}",
       "workload={closed: {concurrency: 1}, requests: 1, context: 500 tokens, output: 4001 tokens}",
       "decode.acceptance={model: constant, agreement: 1}", "schedule={policy: fcfs, max_batched_tokens: 9000}"});
  EXPECT_EQ(over_time(s, false), over_time(s, true));
  EXPECT_EQ(one_by_one(s), together(s));
}

TEST(SteadyDecoding, WhoHasNothingToDraftIsVerifiedWhenAReloadThatWasBroughtForwardAllowsIt) {
  // Eight tokens to draft and few requests: all have drafted before the first reload was to start, and it is started
  // earlier than was decided for its request, which is verified while the last layers arrive.
  const scenario::Scenario s =
      small_scenario({"workload.output=8 tokens", "cluster.host.link.latency=2 ms", "cluster.gpu.memory_fraction=0.3",
                      "decode.draft_length=25", "workload.requests=120"});
  EXPECT_EQ(over_time(s, false), over_time(s, true));
  EXPECT_EQ(one_by_one(s), together(s));
}

TEST(SteadyDecoding, WhoWaitsForMemoryToBeVerifiedIsTheSame) {
  // Room for few reloads: one waits for it, and its request drafts on, or stalls where it may draft no more, while
  // others go on. By layers, it is verified while the last of them arrive. Of four requests hardly ever one waits to
  // enter.
  for (const char* policy : {"fcfs", "staggered"}) {
    for (const char* arrival : {"layerwise", "whole"}) {
      for (const int requests : {4, 6}) {
        const scenario::Scenario s = small_scenario(
            {fmt::format("schedule={{policy: {}, arrival: {}}}", policy, arrival), "cluster.gpu.memory_fraction=0.25",
             fmt::format("workload.closed.concurrency={}", requests), "workload.output=100 tokens",
             "workload.context={distribution: lognormal, mean: 10k tokens, cv: 0.9, max: 40k tokens}"});
        EXPECT_GT(measure(s).memory_short_s, 0) << policy << ", " << arrival << ", " << requests;
        EXPECT_EQ(over_time(s, false), over_time(s, true)) << policy << ", " << arrival << ", " << requests;
        EXPECT_EQ(one_by_one(s), together(s)) << policy << ", " << arrival << ", " << requests;
      }
    }
  }
}

TEST(SteadyDecoding, WhoIsPushedOutForLackOfMemoryIsTheSame) {
  const scenario::Scenario s =
      small_scenario({"decode={policy: full_kv}", "schedule.policy=fcfs", "cluster.gpu.memory_fraction=0.22",
                      "prefill=recompute", "workload.context=1000 tokens", "workload.output=1500 tokens"});
  EXPECT_GT(measure(s).preemptions, 10U);
  EXPECT_EQ(one_by_one(s), together(s));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
