// Which rows of a comparison are marked as the best of a column.
#include "planner/policy_words.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <sstream>

#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/comparison.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Better;
using results::Column;
using results::Competitor;
using results::Json;
using results::Kind;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr Competitor kLossless{true, true, true};
constexpr Competitor kLossy{false, true, true};

/// A column that prints whole numbers.
Column column(Better better, const std::vector<double>& values, Kind kind = Kind::plain) {
  Column c{"n", "n", better, kind, values, {}};
  for (const double value : values) c.cells.push_back(value == value ? std::to_string(std::lround(value)) : "-");
  return c;
}

/// One character a row.
std::string marks(const Column& column, const std::vector<Competitor>& rows) {
  std::string text;
  for (const results::Mark mark : marks_of(column, rows)) text += results::mark_character(mark);
  return text;
}

TEST(BestOfAColumn, IsTheLowestOrTheHighest) {
  const std::vector<Competitor> rows(3, kLossless);
  EXPECT_EQ(marks(column(Better::less, {2, 1, 3}), rows), " * ");
  EXPECT_EQ(marks(column(Better::more, {2, 1, 3}), rows), "  *");
  EXPECT_EQ(marks(column(Better::neither, {2, 1, 3}), rows), "   ");
}

TEST(BestOfAColumn, TiesWithinThePrintedDigitsAreAllMarked) {
  const std::vector<Competitor> rows(3, kLossless);
  EXPECT_EQ(marks(column(Better::less, {1.2, 1.4, 3}), rows), "** ");
  EXPECT_EQ(marks(column(Better::less, {1.2, 1.4, 0.9}), rows), "   ") << "all print as 1";
}

TEST(BestOfAColumn, NeedsTwoFiguresThatDiffer) {
  const std::vector<Competitor> rows(3, kLossless);
  EXPECT_EQ(marks(column(Better::less, {2, 2, 2}), rows), "   ");
  EXPECT_EQ(marks(column(Better::less, {2, kNone, kNone}), rows), "   ");
  EXPECT_EQ(marks(column(Better::less, {2, kNone, 3}), rows), "*  ");
}

TEST(BestOfAColumn, ALossyOneLeavesAMarkForTheBestLosslessOne) {
  EXPECT_EQ(marks(column(Better::more, {1, 5, 2}), {kLossless, kLossy, kLossless}), " *+");
  EXPECT_EQ(marks(column(Better::more, {1, 5, 9}), {kLossless, kLossy, kLossless}), "  *");
  // A tie with a lossless one needs no second mark, nor does a lossless one alone, nor equal ones.
  EXPECT_EQ(marks(column(Better::more, {1, 5, 5}), {kLossless, kLossy, kLossless}), " **");
  EXPECT_EQ(marks(column(Better::more, {1, 5}), {kLossless, kLossy}), " *");
  EXPECT_EQ(marks(column(Better::more, {1, 5, 1}), {kLossless, kLossy, kLossless}), " * ");
}

TEST(BestOfAColumn, QualityHasNoBestAmongTheLossless) {
  EXPECT_EQ(marks(column(Better::more, {4, 5, 3}, Kind::quality), {kLossless, kLossy, kLossless}), " * ");
}

TEST(BestOfAColumn, LatenciesOfThoseThatRefusedOrFinishedNothingAreNotCompared) {
  const std::vector<Competitor> rows{{true, true, false}, kLossless, kLossless};
  EXPECT_EQ(marks(column(Better::less, {1, 2, 3}, Kind::latency), rows), " * ");
  EXPECT_EQ(marks(column(Better::less, {1, 2, 3}), rows), "*  ");
}

TEST(BestOfAColumn, WhoEmittedNothingCompetesInNothing) {
  const std::vector<Competitor> rows{{true, false, true}, kLossless, kLossless};
  EXPECT_EQ(marks(column(Better::less, {1, 2, 3}), rows), " * ");
}

/// A run of `policy` with 1,000 tokens in 10 s, on the GPU and host memory of the small scenario.
results::Outcome of_policy(const std::string& policy, double ttft_s, std::int64_t tokens = 1000) {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 10;
  m.output_tokens = tokens;
  m.arrived = m.arrived_measured = m.completed = m.completed_measured = 1;
  m.quality = 0.5;
  m.ttft_s.add(ttft_s);
  m.hbm_peak_bytes = 20'000'000'000;
  m.tiers["host"].bytes_peak = 100'000'000'000;
  results::Outcome o = outcome_of(planner::with_policy(small_file(), policy), m);
  o.policy = policy;
  return o;
}

std::vector<std::string> words(const Json& list) {
  return list.get<std::vector<std::string>>();
}

