#include "models/workload/trace_cut.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

/// A request each second from 0 s on, of 1, 2, ... tokens.
std::vector<RequestSpec> recorded(std::int64_t n) {
  std::vector<RequestSpec> all;
  for (std::int64_t i = 0; i < n; ++i) {
    RequestSpec r;
    r.id = static_cast<std::uint64_t>(i);
    r.arrival_ns = i * 1'000'000'000;
    r.prompt_tokens = i + 1;
    r.prefix_blocks = {static_cast<std::uint64_t>(i)};
    all.push_back(r);
  }
  return all;
}

TEST(TraceCut, APartOfItsTimeBeginsAtZero) {
  const auto cut = cut_trace(recorded(10), {.from_s = 2.5, .until_s = 6});
  ASSERT_EQ(cut.size(), 3U);  // at 3, 4 and 5 s
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(cut[i].id, i);
    EXPECT_EQ(cut[i].prompt_tokens, static_cast<std::int64_t>(i + 4));
    EXPECT_EQ(cut[i].arrival_ns, 500'000'000 + static_cast<std::int64_t>(i) * 1'000'000'000);
  }
}

TEST(TraceCut, AShareIsTheSameRequestsWhateverElseIsAsked) {
  const auto half = cut_trace(recorded(10'000), {.keep = 0.5});
  EXPECT_NEAR(static_cast<double>(half.size()), 5'000, 4 * std::sqrt(2'500));
  const auto fewer = cut_trace(recorded(10'000), {.keep = 0.1});
  EXPECT_NEAR(static_cast<double>(fewer.size()), 1'000, 4 * std::sqrt(900));
  std::size_t at = 0;  // those of the smaller share are among those of the larger
  for (const RequestSpec& r : fewer) {
    while (at < half.size() && half[at].prompt_tokens < r.prompt_tokens) ++at;
    ASSERT_LT(at, half.size());
    EXPECT_EQ(half[at].prompt_tokens, r.prompt_tokens);
  }
}

// Ten requests in 9 s: the next round begins a mean gap after the last of them.
TEST(TraceCut, RepeatedRoundsFollowEachOther) {
  const auto thrice = cut_trace(recorded(10), {.repeat = 3});
  ASSERT_EQ(thrice.size(), 30U);
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(thrice[i].id, i);
    EXPECT_EQ(thrice[i].arrival_ns, static_cast<std::int64_t>(i) * 1'000'000'000);
    EXPECT_EQ(thrice[i].prefix_blocks, thrice[i % 10].prefix_blocks);
  }
  const auto cut = cut_trace(recorded(10), {.from_s = 1, .until_s = 3, .repeat = 2});  // 2 s a round
  ASSERT_EQ(cut.size(), 4U);
  EXPECT_EQ(cut[2].arrival_ns, 2'000'000'000);
  EXPECT_EQ(cut[3].arrival_ns, 3'000'000'000);
}

// A session stays whole, and in another round it is another one.
TEST(TraceCut, SessionsAreKeptWholeAndRepeatedAnew) {
  auto all = recorded(4'000);
  for (std::size_t i = 0; i < all.size(); ++i) all[i].session = static_cast<std::int32_t>(i / 4);
  const auto half = cut_trace(all, {.keep = 0.5, .repeat = 2});
  std::map<std::int32_t, int> turns;
  for (const RequestSpec& r : half) turns[r.session] += 1;
  EXPECT_NEAR(static_cast<double>(turns.size()), 1'000, 4 * 2 * std::sqrt(250));
  for (const auto& [session, count] : turns) EXPECT_EQ(count, 4) << session;
}

TEST(TraceCut, NonsenseIsRefusedWithWhatWasExpected) {
  EXPECT_EQ(problem_with(TraceCut{}), "");
  EXPECT_EQ(problem_with(TraceCut{.from_s = -1}), "from is -1 s, expected 0 to 3155760000");
  EXPECT_EQ(problem_with(TraceCut{.from_s = 5, .until_s = 5}), "until is 5 s, expected more than the 5 s of from");
  EXPECT_EQ(problem_with(TraceCut{.keep = 0}), "keep is 0, expected above 0, at most 1");
  EXPECT_EQ(problem_with(TraceCut{.repeat = 0}), "repeat is 0, expected 1 to 10000");
  EXPECT_EQ(failure_of([] { cut_trace(recorded(10), {.from_s = 60}); }),
            "the trace has no request left: expected other times, or a larger share to keep");
  EXPECT_EQ(failure_of([] { cut_trace(recorded(100'000), {.repeat = 10'000}); }),
            "repeat makes 1000000000 requests of 100000, expected at most 100000000");
  EXPECT_EQ(failure_of([] { cut_trace(recorded(10), {.until_s = 3e9, .repeat = 3}); }),
            "repeated so often, the trace lasts beyond a hundred years: expected fewer rounds");
}

// Two sessions, each with a sub-agent that has one of its own: they are kept or left out together.
TEST(TraceCut, SubAgentsAreKeptWithWhoeverBeganThem) {
  std::vector<RequestSpec> all;
  for (std::int32_t i = 0; i < 300; ++i) {
    for (std::int32_t depth = 0; depth < 3; ++depth) {
      RequestSpec r;
      r.id = all.size();
      r.arrival_ns = static_cast<std::int64_t>(r.id);
      r.prompt_tokens = i + 1;
      r.session = 3 * i + depth;
      r.parent = depth == 0 ? -1 : r.session - 1;
      all.push_back(r);
    }
  }
  std::map<std::int64_t, int> kept;
  for (const RequestSpec& r : cut_trace(all, {.keep = 0.5})) ++kept[r.prompt_tokens];
  EXPECT_NEAR(static_cast<double>(kept.size()), 150, 4 * std::sqrt(75));
  for (const auto& [session, requests] : kept) EXPECT_EQ(requests, 3) << session;
  const auto twice = cut_trace(all, {.repeat = 2});
  EXPECT_EQ(twice[900 + 1].parent, 900);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
