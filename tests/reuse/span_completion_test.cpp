#include "models/reuse/span_completion.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Spans = std::vector<TokenSpan>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

Tokens first_tokens(std::uint32_t count) {
  Tokens tokens(count);
  std::iota(tokens.begin(), tokens.end(), 0U);
  return tokens;
}

Spans spans_of(const std::vector<float>& importance, const SpanRules& rules = {}) {
  return similar_spans(importance, rules);
}

Tokens selected(const std::vector<float>& importance, double rho, const SpanRules& rules = {}) {
  return select_tokens(importance, rho, rules);
}

TEST(SelectionBudget, IsRoundedUpButNotByRoundingErrors) {
  EXPECT_EQ(selection_budget(0.15, 100), 15);        // 0.15 * 100 = 15.000000000000002 in some order of operations
  EXPECT_EQ(selection_budget(0.07, 100), 7);         // 7.000000000000001
  EXPECT_EQ(selection_budget(0.29, 100), 29);        // 28.999999999999996
  EXPECT_EQ(selection_budget(0.1 + 0.05, 100), 15);  // 0.15000000000000002
  EXPECT_EQ(selection_budget(0.15, 101), 16);        // 15.15
  EXPECT_EQ(selection_budget(0.15000001, 100), 16);
  EXPECT_EQ(selection_budget(1e-9, 10), 1);
  EXPECT_EQ(selection_budget(1e-300, 10), 1);
}

TEST(SelectionBudget, OfNothingAndOfEverything) {
  EXPECT_EQ(selection_budget(0, 1000), 0);
  EXPECT_EQ(selection_budget(1, 1000), 1000);
  EXPECT_EQ(selection_budget(1, 10'000'000), 10'000'000);
  EXPECT_EQ(selection_budget(0.5, 0), 0);
}

// Least 0, so that I / max is the normalised importance and d = |I' - I| / I.
// 4 -> 5: 1/4 = 0.25; 5 -> 3: 2/5 = 0.4, not below 0.4; 3 -> 2: 0.33; 2 -> 0: 1; 0 -> 10: infinite.
TEST(SimilarSpans, EndWhereTheVariationIsLarge) {
  EXPECT_EQ(spans_of({4, 5, 3, 2, 0, 10}), (Spans{{0, 2}, {2, 4}, {4, 5}, {5, 6}}));
}

