// Which of several results is chosen, and what is even with it.
#include "tools/results/choice.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/small_scenario.h"
#include "tools/results/metrics.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Candidate;
using results::TieBreak;
using Positions = std::vector<std::size_t>;

Candidate at(double value, double half_width, double usd_per_hour = results::kNone) {
  Candidate c;
  c.value = value;
  c.half_width = half_width;
  c.printed = std::to_string(value);
  c.usd_per_hour = usd_per_hour;
  return c;
}

results::Best best_of(const std::vector<Candidate>& candidates) {
  return results::choose(candidates, {})->best;
}

TEST(Choosing, OfWhatIntervalsDoNotTellApartTheCheapestIsChosen) {
  // 10 and 10 together make 14.1.
  const results::Best best = best_of({at(100, 10, 5), at(113, 10, 4), at(126, 10, 6), at(112, 10, 4.5)});
  EXPECT_EQ(best.chosen, 1U);
  EXPECT_EQ(best.even, (Positions{2, 3}));
  EXPECT_EQ(best.by, TieBreak::cheaper);
  EXPECT_EQ(even_words(best, "b, c"), "even with it, within the 95 % intervals: b, c; of these it is the cheapest");
  EXPECT_EQ(rule_words(best), "cheapest of 3 even ones");
  EXPECT_EQ(best_of({at(100, 10, 5), at(126, 10, 6)}).even, Positions{});
}

TEST(Choosing, OfThoseOfOnePriceTheSimplestIsChosen) {
  std::vector<Candidate> all{at(100, 10, 4.0), at(105, 10, 4.03), at(104, 10, 4.01), at(103, 10, 5)};
  EXPECT_EQ(best_of(all).chosen, 0U) << "as simple: the first";
  all[0].complexity.mechanisms = 2;
  all[1].complexity.mechanisms = 1;
  all[1].complexity.tiers = 1;
  all[2].complexity.mechanisms = 1;
  EXPECT_EQ(best_of(all).chosen, 2U);
  EXPECT_EQ(best_of(all).by, TieBreak::simpler);
  all[2].complexity.lossy = true;
  EXPECT_EQ(best_of(all).chosen, 1U) << "what is lossy is not simpler, however little there is to it";
  all[3].usd_per_hour = results::kNone;
  EXPECT_EQ(best_of(all).chosen, 3U) << "a price that one lacks decides nothing";
}

TEST(Choosing, OfThoseAsCheapAndAsSimpleTheFirstIsChosenAndIsNotCalledSimpler) {
  std::vector<Candidate> all{at(100, 10, 4), at(105, 10, 4), at(102, 10, 9)};
  results::Best best = best_of(all);
  EXPECT_EQ(best.chosen, 0U);
  EXPECT_EQ(best.by, TieBreak::first);
  EXPECT_EQ(rule_words(best), "first of the cheapest of 3 even ones");
  EXPECT_FALSE(none_chosen(best, 3)) << "one is dearer";
  all.pop_back();
  best = best_of(all);
  EXPECT_EQ(rule_words(best), "first of 2 even ones");
  EXPECT_TRUE(none_chosen(best, 2));
  EXPECT_EQ(best_of({at(105, 10, 4), at(100, 10, 4)}).by, TieBreak::none) << "it has the best figure itself";
}

TEST(Choosing, WhatIsCheaperThanAllThatAreEvenIsAChoiceThoughItHasTheBestFigure) {
  const results::Best best = best_of({at(105, 10, 3), at(104, 10, 4)});
  EXPECT_EQ(best.by, TieBreak::none);
  EXPECT_EQ(best.over_even, TieBreak::cheaper);
  EXPECT_FALSE(none_chosen(best, 2));
  EXPECT_EQ(even_words(best, "b"), "even with it, within the 95 % intervals: b; of these it is the cheapest");
}

TEST(Choosing, WhatMissesWhatIsAskedForIsEvenAmongItsLike) {
  std::vector<Candidate> all{at(100, 10, 4), at(105, 10, 2), at(105, 10, 1)};
  for (Candidate& c : all) c.behind.missed = 0.032;
  all[2].behind.missed = 0.05;
  EXPECT_EQ(best_of(all).chosen, 1U);
  EXPECT_EQ(best_of(all).even, Positions{0});
}

TEST(Choosing, NobodyWithoutTheFigureIsChosen) {
  EXPECT_FALSE(results::choose({at(results::kNone, 1)}, {}));
  EXPECT_EQ(results::ranked({at(results::kNone, 1), at(1, 0), at(3, 0), at(2, 0)}, {}), (Positions{2, 3, 1}));
}

TEST(Complexity, CountsWhatThereIsBesideDecodingWithFullKv) {
  const auto of = [](const std::vector<std::string>& sets) {
    std::vector<std::string> all{"decode={policy: full_kv}", "schedule={}", "prefill=recompute"};
    all.insert(all.end(), sets.begin(), sets.end());
    return planner::complexity_of(small_scenario(all));
  };
  const planner::Complexity plain = of({});
  EXPECT_FALSE(plain.lossy);
  EXPECT_EQ(plain.mechanisms, 0);
  EXPECT_EQ(plain.tiers, 0);
  const planner::Complexity lossy = of({"decode={policy: lossy, compressor: fast-kvzip, keep_ratio: 0.2}"});
  EXPECT_TRUE(lossy.lossy);
  EXPECT_EQ(lossy.mechanisms, 1);
  EXPECT_LT(plain, lossy);
  EXPECT_EQ(of({"prefill=stored"}).mechanisms, 1);
  EXPECT_LT(plain, of({"cluster.gpu.tensor_parallel=2"})) << "more memory";
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
