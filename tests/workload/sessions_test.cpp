#include "models/workload/sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "models/schema/error.h"
#include "models/workload/request_source.h"
#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

GeneratedWorkload talk() {
  GeneratedWorkload w{{.distribution = Distribution::lognormal, .mean = 900, .cv = 1},
                      {.distribution = Distribution::exponential, .mean = 200},
                      ArrivalSpec{}};
  w.with_blocks = true;
  w.sessions = {{.distribution = Distribution::uniform, .min = 1, .max = 6},
                {.distribution = Distribution::exponential, .mean = 80},
                {.distribution = Distribution::exponential, .mean_s = 20}};
  return w;
}

std::unique_ptr<RandomSource> named(const std::string& what, std::uint64_t index) {
  return std::make_unique<RandomSourceOf<engine::RandomStream>>(engine::RandomStream(1, what, index));
}

RequestSource source(const GeneratedWorkload& workload) {
  return {workload,
          {stream("arrivals"),
           stream("prompts"),
           stream("outputs"),
           stream("prefixes"),
           stream("prefix lengths"),
           {},
           named}};
}

/// All turns of the next session.
std::vector<RequestSpec> session(RequestSource& from) {
  std::vector<RequestSpec> turns{from.next()};
  while (from.turn_over(turns.front().session)) turns.push_back(from.next_turn(turns.front().session));
  return turns;
}

bool begins_with(const std::vector<std::uint64_t>& whole, const std::vector<std::uint64_t>& part) {
  return whole.size() >= part.size() && std::equal(part.begin(), part.end(), whole.begin());
}

TEST(Sessions, APromptIsAllThatWasSaidBeforeAndNewTokensAndBeginsWithItsBlocks) {
  RequestSource from = source(talk());
  EXPECT_EQ(from.block_tokens(), 256);
  std::size_t turns = 0, id = 0;
  for (int i = 0; i < 500; ++i) {
    const std::vector<RequestSpec> all = session(from);
    turns += all.size();
    for (std::size_t t = 0; t < all.size(); ++t) {
      EXPECT_EQ(all[t].id, id++);
      EXPECT_EQ(all[t].session, i);
      EXPECT_EQ(std::ssize(all[t].prefix_blocks), all[t].prompt_tokens / 256);  // whole ones
      if (t == 0) continue;
      EXPECT_GT(all[t].prompt_tokens, all[t - 1].prompt_tokens + all[t - 1].output_tokens);
      EXPECT_TRUE(begins_with(all[t].prefix_blocks, all[t - 1].prefix_blocks));
    }
  }
  EXPECT_NEAR(static_cast<double>(turns) / 500, 3.5, 0.35);
}

TEST(Sessions, ShareNothingButTheirPrefix) {
  GeneratedWorkload w = talk();
  RequestSource alone = source(w);
  w.prefixes = SharedPrefixSpec{1, 0, {.mean = 600}};
  RequestSource with = source(w);
  const auto a = alone.next(), b = alone.next();
  for (const std::uint64_t block : a.prefix_blocks) {
    EXPECT_EQ(std::count(b.prefix_blocks.begin(), b.prefix_blocks.end(), block), 0);
  }
  const auto c = session(with), d = session(with);
  for (const RequestSpec& turn : c) {
    ASSERT_GE(turn.prefix_blocks.size(), 2U);
    EXPECT_EQ(turn.prefix_blocks[0], d[0].prefix_blocks[0]);
    EXPECT_EQ(turn.prefix_blocks[1], d[0].prefix_blocks[1]);
    EXPECT_EQ(turn.context, 0);
    if (turn.prefix_blocks.size() > 2 && d.back().prefix_blocks.size() > 2) {
      EXPECT_NE(turn.prefix_blocks[2], d.back().prefix_blocks[2]);
    }
  }
}

// However fast each of them is served, a session is the same one.
TEST(Sessions, AreTheSameInWhateverOrderTheirTurnsCome) {
  RequestSource one_by_one = source(talk()), interleaved = source(talk());
  std::map<std::int64_t, std::vector<RequestSpec>> expected, got;
  for (int i = 0; i < 50; ++i) expected[i] = session(one_by_one);
  for (int i = 0; i < 50; ++i) got[i].push_back(interleaved.next());
  for (bool any = true; any;) {
    any = false;
    for (std::int64_t i = 49; i >= 0; --i) {
      if (got[i].size() == expected[i].size()) continue;
      ASSERT_TRUE(interleaved.turn_over(i));
      got[i].push_back(interleaved.next_turn(i));
      any = true;
    }
  }
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(interleaved.turn_over(i));
    for (std::size_t t = 0; t < expected[i].size(); ++t) {
      EXPECT_EQ(got[i][t].prompt_tokens, expected[i][t].prompt_tokens);
      EXPECT_EQ(got[i][t].output_tokens, expected[i][t].output_tokens);
      EXPECT_EQ(got[i][t].prefix_blocks, expected[i][t].prefix_blocks);
    }
  }
}

