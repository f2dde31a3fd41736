#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "models/reuse/importance_signal.h"
#include "models/reuse/span_completion.h"
#include "tests/reuse/naive_selection.h"
#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

/// Neighbours that are alike, with ties: a walk by small steps, from time to time to another place.
std::vector<std::int64_t> any_walk() {
  const auto draws = *rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 1000));
  const auto highest = *rc::gen::element<std::int64_t>(1, 4, 30, 5000);
  std::vector<std::int64_t> walk;
  std::int64_t at = 0;
  for (const std::int64_t draw : draws) {
    at = draw % 5 == 0 ? draw * highest / 1000 : at + draw % 7 - 3;
    walk.push_back(std::clamp<std::int64_t>(at, 0, highest));
  }
  return walk;
}

WholeRules any_rules() {
  WholeRules rules;
  rules.variation = *rc::gen::inRange<std::int64_t>(0, 41);
  rules.majority = *rc::gen::inRange<std::int64_t>(1, 21);
  rules.longest = *rc::gen::element<std::int64_t>(1, 2, 3, 5, 16, 40, 1000);
  rules.cap = *rc::gen::element(SpanCap::spans, SpanCap::tokens);
  rules.budget = *rc::gen::element<std::int64_t>(20, 21, 25, 30, 60, 2000);
  return rules;
}

std::vector<float> floats(const std::vector<std::int64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// A tie of a selection's threshold and everything that follows from it included, since the numbers are small.
TEST(SpanCompletionProperty, AgreesWithTheNaiveOne) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<std::int64_t> importance = any_walk();
    const WholeRules rules = any_rules();
    const auto tokens = static_cast<std::int64_t>(importance.size());
    const std::int64_t budget = *rc::gen::inRange<std::int64_t>(0, tokens + 1);
    const double rho = tokens > 0 ? static_cast<double>(budget) / static_cast<double>(tokens) : 0.5;
    RC_CLASSIFY(budget > 0 && budget < tokens);
    RC_ASSERT(similar_spans(floats(importance), rules.rules()) == naive_spans(importance, rules));
    RC_ASSERT(select_tokens(floats(importance), rho, rules.rules()) == naive_selection(importance, budget, rules));
  }));
}

TEST(SpanCompletionProperty, SpansPartitionTheTokensAndStayShort) {
  EXPECT_TRUE(rc::check([] {
    const std::vector<float> importance = floats(any_walk());
    const SpanRules rules = any_rules().rules();
    std::uint32_t next = 0;
    for (const TokenSpan& span : similar_spans(importance, rules)) {
      RC_ASSERT(span.begin == next);
      RC_ASSERT(span.end > span.begin);
      RC_ASSERT(span.end - span.begin <= rules.longest);
      next = span.end;
    }
    RC_ASSERT(next == importance.size());
  }));
}

/// Tokens of a span that are selected.
std::int64_t count_in(const std::vector<std::uint32_t>& selected, TokenSpan span) {
  return std::lower_bound(selected.begin(), selected.end(), span.end) -
         std::lower_bound(selected.begin(), selected.end(), span.begin);
}

// With numbers as a model gives them, and prompts of some length.
TEST(SpanCompletionProperty, KeepsTheBudgetAndSpansWhole) {
  EXPECT_TRUE(rc::check([](std::uint64_t seed) {
    const auto random = stream("importance", seed);
    const auto tokens = *rc::gen::inRange<std::int64_t>(1, 3000);
    const double rho = static_cast<double>(*rc::gen::inRange(0, 101)) / 100;
    const std::vector<float> importance = generated_importance(tokens, {.correlation = 0.8, .cv = 0.7}, *random);
    const SpanRules rules;
    const std::int64_t budget = selection_budget(rho, tokens);
    const std::vector<std::uint32_t> top = select_tokens(importance, rho, {.enabled = false});
    RC_ASSERT(static_cast<std::int64_t>(top.size()) == budget);

    const std::vector<std::uint32_t> selected = select_tokens(importance, rho, rules);
    RC_ASSERT(static_cast<std::int64_t>(selected.size()) <= budget);
    RC_ASSERT(std::is_sorted(selected.begin(), selected.end(), std::less_equal<>()));  // and unique
    if (!selected.empty()) RC_ASSERT(selected.back() < importance.size());
    const std::int64_t left = budget - static_cast<std::int64_t>(selected.size());
    for (const TokenSpan& span : similar_spans(importance, rules)) {
      const std::int64_t size = std::int64_t{span.end} - span.begin;
      const std::int64_t wanted = count_in(top, span), taken = count_in(selected, span);
      if (static_cast<double>(wanted) / static_cast<double>(size) >= rules.majority) {
        RC_ASSERT(taken == 0 || taken == size);
        RC_ASSERT(taken == size || size > left);  // whoever was passed over does not fit
      } else {
        RC_ASSERT(taken <= wanted);
        RC_ASSERT(taken == wanted || left == 0);
      }
    }
  }));
}

TEST(SpanCompletionProperty, TheBudgetIsTheShareRoundedUp) {
  for (std::int64_t tokens = 0; tokens <= 2000; ++tokens) {
    for (std::int64_t mille = 0; mille <= 1000; mille += 5) {
      const double rho = static_cast<double>(mille) / 1000;
      ASSERT_EQ(selection_budget(rho, tokens), (mille * tokens + 999) / 1000) << rho << " of " << tokens;
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
