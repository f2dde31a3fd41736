// Answers that count: those whose score reaches a share of the mean score with everything computed (spec "selective
// reuse", goodput).
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "tests/reuse/chunk_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

/// All answers of a method score the same. Relative to everything computed: selective 0.9 at rho 0.15, CacheBlend 0.9 x
/// (1 - 0.2) = 0.72, EPIC with 32 tokens of 512 0.9 x (1 - 0.3) = 0.63, nothing computed again 0.5.
constexpr const char* kAllAlike =
    "workload.tasks=[{name: all-alike, description: no spread, full_score: 0.5, scores: [{rho: 0.15, score: 0.45, "
    "without_spans: 0.36}], full_reuse: 0.5, cacheblend_below: 0.2, epic_below: 0.3, spread: 0}]";
constexpr std::uint64_t kRequests = 60;

Measurements goodput_run(const std::string& method, const std::string& floor, const Sets& more = {}) {
  return run_chunks(
      Sets{kAllAlike, "workload.requests=60", "prefill.policy=" + method, "slo={quality_floor: " + floor + "}"} + more);
}

TEST(Goodput, BelowTheFloorNothingCountsAndAboveItEverythingDoes) {
  for (const char* method : {"epic", "cacheblend", "full_reuse"}) {
    const Measurements m = goodput_run(method, "0.8");
    EXPECT_EQ(m.completed, kRequests) << method;
    EXPECT_EQ(m.good, 0U) << method;
    EXPECT_EQ(m.answers.good, 0U) << method;
  }
  for (const char* method : {"selective", "full_recompute"}) {
    const Measurements m = goodput_run(method, "0.8");
    EXPECT_EQ(m.completed, kRequests) << method;
    EXPECT_EQ(m.good, kRequests) << method;
    EXPECT_EQ(m.answers.good, kRequests) << method;
  }
}

TEST(Goodput, AnswersWithoutSpreadScoreTheMeanOfTheirMethod) {
  const auto relative = [](const std::string& method, const Sets& more = {}) {
    const Measurements m = goodput_run(method, "0.8", more);
    EXPECT_EQ(m.answers.answers, kRequests);
    EXPECT_NEAR(m.answers.full_score, 0.5 * kRequests, 1e-9);
    EXPECT_NEAR(m.answers.score / m.answers.full_score, m.quality / static_cast<double>(m.completed), 1e-12);
    return m.answers.score / m.answers.full_score;
  };
  EXPECT_NEAR(relative("full_recompute"), 1, 1e-12);
  EXPECT_NEAR(relative("selective"), 0.9, 1e-12);
  EXPECT_NEAR(relative("selective", {"prefill.spans.enabled=false"}), 0.72, 1e-12);
  // Rules under which nothing can be completed select what no rules do, and score like it.
  for (const char* rules : {"{cap: tokens}", "{longest: 1 token}", "{variation: 0}"}) {
    EXPECT_NEAR(relative("selective", {std::string("prefill.spans=") + rules}), 0.72, 1e-12) << rules;
  }
  EXPECT_NEAR(relative("cacheblend"), 0.72, 1e-12);
  EXPECT_NEAR(relative("epic"), 0.63, 1e-12);
  EXPECT_NEAR(relative("full_reuse"), 0.5, 1e-12);
  // Everything computed again, whoever says so.
  for (const char* method : {"selective", "cacheblend"}) {
    EXPECT_NEAR(relative(method, {"prefill.rho=1"}), 1, 1e-12) << method;
    EXPECT_NEAR(relative(method, {"prefill.rho=0"}), 0.5, 1e-12) << method;
  }
  EXPECT_NEAR(relative("epic", {"prefill.link_tokens=512 tokens"}), 1, 1e-12);
  EXPECT_NEAR(relative("epic", {"prefill.link_tokens=0 tokens"}), 0.5, 1e-12);
}

