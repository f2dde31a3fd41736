// Blocks of KV in GPU memory that requests share (schedule.prefix_caching).
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/policy_words.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

constexpr std::int64_t kBlock = 256;          // of generated prompts that begin alike
constexpr std::int64_t kTokenBytes = 131072;  // Llama-3.1-8B
const std::string kOn = "schedule.prefix_caching=true";

/// Prompts are computed and decoded with full KV.
Sets served(const std::string& workload, const Sets& more = {}) {
  Sets sets{"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute", "workload={" + workload + "}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

/// One prefix of 4,096 tokens before 1,000 of each request's own.
std::string questions(const std::string& load) {
  return load + ", prefixes: {count: 1, tokens: 4096 tokens}, context: 1000 tokens, output: 100 tokens";
}

TEST(PrefixCaching, APrefixIsComputedOnceAndTheRestOfEachPrompt) {
  const Sets load = served(questions("closed: {concurrency: 1}, requests: 10"));
  const serving::Measurements m = measure_with(with(load, kOn));
  EXPECT_EQ(m.completed, 10U);
  EXPECT_EQ(m.prefix.on_node_tokens, 9 * 4096);
  EXPECT_EQ(m.prefix.prefilled_tokens, 10 * 1000 + 4096);
  const serving::Measurements without = measure_with(load);
  EXPECT_EQ(without.prefix.on_node_tokens + without.prefix.prefilled_tokens, 0);
  EXPECT_NEAR(m.ttft_s.max(), without.ttft_s.max(), 1e-12);  // of the first one
  EXPECT_LT(m.ttft_s.mean(), 0.5 * without.ttft_s.mean());
  EXPECT_NEAR(m.tpot_s.mean(), without.tpot_s.mean(), 1e-12);  // attention reads all of it
}

// What is left of a prompt takes as long as a chunk of so many tokens after a prefix does anyway.
TEST(PrefixCaching, WhatIsFoundTakesNoTime) {
  const Sets more{"schedule.max_batched_tokens=4096"};
  const serving::Measurements found =
      measure_with(with(served(questions("closed: {concurrency: 1}, requests: 2"), more), kOn));
  const serving::Measurements computed = measure_with(served(questions("closed: {concurrency: 1}, requests: 1"), more));
  const serving::Measurements prefix =
      measure_with(served("closed: {concurrency: 1}, requests: 1, context: 4096 tokens, output: 100 tokens", more));
  EXPECT_NEAR(found.ttft_s.min(), computed.ttft_s.min() - prefix.ttft_s.min(), 0.02 * found.ttft_s.min());
}

// With room for all that was said, a session finds on its own replica what one replica alone would have of it.
TEST(PrefixCaching, SessionsFindOnTheirReplicaWhatOneReplicaAloneHas) {
  const Sets talk = served(
      "closed: {concurrency: 12}, context: 3000 tokens, output: 300 tokens, sessions: {turns: 5, growth: 500 tokens, "
      "think_time: {distribution: exponential, mean: 2 s}, count: 40}",
      {kOn});
  const auto found = [&talk](const Sets& more) {
    Sets sets = talk;
    sets.insert(sets.end(), more.begin(), more.end());
    const serving::Measurements m = measure_with(sets);
    EXPECT_EQ(m.completed, 200U);
    return m.prefix.on_node_tokens;
  };
  const std::int64_t alone = found({});
  EXPECT_GT(alone, 0);
  EXPECT_EQ(found({"cluster.replicas=4", "cluster.router=session"}), alone);
  EXPECT_LT(found({"cluster.replicas=4", "cluster.router=least_loaded"}), alone / 2);
}

// Ten requests more at once need room for ten prompts of their own, and not for ten prefixes.
TEST(PrefixCaching, APrefixIsInMemoryOnce) {
  const auto peak = [](const std::string& clients, const Sets& more) {
    return measure_with(served(questions("closed: {concurrency: " + clients + "}, requests: 400"), more))
        .hbm_reserved_peak_bytes;
  };
  const Sets off{"run.warmup=10 s"}, on = with(off, kOn);  // then the prefix is there
  const std::int64_t own = (1000 + 100 + 1 + 15) / 16 * 16 * kTokenBytes;
  EXPECT_LE(peak("20", on) - peak("10", on), 10 * own);
  EXPECT_GE(peak("20", off) - peak("10", off), 10 * 5096 * kTokenBytes);
}

// Turns of 1,000, 1,300 and 1,600 tokens, answers of 200: a turn finds the whole blocks of what was said before it, but
// for the last token, whose KV nobody computed.
TEST(PrefixCaching, ATurnFindsPromptAndAnswerOfTheOneBefore) {
  const serving::Measurements m = measure_with(with(
      served("closed: {concurrency: 4}, context: 1000 tokens, output: 200 tokens, sessions: {turns: 3, growth: 100 "
             "tokens, think_time: 2 s, count: 12}"),
      kOn));
  EXPECT_EQ(m.completed, 36U);
  EXPECT_EQ(m.prefix.on_node_tokens, 12 * (1199 / kBlock + 1499 / kBlock) * kBlock);
  EXPECT_EQ(m.prefix.on_node_tokens + m.prefix.prefilled_tokens, 12 * (1000 + 1300 + 1600));
}

TEST(PrefixCaching, WithoutAnythingInCommonChangesNothing) {
  const Sets load = served(
      "arrivals: {rate: 6/s}, context: {distribution: lognormal, mean: 3k tokens, cv: 1, max: 20k tokens}, output: "
      "{distribution: exponential, mean: 200 tokens, max: 2k tokens}, sessions: {turns: 1, growth: 10 tokens, "
      "think_time: 1 s, count: 300}");
  const serving::Measurements m = measure_with(with(load, kOn)), without = measure_with(load);
  EXPECT_EQ(m.preemptions, 0U);
  EXPECT_EQ(m.prefix.on_node_tokens, 0);
  EXPECT_EQ(m.events, without.events);
  EXPECT_EQ(m.ttft_s.mean(), without.ttft_s.mean());
  EXPECT_EQ(m.e2e_s.max(), without.e2e_s.max());
}

// A prefix is found by requests that follow as long as memory is not asked for by others.
TEST(PrefixCaching, MemoryThatIsTakenFindsNothing) {
  const std::string load =
      "closed: {concurrency: 40}, context: 3k tokens, output: 300 tokens, sessions: {turns: 8, growth: 500 tokens, "
      "think_time: 5 s, count: 80}";
  const serving::Measurements large = measure_with(with(served(load, {"cluster.gpu.memory_fraction=0.9"}), kOn));
  const serving::Measurements small = measure_with(with(served(load, {"cluster.gpu.memory_fraction=0.26"}), kOn));
  EXPECT_EQ(large.completed, 640U);
  EXPECT_EQ(small.completed, 640U);
  EXPECT_LT(small.prefix.on_node_tokens, large.prefix.on_node_tokens);
  EXPECT_LT(large.ttft_s.mean(), small.ttft_s.mean());
}

TEST(PrefixCaching, StepsAsOneEventGiveTheSame) {
  const Sets load = with(
      served(
          "closed: {concurrency: 30}, prefixes: {count: 5, tokens: 2k tokens}, context: {distribution: lognormal, "
          "mean: 1k tokens, cv: 1}, output: {distribution: exponential, mean: 200 tokens, max: 2k tokens}, sessions: "
          "{turns: 4, growth: 200 tokens, think_time: 1 s, count: 60}",
          {"cluster.gpu.memory_fraction=0.3", "schedule.preempted=cached", "schedule.asynchronous=true"}),
      kOn);
  const serving::Measurements m = measure_with(load), steps = measure_with(with(load, "run.stretches=false"));
  EXPECT_EQ(m.prefix.on_node_tokens, steps.prefix.on_node_tokens);
  EXPECT_EQ(m.ttft_s.mean(), steps.ttft_s.mean());
  EXPECT_EQ(m.e2e_s.max(), steps.e2e_s.max());
  EXPECT_EQ(m.preemptions, steps.preemptions);
}

// In a sweep it is a row, and the others go on.
TEST(PrefixCaching, InBlocksThatDoNotFitCannotBeSimulated) {
  EXPECT_THROW(small_scenario(with(served(questions("closed: {concurrency: 1}, requests: 10"), {kOn}),
                                   "schedule.block_size=48 tokens")),
               scenario::UnworkableScenario);
}

TEST(PrefixCaching, IsComparedWithNothingElse) {
  EXPECT_EQ(
      planner::default_policies(small_scenario(with(served(questions("closed: {concurrency: 1}, requests: 10")), kOn))),
      Sets{"full_kv"});
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