TEST(CompareDocument, NamesTheBestOfEveryColumn) {
  results::Comparison c;
  c.outcomes = {of_policy("full_kv", 3), of_policy("lossy", 1, 2000), of_policy("draft_verify:staggered", 2)};
  c.left_out = {{"full_offload", "no room"}};
  const Json doc = compare_document(c, false);
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(doc["best"]["ttft_p50_s"]), Words{"lossy"});
  EXPECT_EQ(words(doc["best_lossless"]["ttft_p50_s"]), Words{"draft_verify:staggered"});
  EXPECT_EQ(words(doc["best"]["output_tokens_per_s"]), Words{"lossy"});
  EXPECT_EQ(words(doc["best"]["quality"]), (Words{"full_kv", "draft_verify:staggered"}));
  EXPECT_EQ(words(doc["best"]["hbm_peak_bytes"]), Words{});
  EXPECT_FALSE(doc["best"].contains(""));
  EXPECT_EQ(doc["left_out"][0]["reason"], "no room");
  for (const char* word : {"best", "best_lossless", "left_out"}) EXPECT_TRUE(doc["details"].contains(word)) << word;
}

// 2.50 USD/h for the GPU; 512 GiB of host memory, as configured, for 3 USD a GB and month of 730 h: 2.2593 USD/h. 100
// tokens/s are 0.36 M an hour: 4.7593 / 0.36.
TEST(CompareDocument, PricesAMillionTokens) {
  results::Comparison c;
  c.outcomes = {of_policy("full_kv", 3)};
  EXPECT_NEAR(compare_document(c, false)["usd_per_1m_output_tokens"]["full_kv"].get<double>(), 13.2202, 1e-4);
  EXPECT_NE(to_text(compare_page(c, false, results::Labels::full)).find("13.2"), std::string::npos);
  c.prices.gpus.clear();
  const Json doc = compare_document(c, false);
  EXPECT_TRUE(doc["usd_per_1m_output_tokens"]["full_kv"].is_null());
  EXPECT_TRUE(doc["details"]["reasons"].contains("usd_per_1m_output_tokens.full_kv"));
}

TEST(ComparePage, SaysWhatIsNotCompared) {
  results::Comparison c;
  c.outcomes = {of_policy("full_kv", 3), of_policy("lossy", 1), of_policy("draft_verify:staggered", 2)};
  c.outcomes[1].result.measured.refused = 1;
  c.outcomes[1].result.measured.arrived = 2;
  results::TextStyle wide;
  wide.width = 1000;
  const std::string page = to_text(compare_page(c, false, results::Labels::full), wide);
  EXPECT_NE(page.find("latencies not compared: lossy (1 of 2 requests refused)"), std::string::npos) << page;
  EXPECT_EQ(words(compare_document(c, false)["best"]["ttft_p50_s"]),
            std::vector<std::string>{"draft_verify:staggered"});
}

// The few that finished are those that did not wait.
TEST(ComparePage, ComparesNoLatenciesWhereMostRequestsAreUnfinished) {
  results::Comparison c;
  c.outcomes = {of_policy("full_kv", 3), of_policy("lossy", 1), of_policy("draft_verify:staggered", 2)};
  c.outcomes[1].result.measured.arrived = 3;
  c.outcomes[1].result.measured.running = 2;
  results::TextStyle wide;
  wide.width = 1000;
  const std::string page = to_text(compare_page(c, false, results::Labels::full), wide);
  EXPECT_NE(page.find("latencies not compared: lossy (1 of 3 requests finished)"), std::string::npos) << page;
  EXPECT_EQ(words(compare_document(c, false)["best"]["ttft_p50_s"]),
            std::vector<std::string>{"draft_verify:staggered"});
}

// The widest names that there are, every column with a mark.
TEST(ComparePage, FitsAHundredColumns) {
  results::Comparison c;
  for (const char* policy : {"full_kv", "lossy", "draft_verify:staggered"}) {
    for (const double ttft_s : {0.2221, 222.2}) {
      c.outcomes.push_back(of_policy(policy, ttft_s, ttft_s < 1 ? 123'450 : 234'560));
      serving::Measurements& m = c.outcomes.back().result.measured;
      m.rounds = 100;
      m.accepted_tokens = 1845;
      m.hbm_peak_bytes = ttft_s < 1 ? 75'200'000'000 : 179'000'000'000;
      m.tiers["host"].bytes_peak = ttft_s < 1 ? 1'140'000'000'000 : 750'000'000'000;
      m.links["host_to_gpu"] = {1, 1};
      m.tpot_s.add(ttft_s < 1 ? 0.0301 : 0.0875);
      m.round_gap_s.add(ttft_s < 1 ? 0.0304 : 2.02);
      c.outcomes.back().policy = ttft_s < 1 ? "speculative_prefetch+drafter" : "draft_verify+drafter";
    }
  }
  std::istringstream lines(to_text(compare_page(c, false, results::Labels::grouped)));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(results::display_width(line), 100U) << line;
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