TEST(Sessions, AnotherGrowthLeavesAnswersAndThinkTimes) {
  GeneratedWorkload w = talk();
  RequestSource a = source(w);
  w.sessions->growth.mean = 800;
  RequestSource b = source(w);
  bool longer = false;
  for (int i = 0; i < 100; ++i) {
    RequestSpec x = a.next(), y = b.next();
    EXPECT_EQ(x.prompt_tokens, y.prompt_tokens);
    for (;;) {
      EXPECT_EQ(x.output_tokens, y.output_tokens);
      const auto think = a.turn_over(i);
      EXPECT_EQ(think, b.turn_over(i));
      if (!think) break;
      x = a.next_turn(i);
      y = b.next_turn(i);
      longer |= y.prompt_tokens > x.prompt_tokens;
    }
  }
  EXPECT_TRUE(longer);
}

TEST(Sessions, AreForgottenWhenTheyAreOver) {
  Sessions sessions(*talk().sessions, LengthSampler(LengthSpec{}), named);
  RequestSpec first;
  for (std::int64_t i = 0; i < 1'000; ++i) {
    sessions.begin(first);
    EXPECT_EQ(first.session, i);
    EXPECT_EQ(sessions.under_way(), 1U);
    if (i % 10 == 0) sessions.forget(i);
    while (i % 10 != 0 && sessions.turn_over(i)) (void)sessions.next_turn(i);
    EXPECT_EQ(sessions.under_way(), 0U);
  }
}

TEST(Sessions, NonsenseIsRefusedWithWhatWasExpected) {
  const auto problem = [](auto change) {
    SessionSpec spec = *talk().sessions;
    change(spec);
    return problem_with(spec);
  };
  EXPECT_EQ(problem([](SessionSpec&) {}), "");
  EXPECT_EQ(problem([](SessionSpec& s) { s.turns.min = 0; }), "turns: min is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem([](SessionSpec& s) { s.growth.mean = 0; }), "growth: mean is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem([](SessionSpec& s) { s.think_time.mean_s = 0; }),
            "think_time: mean is 0 s, expected above 0 to 31557600");
  EXPECT_EQ(problem([](SessionSpec& s) { s.think_time.min_s = -1; }),
            "think_time: min is -1 s, expected 0 to 31557600");
  EXPECT_EQ(problem([](SessionSpec& s) { s.think_time.max_s = 1e9; }),
            "think_time: max is 1000000000 s, expected 0 (min) to 31557600");
  EXPECT_EQ(problem([](SessionSpec& s) {
              s.think_time = {Distribution::gamma, 1, 0};
            }),
            "think_time: cv is 0, expected above 0, at most 100");
}

/// Mean and standard deviation of 100,000 draws over their mean.
std::pair<double, double> drawn(const TimeSpec& spec) {
  const TimeSampler sampler(spec);
  const auto random = stream("times");
  constexpr int n = 100'000;
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double time_s = static_cast<double>(sampler.sample_ns(*random)) * 1e-9;
    sum += time_s;
    squares += time_s * time_s;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean};
}

TEST(TimeSampler, HasTheMeanAndCvOfItsLaw) {
  using enum Distribution;
  EXPECT_EQ(drawn({fixed, 3}).first, 3);
  const auto near = [](const TimeSpec& spec, double mean, double cv) {
    const auto [m, c] = drawn(spec);
    EXPECT_NEAR(m, mean, 0.02 * mean);
    EXPECT_NEAR(c, cv, 0.03 * cv);
  };
  near({exponential, 3}, 3, 1);
  near({gamma, 3, 0.5}, 3, 0.5);
  near({lognormal, 3, 0.5}, 3, 0.5);
  near({.distribution = uniform, .min_s = 2, .max_s = 4}, 3, 1 / (3 * std::sqrt(3.0)));
  EXPECT_GE(drawn({exponential, 3, 1, 2.5}).first, 2.5);
  EXPECT_LE(drawn({.distribution = exponential, .mean_s = 3, .max_s = 2}).first, 2);
}