TEST(Goodput, NothingComputedAgainIsTheSameWhateverItIsCalled) {
  const Measurements none = goodput_run("full_reuse", "0.8");
  for (const auto& [method, sets] : {std::pair<std::string, Sets>{"selective", {"prefill.rho=0"}},
                                     std::pair<std::string, Sets>{"epic", {"prefill.link_tokens=0 tokens"}}}) {
    const Measurements m = goodput_run(method, "0.8", sets);
    EXPECT_EQ(m.ttft_s.mean(), none.ttft_s.mean()) << method;
    EXPECT_EQ(m.answers.score, none.answers.score) << method;
    EXPECT_EQ(m.reuse.scorers_busy_s, 0) << method;
  }
}

TEST(Goodput, LateAnswersDoNotCountHoweverGood) {
  const Measurements all = goodput_run("selective", "0.8");
  Sets sets = {fmt::format("slo={{quality_floor: 0.8, ttft_p99: {} s}}", all.ttft_s.quantile(0.5))};
  const Measurements half = goodput_run("selective", "0.8", sets);
  EXPECT_EQ(half.answers.good, kRequests);
  EXPECT_EQ(half.good, half.within_slo);
  EXPECT_LT(half.good, kRequests);
  EXPECT_GT(half.good, 0U);
}

TEST(Goodput, WithoutAFloorEveryAnswerCounts) {
  for (const char* method : {"epic", "selective"}) {
    const Measurements m = run_chunks({kAllAlike, "workload.requests=60", fmt::format("prefill.policy={}", method)});
    EXPECT_EQ(m.good, kRequests) << method;
    EXPECT_EQ(m.answers.good, kRequests) << method;
  }
}

// At 3 requests/s computing everything is past what one GPU can do: all of its answers are good, and they come slower.
TEST(Goodput, SelectiveReuseHasMoreGoodAnswersASecondThanAnyOtherWhereTheLoadIsHigh) {
  const auto per_second = [](const std::string& method) {
    const Measurements m =
        goodput_run(method, "0.8",
                    {"workload.arrivals.rate=3/s", "workload.requests=300", "slo={quality_floor: 0.8, ttft_p99: 2 s}"});
    return static_cast<double>(m.good) / m.measured_s;
  };
  const double selective = per_second("selective");
  EXPECT_GT(selective, 2.5);
  for (const char* method : {"full_recompute", "epic", "cacheblend", "full_reuse"}) {
    EXPECT_LT(per_second(method), selective / 2) << method;
  }
}

TEST(Goodput, TasksAreAskedInTurn) {
  // Full scores 0.5 and 0.25, everything computed: 30 answers each.
  const Measurements m = run_chunks(
      {"workload.tasks=[{name: a, description: a, full_score: 0.5, scores: [{rho: 0.15, score: 0.45, without_spans: "
       "0.36}], full_reuse: 0.5, cacheblend_below: 0.2, epic_below: 0.3, spread: 0}, {name: b, description: b, "
       "full_score: 0.25, scores: [{rho: 0.15, score: 0.1, without_spans: 0.08}], full_reuse: 0.3, cacheblend_below: "
       "0.2, epic_below: 0.3, spread: 0}]",
       "workload.requests=60", "slo={quality_floor: 0.8}"});
  EXPECT_NEAR(m.answers.full_score, 30 * 0.5 + 30 * 0.25, 1e-9);
  EXPECT_NEAR(m.answers.score, 30 * 0.45 + 30 * 0.1, 1e-9);
  EXPECT_EQ(m.answers.good, 30U);  // 0.9 and 0.4 of the full score
  EXPECT_EQ(m.good, 30U);
}

// Each answer is compared with itself: the quantile is the request's.
TEST(Goodput, EverythingComputedScoresWhatItScores) {
  const Measurements m = run_chunks({"workload.requests=50", "prefill.policy=full_recompute"});
  EXPECT_DOUBLE_EQ(m.answers.score, m.answers.full_score);
  EXPECT_NE(m.answers.full_score, 0);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