// (20, 15, 10) is (1, 0.5, 0): 20 -> 15 varies by 0.5, by 0.25 before normalising. (20, 17, 10) is (1, 0.7, 0): 0.3.
TEST(SimilarSpans, AreOfNormalisedImportance) {
  EXPECT_EQ(spans_of({20, 15, 10}), (Spans{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(spans_of({20, 17, 10}), (Spans{{0, 2}, {2, 3}}));
}

// 100 -> 45 varies by 0.55 exactly, while 0.55 * 100 is 55.00000000000001.
TEST(SimilarSpans, AVariationAtTheLimitIsLarge) {
  EXPECT_EQ(spans_of({0, 100, 45}, {.variation = 0.55}), (Spans{{0, 1}, {1, 2}, {2, 3}}));
  EXPECT_EQ(spans_of({0, 100, 45}, {.variation = 0.5501}), (Spans{{0, 1}, {1, 3}}));
}

// 0/0 counts as no variation, x/0 as an infinite one.
TEST(SimilarSpans, TokensOfNoImportanceBelongTogether) {
  EXPECT_EQ(spans_of({5, 0, 0, 5}), (Spans{{0, 1}, {1, 3}, {3, 4}}));
  EXPECT_EQ(spans_of({5, 0, -0.0F, 5}), (Spans{{0, 1}, {1, 3}, {3, 4}}));
}

TEST(SimilarSpans, AreCutAtTheLongest) {
  EXPECT_EQ(spans_of(std::vector<float>(40, 0.5F)), (Spans{{0, 16}, {16, 32}, {32, 40}}));
  EXPECT_EQ(spans_of(std::vector<float>(5, 0), {.longest = 2}), (Spans{{0, 2}, {2, 4}, {4, 5}}));
  EXPECT_EQ(spans_of(std::vector<float>(40, 3), {.longest = std::numeric_limits<std::int64_t>::max()}),
            (Spans{{0, 40}}));
}

TEST(SimilarSpans, AreSingleTokensWhereNoVariationIsAllowed) {
  EXPECT_EQ(spans_of({1, 1, 2}, {.variation = 0}), (Spans{{0, 1}, {1, 2}, {2, 3}}));
}

TEST(SimilarSpans, OfNothingAreNone) {
  EXPECT_TRUE(spans_of({}).empty());
}

//   token       0    1    2   3   4    5   6    7   8     9
//               The  spy  Zo  ra  Vel  an  was  in  Oslo  .
//   importance  0    2    8   9   10   7   1    1   7.5   0
// rho 0.4: K = 4: Vel 10, ra 9, Zo 8, Oslo 7.5. Variations within the name: 1/8, 1/9, 3/10; before it 6/2, after it
// 6/7: the name is a span, 3 of its 4 tokens (0.75) are selected, it is completed with "an". That makes 5 > 4: the name
// (mean 34/4 = 8.5) ranks before Oslo (7.5) and takes all of the budget.
const std::vector<float> name{0, 2, 8, 9, 10, 7, 1, 1, 7.5F, 0};

TEST(SelectTokens, ANameOfSeveralTokensIsCompleted) {
  EXPECT_EQ(selected(name, 0.4), (Tokens{2, 3, 4, 5}));
}

TEST(SelectTokens, WithoutSpansTakesTheMostImportantTokens) {
  EXPECT_EQ(selected(name, 0.4, {.enabled = false}), (Tokens{2, 3, 4, 8}));
}

// 5 tokens are selected after completion; the 4 most important of them are the top 4 of before.
TEST(SelectTokens, CappedByTokensAreTheMostImportantTokensAgain) {
  EXPECT_EQ(selected(name, 0.4, {.cap = SpanCap::tokens}), selected(name, 0.4, {.enabled = false}));
}

// K = 4, and 4 x 1.25 = 5 tokens may be computed: all that is selected after completion, whatever caps it.
TEST(SelectTokens, ABudgetAboveKHasRoomForWhatWasCompleted) {
  EXPECT_EQ(selected(name, 0.4, {.budget = 1.25}), (Tokens{2, 3, 4, 5, 8}));
  EXPECT_EQ(selected(name, 0.4, {.cap = SpanCap::tokens, .budget = 1.25}), (Tokens{2, 3, 4, 5, 8}));
  EXPECT_EQ(selected(name, 0.4, {.enabled = false, .budget = 1.25}), (Tokens{2, 3, 4, 8})) << "nothing is completed";
  EXPECT_EQ(selected(name, 0.4, {.majority = 0.76, .budget = 1.25}), (Tokens{2, 3, 4, 8}));
  EXPECT_EQ(selected(name, 0.4, {.budget = 1e9}), (Tokens{2, 3, 4, 5, 8}));
}

// rho 0.3: K = 3: Vel 10, ra 9, Zo 8. The name is completed with "an", 7: 4 tokens, and 3 x 1.01 leave room for 4.
TEST(SelectTokens, ABudgetIsRoundedUp) {
  EXPECT_TRUE(selected(name, 0.3).empty());
  EXPECT_EQ(selected(name, 0.3, {.budget = 1.01}), (Tokens{2, 3, 4, 5}));
}

// 3 of 4 are less than 0.76; K = 4 tokens stay as they are.
TEST(SelectTokens, ASpanBelowTheMajorityIsNotCompleted) {
  EXPECT_EQ(selected(name, 0.4, {.majority = 0.76}), (Tokens{2, 3, 4, 8}));
  EXPECT_EQ(selected(name, 0.4, {.majority = 0.75}), (Tokens{2, 3, 4, 5}));
}

// 7 of 10 selected: 0.7 of them. The other three cost no more than the lone tokens that rank below the span.
//   10 tokens of 5.0, 4.9, ... 4.1 (a span: variations near 0.02), then 0, and 3 lone tokens of 4.35 between zeros.
// K = 10: 5.0 ... 4.4 (7 tokens) and the three 4.35, which are above 4.3. Completed: 13 > 10. The span, mean 4.55, is
// bought first and leaves nothing.
TEST(SelectTokens, SevenOfTenAreEnough) {
  std::vector<float> importance;
  for (int i = 0; i < 10; ++i) importance.push_back(5.0F - 0.1F * static_cast<float>(i));
  for (const float value : {0.F, 4.35F, 0.F, 4.35F, 0.F, 4.35F}) importance.push_back(value);
  importance.resize(20);
  EXPECT_EQ(selected(importance, 0.5), first_tokens(10));
}

// 7 of 100 are 0.07 of them, while 0.07 * 100 is 7.000000000000001.
// Of a span of 100 tokens K = 6 stay as they are; with K = 7 it is completed, and above the budget.
TEST(SelectTokens, AShareAtTheMajorityIsEnough) {
  std::vector<float> importance(101, 2);
  importance.back() = 0;
  const SpanRules rules{.longest = 100, .majority = 0.07};
  EXPECT_EQ(selected(importance, 6.0 / 101, rules), first_tokens(6));
  EXPECT_TRUE(selected(importance, 7.0 / 101, rules).empty());
}

//   token       0   1  2  3    4  5  6  7  8  9  10   11 ... 19
//   importance  10  9  8  5.5  0  7  7  7  5  0  6.2  0  ... 0
// K = 0.35 * 20 = 7: 10, 9, 8, 7, 7, 7, 6.2. Spans [0, 4) and [5, 9) have 3 of 4 selected each: 9 tokens > 7. In order:
// [0, 4) mean 8.125, 3 left; [5, 9) mean 6.5 does not fit; token 10 does.
TEST(SelectTokens, WhatDoesNotFitIsPassedOver) {
  std::vector<float> importance{10, 9, 8, 5.5F, 0, 7, 7, 7, 5, 0, 6.2F};
  importance.resize(20);
  EXPECT_EQ(selected(importance, 0.35), (Tokens{0, 1, 2, 3, 10}));
}

//   importance  4  4  4  3  0  4  4  4  3  0 ... 0: K = 6 of 20, both spans of mean 3.75 are completed, 8 > 6.
TEST(SelectTokens, OfSpansOfEqualImportanceTheEarlierComesFirst) {
  std::vector<float> importance{4, 4, 4, 3, 0, 4, 4, 4, 3};
  importance.resize(20);
  EXPECT_EQ(selected(importance, 0.3), (Tokens{0, 1, 2, 3}));
}

TEST(SelectTokens, OfEquallyImportantTokensTheEarlierComeFirst) {
  const std::vector<float> importance{1, 3, 1, 3, 1, 3, 1, 3, 1, 3};
  EXPECT_EQ(selected(importance, 0.2, {.enabled = false}), (Tokens{1, 3}));
  EXPECT_EQ(selected(importance, 0.7, {.enabled = false}), (Tokens{0, 1, 2, 3, 5, 7, 9}));
  EXPECT_EQ(selected({0, -0.0F, 0, -0.0F}, 0.5, {.enabled = false}), (Tokens{0, 1}));
  EXPECT_EQ(selected({0, -0.0F, 0, -0.0F}, 0.75, {.enabled = false}), (Tokens{0, 1, 2}));
}

// 12 of the 16 tokens of the first span are selected, 0.75 of it; completed it is above the budget of 12.
TEST(SelectTokens, ASpanAboveTheBudgetIsNotBought) {
  EXPECT_TRUE(selected(std::vector<float>(20, 1), 0.6).empty());
  EXPECT_EQ(selected(std::vector<float>(20, 1), 0.5), first_tokens(10));  // 10 of 16: not completed
}

TEST(SelectTokens, NoneAndAll) {
  EXPECT_TRUE(selected(name, 0).empty());
  EXPECT_EQ(selected(name, 1), first_tokens(10));
  EXPECT_TRUE(selected({}, 0.5).empty());
  EXPECT_TRUE(selected({}, 1).empty());
  EXPECT_EQ(selected({7}, 0.01), (Tokens{0}));
}

TEST(SelectTokens, TheLargestNumbersAreImportances) {
  const float most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(selected({0, most, 0, least, most}, 0.6, {.enabled = false}), (Tokens{1, 3, 4}));
  EXPECT_EQ(selected({0, most, 0, least, most}, 0.6), (Tokens{1, 3, 4}));
}

TEST(SelectTokens, SaysWhatIsWrong) {
  const auto failure = [](const std::vector<float>& importance, double rho, const SpanRules& rules = {}) {
    return failure_of([&] { (void)select_tokens(importance, rho, rules); });
  };
  EXPECT_EQ(failure({1}, -0.1), "rho is -0.1, expected 0 to 1");
  EXPECT_EQ(failure({1}, 1.01), "rho is 1.01, expected 0 to 1");
  EXPECT_EQ(failure({}, 2), "rho is 2, expected 0 to 1");
  EXPECT_EQ(failure({1}, kNan), "rho is nan, expected 0 to 1");
  EXPECT_EQ(failure({1, -2}, 0.5), "the importance of token 1 is -2, expected a finite number, 0 or more");
  EXPECT_EQ(failure({1, 1, kInfinity}, 0.5), "the importance of token 2 is inf, expected a finite number, 0 or more");
  EXPECT_EQ(failure({static_cast<float>(kNan), 1}, 0),
            "the importance of token 0 is nan, expected a finite number, 0 or more");
  EXPECT_EQ(failure({1}, 0.5, {.variation = -0.1}), "variation is -0.1, expected at least 0");
  EXPECT_EQ(failure({1}, 0.5, {.variation = kNan}), "variation is nan, expected at least 0");
  EXPECT_EQ(failure({1}, 0.5, {.longest = 0}), "longest is 0, expected spans of at least 1 token");
  EXPECT_EQ(failure({1}, 0.5, {.majority = 0}), "majority is 0, expected above 0, at most 1");
  EXPECT_EQ(failure({1}, 0.5, {.budget = 0.9}), "budget is 0.9, expected at least 1");
  EXPECT_EQ(failure({1}, 0.5, {.budget = kNan}), "budget is nan, expected at least 1");
  EXPECT_EQ(failure({1}, 0.5, {.majority = 1.1}), "majority is 1.1, expected above 0, at most 1");
  EXPECT_EQ(failure_of([] {
              (void)similar_spans(std::vector<float>{1, -2}, {});
            }),
            "the importance of token 1 is -2, expected a finite number, 0 or more");
  EXPECT_EQ(failure_of([] { (void)similar_spans({}, {.longest = 0}); }),
            "longest is 0, expected spans of at least 1 token");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