GeneratedWorkload team() {
  GeneratedWorkload w = talk();
  w.sessions->turns = {.mean = 3};
  w.sessions->sub_agents = {.share = 0.5,
                            .count = {.distribution = Distribution::uniform, .min = 1, .max = 3},
                            .turns = {.mean = 2},
                            .context = {.mean = 700}};
  return w;
}

// Two of three turns are followed by another; half of them begin two sub-agents on average.
TEST(SubAgents, AreBegunByTheirShareOfTheTurnsThatAnotherOneFollows) {
  RequestSource from = source(team());
  constexpr int kSessions = 2'000;
  int begun = 0;
  std::map<std::int32_t, int> numbers;
  for (int i = 0; i < kSessions; ++i) {
    const std::int32_t session = from.next().session;
    for (int turn = 1; turn <= 3; ++turn) {
      const auto agents = from.begin_sub_agents(session);
      EXPECT_TRUE(turn < 3 || agents.empty());
      for (const RequestSpec& first : agents) {
        ++begun;
        ++numbers[first.session];
        EXPECT_EQ(first.parent, session);
        EXPECT_EQ(first.prompt_tokens, 700);
        EXPECT_EQ(first.turn, 1);
        EXPECT_TRUE(from.begin_sub_agents(first.session).empty()) << "none of their own";
        ASSERT_TRUE(from.turn_over(first.session));
        const RequestSpec second = from.next_turn(first.session);
        EXPECT_EQ(second.parent, session);
        EXPECT_GT(second.prompt_tokens, first.prompt_tokens + first.output_tokens);
        EXPECT_TRUE(begins_with(second.prefix_blocks, first.prefix_blocks));
        EXPECT_FALSE(from.turn_over(first.session));
      }
      if (from.turn_over(session)) (void)from.next_turn(session);
    }
  }
  EXPECT_EQ(static_cast<int>(numbers.size()), begun);
  // Of 4,000 turns: mean 1 and a variance of half of 2^2 + 2/3, less 1.
  EXPECT_NEAR(begun, 4'000, 4 * std::sqrt(4'000 * (0.5 * (4 + 2.0 / 3) - 1)));
}

// A sub-agent is the same one whatever began before it.
TEST(SubAgents, DependOnTheTurnThatBeginsThemAlone) {
  GeneratedWorkload w = team();
  w.sessions->sub_agents->share = 1;
  RequestSource one = source(w), other = source(w);
  for (int i = 0; i < 2; ++i) {
    (void)one.next();
    (void)other.next();
  }
  (void)one.begin_sub_agents(0);
  const auto late = one.begin_sub_agents(1), early = other.begin_sub_agents(1);
  ASSERT_EQ(late.size(), early.size());
  for (std::size_t i = 0; i < late.size(); ++i) {
    EXPECT_NE(late[i].session, early[i].session);
    EXPECT_EQ(late[i].output_tokens, early[i].output_tokens);
    EXPECT_EQ(late[i].prefix_blocks, early[i].prefix_blocks);
    EXPECT_EQ(one.turn_over(late[i].session), other.turn_over(early[i].session));
  }
}

TEST(SubAgents, OfALawWithoutABoundMayBeTooMany) {
  GeneratedWorkload w = team();
  w.sessions->sub_agents->share = 1;
  w.sessions->sub_agents->count = {.distribution = Distribution::lognormal, .mean = 9'000, .cv = 100};
  RequestSource from = source(w);
  try {
    for (int i = 0; i < 1'000; ++i) (void)from.begin_sub_agents(from.next().session);
    ADD_FAILURE() << "a sixteenth of the turns have so many";
  } catch (const schema::InputError& e) {
    EXPECT_TRUE(std::string(e.what()).starts_with("workload.sessions.sub_agents.count: a turn begins ")) << e.what();
    EXPECT_TRUE(std::string(e.what()).ends_with(" at once, expected 10000 or fewer: give max")) << e.what();
  }
}

TEST(SubAgents, LeaveTheSessionsAsTheyAre) {
  RequestSource with = source(team());
  GeneratedWorkload w = team();
  w.sessions->sub_agents.reset();
  RequestSource without = source(w);
  for (int i = 0; i < 50; ++i) {
    (void)with.begin_sub_agents(with.next().session);
    (void)without.next();
    EXPECT_EQ(with.turn_over(i), without.turn_over(i));
    const RequestSpec a = with.next_turn(i), b = without.next_turn(i);
    EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
    EXPECT_EQ(a.output_tokens, b.output_tokens);
    EXPECT_EQ(a.prefix_blocks, b.prefix_blocks);
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
