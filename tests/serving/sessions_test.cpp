// Sessions: users whose requests wait for each other.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

/// Prompts computed and decoded with full KV. `load`: of the workload, with what follows on it.
Sets talk(const std::string& load, const std::string& sessions, const Sets& more = {}) {
  Sets sets{"decode={policy: full_kv}", "schedule.policy=fcfs", "prefill=recompute",
            "workload={" + load + ", sessions: {" + sessions + "}}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return sets;
}

double think_s(const serving::Measurements& m) {
  return m.session_think_s.mean() * static_cast<double>(m.session_think_s.count());
}

TEST(Sessions, ATurnComesWhenTheOneBeforeIsAnsweredAndTheUserHasThought) {
  const serving::Measurements m = measure_with(talk("closed: {concurrency: 1}, context: 1k tokens, output: 50 tokens",
                                                    "turns: 3, growth: 100 tokens, think_time: 2 s, count: 2"));
  EXPECT_EQ(m.arrived, 6U);
  EXPECT_EQ(m.completed, 6U);
  EXPECT_EQ(m.sessions.begun, 2U);
  EXPECT_EQ(m.sessions.finished, 2U);
  EXPECT_EQ(m.sessions.turns, 6);
  EXPECT_EQ(m.session_think_s.count(), 4U);
  EXPECT_EQ(m.session_think_s.mean(), 2);
  EXPECT_EQ(m.prompt_tokens, 2 * (1000 + 1150 + 1300));
  // Alone on the machine: nothing but the turns and the time between them.
  EXPECT_NEAR(m.session_s.mean() * 2, m.e2e_s.mean() * 6 + 8, 1e-9);
  EXPECT_NEAR(m.measured_s, m.session_s.mean() * 2, 1e-9);
  EXPECT_EQ(m.first_turn_ttft_s.count(), 2U);
  EXPECT_EQ(m.later_turn_ttft_s.count(), 4U);
  EXPECT_LT(m.first_turn_ttft_s.max(), m.later_turn_ttft_s.min());  // all of a longer prompt is computed
}

TEST(Sessions, OfOneTurnAreTheRequestsThemselves) {
  const std::string load =
      "arrivals: {rate: 6/s}, context: {distribution: lognormal, mean: 3k tokens, cv: 1, max: 20k "
      "tokens}, output: {distribution: exponential, mean: 200 tokens, max: 2k tokens}";
  const serving::Measurements with =
      measure_with(talk(load, "turns: 1, growth: 10 tokens, think_time: 2 s, count: 300"));
  Sets without = talk(load, "");
  without.back() = "workload={" + load + ", requests: 300}";
  const serving::Measurements alone = measure_with(without);
  EXPECT_EQ(with.events, alone.events);
  EXPECT_EQ(with.ttft_s.mean(), alone.ttft_s.mean());
  EXPECT_EQ(with.e2e_s.max(), alone.e2e_s.max());
  EXPECT_EQ(with.session_s.mean(), alone.e2e_s.mean());
}

TEST(Sessions, ThatArriveOnTheirOwnAllEnd) {
  const serving::Measurements m = measure_with(talk(
      "arrivals: {rate: 2/s}, context: 1k tokens, output: 50 tokens",
      "turns: {distribution: uniform, min: 1, max: 9}, growth: 100 tokens, think_time: {distribution: exponential, "
      "mean: 30 s}, count: 80",
      {"cluster.replicas=2"}));
  EXPECT_EQ(m.sessions.begun, 80U);
  EXPECT_EQ(m.sessions.finished, 80U);
  EXPECT_EQ(m.sessions.under_way, 0U);
  EXPECT_EQ(static_cast<std::int64_t>(m.completed), m.sessions.turns);
}

// N users: N = X (R + Z) of turns, and N = X R of sessions, of which every user is in one.
TEST(Sessions, AClosedLoopObeysLittlesLaw) {
  for (const char* users : {"5", "60"}) {
    const serving::Measurements m = measure_with(talk(
        std::string("closed: {concurrency: ") + users +
            "}, context: 2k tokens, output: {distribution: exponential, "
            "mean: 150 tokens, max: 1k tokens}",
        "turns: {distribution: uniform, min: 1, max: 7}, growth: 300 tokens, think_time: {distribution: exponential, "
        "mean: 5 s}",
        {"run.duration=3000 s", "run.warmup=200 s"}));
    const double n = std::stod(users);
    const double turns = static_cast<double>(m.completed_measured);
    EXPECT_NEAR(turns / m.measured_s * m.e2e_s.mean() + think_s(m) / m.measured_s, n, 0.02 * n);
    EXPECT_NEAR(static_cast<double>(m.sessions.finished) / m.measured_s * m.session_s.mean(), n, 0.02 * n);
    EXPECT_EQ(m.sessions.under_way, static_cast<std::uint64_t>(n));
  }
}

// One user never queues. On a machine with a quarter of the memory bandwidth the sessions last longer by what their
// turns do, and there are fewer of them.
TEST(Sessions, ASlowerMachineStretchesThem) {
  const auto on = [](const char* bandwidth) {
    return measure_with(talk("closed: {concurrency: 1}, context: 2k tokens, output: 200 tokens",
                             "turns: 4, growth: 100 tokens, think_time: 1 s",
                             {std::string("cluster.gpu.type={base: h100-sxm, memory_bandwidth: ") + bandwidth + "}",
                              "run.duration=1000 s"}));
  };
  const serving::Measurements fast = on("3.2 TB/s"), slow = on("0.8 TB/s");
  EXPECT_GT(slow.e2e_s.mean(), 2 * fast.e2e_s.mean());
  EXPECT_NEAR(slow.session_s.mean() - fast.session_s.mean(), 4 * (slow.e2e_s.mean() - fast.e2e_s.mean()),
              0.01 * slow.session_s.mean());
  EXPECT_LT(slow.sessions.finished, fast.sessions.finished);
  EXPECT_EQ(slow.session_think_s.mean(), fast.session_think_s.mean());
}

// With room for everything, what is found of prompts is what they share, counted here from the requests: the whole
// blocks of the turn before.
TEST(Sessions, WithMemoryForAllOfThemTheHitRateIsTheWorkloadsOwn) {
  const scenario::Scenario s = small_scenario(
      talk("arrivals: {rate: 1/s}, context: {distribution: exponential, mean: 2k tokens, max: 8k tokens}, output: "
           "{distribution: exponential, mean: 100 tokens, max: 1k tokens}",
           "turns: {distribution: uniform, min: 1, max: 8}, growth: {distribution: exponential, mean: 200 tokens}, "
           "think_time: {distribution: exponential, mean: 10 s, min: 1 s}, count: 150",
           {"prefill=prefix_cache", "placement={policy: lru}", "cluster.host.memory=100 TiB"}));
  const auto feed = make_feed(s, s.serving.run.seed);
  std::int64_t shared = 0, all = 0;
  while (const auto first = feed->next()) {
    models::RequestSpec turn = *first;
    all += turn.prompt_tokens;
    while (feed->turns()->turn_over(first->session)) {
      shared += turn.prompt_tokens / 256 * 256;
      turn = feed->turns()->next_turn(first->session);
      all += turn.prompt_tokens;
    }
  }
  const serving::Measurements m = measure(s);
  EXPECT_EQ(m.placement.loaded_tokens, shared);
  EXPECT_EQ(m.placement.computed_tokens, all - shared);
  EXPECT_GT(shared, all / 3);
}

TEST(Sessions, AreFoundByTheNextTurnWhereMemoryHoldsThemAndNotWhereItDoesNot) {
  const auto with = [](const char* memory) {
    return measure_with(
        talk("closed: {concurrency: 20}, context: 8k tokens, output: 50 tokens",
             "turns: 6, growth: 200 tokens, think_time: 5 s, count: 60",
             {"prefill=prefix_cache", "placement={policy: lru}", std::string("cluster.host.memory=") + memory}));
  };
  const serving::Measurements roomy = with("1 TiB"), tight = with("4 GiB");
  EXPECT_LT(tight.placement.loaded_tokens, roomy.placement.loaded_tokens / 2);
  EXPECT_LT(roomy.later_turn_ttft_s.mean(), roomy.first_turn_ttft_s.mean());
}

// The third turn does not fit the model's context.
TEST(Sessions, ATurnThatIsRefusedEndsItsSession) {
  const Sets sessions = talk("closed: {concurrency: 2}, context: 100k tokens, output: 10 tokens",
                             "turns: 9, growth: 15k tokens, think_time: 1 s, count: 5");
  const serving::Measurements m = measure_with(sessions);
  EXPECT_EQ(m.sessions.begun, 5U);
  EXPECT_EQ(m.sessions.cut, 5U);
  EXPECT_EQ(m.sessions.finished, 0U);
  EXPECT_EQ(m.completed, 15U);
  EXPECT_EQ(m.refused, 5U);
}

TEST(Sessions, UsersBeginTheNextOneWhenTheFirstTurnIsRefused) {
  const serving::Measurements m = measure_with(
      talk("closed: {concurrency: 2}, context: {distribution: uniform, min: 100k tokens, max: 160k tokens}, output: 10 "
           "tokens",
           "turns: 1, growth: 1 token, think_time: 1 s, count: 20"));
  EXPECT_EQ(m.sessions.begun, 20U);
  EXPECT_GT(m.sessions.cut, 0U);
  EXPECT_EQ(m.sessions.cut, m.refused);
  EXPECT_EQ(m.sessions.finished + m.sessions.cut, 20U);
}

TEST(Sessions, OfTheWarmUpAreNotMeasuredButCounted) {
  const serving::Measurements m =
      measure_with(talk("closed: {concurrency: 3}, context: 1k tokens, output: 50 tokens",
                        "turns: 2, growth: 100 tokens, think_time: 1 s", {"run.duration=100 s", "run.warmup=50 s"}));
  EXPECT_NEAR(static_cast<double>(m.sessions.begun), 2 * static_cast<double>(m.sessions.finished), 12);
  EXPECT_EQ(m.sessions.under_way, 3U);
}

/// Sessions of two turns, the first of which begins so many sub-agents of so many turns.
Sets team(const std::string& agents, const std::string& turns, const Sets& more = {}) {
  return talk("closed: {concurrency: 1}, context: 1k tokens, output: 50 tokens",
              "turns: 2, growth: 100 tokens, think_time: 2 s, count: 3, sub_agents: {count: " + agents +
                  ", turns: " + turns + ", context: 1k tokens}",
              more);
}

// One sub-agent at a time on an empty machine: no two requests overlap, so a session lasts as long as all its requests
// and pauses together.
TEST(SubAgents, AChainLastsAsLongAsItsPartsTogether) {
  const serving::Measurements m = measure_with(team("1", "3"));
  EXPECT_EQ(m.completed, 3U * (2 + 3));
  EXPECT_EQ(m.sessions.finished, 3U);
  EXPECT_EQ(m.sessions.turns, 6) << "their own";
  EXPECT_EQ(m.sub_agent_s.count(), 3U);
  EXPECT_EQ(m.session_think_s.count(), 3U) << "of sessions, not of sub-agents";
  EXPECT_NEAR(m.session_think_s.mean(), m.sub_agent_s.mean() + 2.0, 1e-9) << "from turn to turn";
  EXPECT_NEAR(m.session_s.mean() * 3, m.e2e_s.mean() * 15 + 3 * 3 * 2.0, 1e-9);
  EXPECT_NEAR(m.measured_s, m.session_s.mean() * 3, 1e-9);
}

// A machine of its own for each: side by side they last as long as one does, and the longest decides.
TEST(SubAgents, SideBySideWithRoomForAllLastAsLongAsTheLongest) {
  const Sets roomy{"cluster.replicas=32", "cluster.router=round_robin"};
  const serving::Measurements one = measure_with(team("1", "2", roomy)), eight = measure_with(team("8", "2", roomy));
  EXPECT_EQ(eight.sub_agent_s.count(), 24U);
  EXPECT_NEAR(eight.session_s.mean(), one.session_s.mean(), 1e-9);
  const serving::Measurements uneven = measure_with(team("8", "{distribution: uniform, min: 1, max: 5}", roomy));
  // First turn, the longest, the pause and the second turn.
  EXPECT_NEAR(uneven.session_s.mean() - (one.session_s.mean() - one.sub_agent_s.mean()), uneven.sub_agent_s.max(),
              uneven.sub_agent_s.max() - uneven.sub_agent_s.mean());
  EXPECT_GT(uneven.session_s.mean(), eight.session_s.mean());
}

TEST(SubAgents, AllEndAndAreCountedForThemselves) {
  for (const char* load : {"closed: {concurrency: 4}", "arrivals: {rate: 1/s}"}) {
    const serving::Measurements m = measure_with(
        talk(std::string(load) + ", context: 1k tokens, output: 50 tokens",
             "turns: {distribution: uniform, min: 1, max: 5}, growth: 100 tokens, think_time: {distribution: "
             "exponential, mean: 3 s}, count: 40, sub_agents: {share: 0.4, count: {distribution: uniform, min: 1, max: "
             "4}, turns: {distribution: uniform, min: 1, max: 3}, context: 2k tokens}"));
    EXPECT_EQ(m.sessions.begun, 40U);
    EXPECT_EQ(m.sessions.finished, 40U);
    EXPECT_GT(m.sessions.sub_agents_begun, 10U);
    EXPECT_EQ(m.sub_agent_s.count(), m.sessions.sub_agents_begun);
    EXPECT_EQ(m.arrived, m.completed);
    EXPECT_GT(static_cast<std::int64_t>(m.completed), m.sessions.turns);
  }
}

// The sub-agents' second turns do not fit the model's context; the sessions go on without them.
TEST(SubAgents, ThatAreCutAreNoLongerWaitedFor) {
  const serving::Measurements m = measure_with(
      talk("closed: {concurrency: 2}, context: 1k tokens, output: 10 tokens",
           "turns: 2, growth: 60k tokens, think_time: 1 s, count: 5, sub_agents: {count: 3, turns: 2, context: 100k "
           "tokens}"));
  EXPECT_EQ(m.sessions.finished, 5U);
  EXPECT_EQ(m.sessions.cut, 0U);
  EXPECT_EQ(m.sessions.sub_agents_begun, 15U);
  EXPECT_EQ(m.sessions.sub_agents_cut, 15U);
  EXPECT_EQ(m.refused, 15U);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
