// Conversations that a trace does not name: prompts that go on from earlier ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/traffic/traffic_support.h"

namespace kvsim::planner::traffic::KVSIM_FILE {
namespace {

using Blocks = std::vector<std::uint64_t>;

models::RequestSpec request(std::int64_t at_s, std::int64_t prompt, const Blocks& blocks) {
  models::RequestSpec r;
  r.arrival_ns = at_s * 1'000'000'000;
  r.prompt_tokens = prompt;
  r.output_tokens = 100;
  r.prefix_blocks = blocks;
  return r;
}

/// 200 conversations, one every 10 s, whose first prompts are two blocks of 512 tokens: the first is everybody's, the
/// second its own. Two further turns come 30 s later each and are one block longer.
TrafficSample talks() {
  std::vector<models::RequestSpec> all;
  for (std::int64_t i = 0; i < 200; ++i) {
    Blocks blocks{1, static_cast<std::uint64_t>(1'000 * i + 10)};
    for (std::int64_t turn = 0; turn < 3; ++turn) {
      all.push_back(request(10 * i + 30 * turn, 1'024 + 512 * turn, blocks));
      blocks.push_back(blocks.back() + 1);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
  TrafficSample sample(512);
  for (const models::RequestSpec& r : all) sample.add(r);
  return sample;
}

TEST(Conversations, AreKnownByPromptsThatGoOnFromEarlierOnes) {
  const TrafficFit alone = fit_traffic(talks());
  EXPECT_TRUE(alone.conversations);
  EXPECT_FALSE(alone.session_laws);
  EXPECT_TRUE(std::any_of(alone.lost.begin(), alone.lost.end(),
                          [](const std::string& s) { return s.starts_with("conversations: "); }));

  const TrafficFit fit = fit_traffic(talks(), true);
  ASSERT_TRUE(fit.session_laws);
  EXPECT_EQ(fit.sessions->sessions, 200U);
  EXPECT_EQ(fit.sessions->turns.mean.value, 3);
  EXPECT_EQ(fit.sessions->growth->mean.value, 512 - 100);
  EXPECT_EQ(fit.sessions->turn_gap_ns->mean.value, 30e9);
  EXPECT_EQ(fit.arrivals->law.kind, models::ArrivalKind::constant);
  // What all of them begin with is a prefix: the block, and half of the next.
  ASSERT_TRUE(fit.with_prefixes);
  EXPECT_EQ(fit.prefixes->law.count, 1);
  EXPECT_EQ(fit.prefixes->law.tokens.mean, 512 + 256);
  const scenario::Scenario s = scenario::load_scenario_text(with_fit(fit), "fitted.yaml");
  EXPECT_EQ(s.workload.prefixes->count, 1);
  EXPECT_EQ(s.workload.context->mean, 1'024 - 768);
  EXPECT_EQ(s.workload.sessions->spec.turns.mean, 3);
}

/// What is lost under this word.
std::string loss(const TrafficFit& fit, const std::string& word) {
  for (const std::string& s : fit.lost) {
    if (s.starts_with(word)) return s;
  }
  return {};
}

// The last turns are at 2,050 s: conversations whose own is after 2,020 s are three of 200.
TEST(Conversations, ThatTheTracesEndCutsAreSaidToBeLost) {
  EXPECT_EQ(
      loss(fit_traffic(talks(), true), "turns beyond the trace: "),
      "turns beyond the trace: 1.5 % of sessions had their latest turn less than the mean time between turns (30 s) "
      "before its end, so turns are fewer than sessions have; a trace of the law that is as long is cut once more, "
      "and has fewer still");
}

// Three of ten first prompts end within the block after everybody's.
TEST(Conversations, ThatBeginTooShortToBeSeenAreSaidToBeLost) {
  EXPECT_EQ(loss(fit_traffic(talks(), true), "turns after short prompts: "), "");
  std::vector<models::RequestSpec> all;
  for (std::int64_t i = 0; i < 200; ++i) {
    Blocks blocks{1, static_cast<std::uint64_t>(1'000 * i + 10)};
    for (std::int64_t turn = 0; turn < 3; ++turn) {
      const bool is_short = turn == 0 && i % 10 < 3;
      all.push_back(request(10 * i + 30 * turn, is_short ? 600 : 1'024 + 512 * turn, is_short ? Blocks{1} : blocks));
      blocks.push_back(blocks.back() + 1);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.arrival_ns < b.arrival_ns; });
  TrafficSample sample(512);
  for (const models::RequestSpec& r : all) sample.add(r);
  const TrafficFit fit = fit_traffic(sample, true);
  EXPECT_EQ(fit.sessions->sessions, 260U) << "the others' further turns are not seen to be theirs";
  EXPECT_TRUE(loss(fit, "turns after short prompts: ").starts_with("turns after short prompts: 10.0 % of prompts"));
}

// Questions about ten documents are no conversations: a prompt is as long as the one before it, and not a longer one.
TEST(Conversations, AreNotQuestionsAboutTheSameDocument) {
  TrafficSample sample(512);
  for (std::int64_t i = 0; i < 300; ++i) {
    const auto document = static_cast<std::uint64_t>(i % 10);
    sample.add(request(i, 512 * 3 + 50 + i * 37 % 100, {100 * document + 1, 100 * document + 2, 100 * document + 3}));
  }
  EXPECT_FALSE(sample.conversations());
  EXPECT_FALSE(fit_traffic(sample).conversations);
  EXPECT_THROW(fit_traffic(sample, true), std::exception);
}

TEST(Conversations, OfATraceThatNamesSessionsAreThose) {
  TrafficSample sample(512);
  models::RequestSpec r = request(0, 1'024, {1, 2});
  r.session = 0;
  sample.add(r);
  sample.add(request(5, 2'048, {1, 2, 3, 4}));
  EXPECT_FALSE(sample.conversations());
}

}  // namespace
}  // namespace kvsim::planner::traffic::KVSIM_FILE
