#include "models/workload/shared_prefixes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

const LengthSpec kUneven{.distribution = Distribution::uniform, .min = 1, .max = 2'000};

SharedPrefixes prefixes(const SharedPrefixSpec& spec) {
  return {spec, *stream("prefix lengths")};
}

SharedPrefixes of_length(double tokens, std::int64_t count = 3) {
  return prefixes({count, 1, {.mean = tokens}});
}

std::size_t common(const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

// P(k) = k^-s / H; of n draws the standard deviation of a count is below sqrt(n P).
TEST(SharedPrefixes, PopularityFollowsZipfsLaw) {
  constexpr int draws = 200'000;
  constexpr std::size_t count = 50;
  for (const double s : {0.0, 0.7, 1.0, 2.5}) {
    const SharedPrefixes shared = prefixes({count, s, kUneven});
    const auto random = stream("prefixes");
    std::vector<double> drawn(count);
    for (int i = 0; i < draws; ++i) drawn.at(shared.draw(*random)) += 1;
    double H = 0;
    for (std::size_t k = 1; k <= count; ++k) H += std::pow(k, -s);
    for (std::size_t k = 1; k <= count; ++k) {
      const double expected = draws * std::pow(k, -s) / H;
      EXPECT_NEAR(drawn[k - 1], expected, 4.5 * std::sqrt(expected)) << "s " << s << ", prefix " << k;
    }
  }
}

TEST(SharedPrefixes, OfOneThereIsNoChoice) {
  const SharedPrefixes shared = prefixes({1, 1, kUneven});
  const auto random = stream("prefixes");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(shared.draw(*random), 0U);
}

TEST(SharedPrefixes, ADrawTakesOneRandomNumberWhateverTheLaw) {
  const auto a = stream("prefixes"), b = stream("prefixes");
  const SharedPrefixes few = prefixes({2, 0, kUneven}), many = prefixes({10'000, 1.3, kUneven});
  for (int i = 0; i < 100; ++i) {
    few.draw(*a);
    many.draw(*b);
  }
  EXPECT_EQ(a->uniform(), b->uniform());
}

TEST(SharedPrefixes, MoreOfThemLeaveTheLengthsOfTheFirstOnes) {
  const SharedPrefixes few = prefixes({10, 1, kUneven}), many = prefixes({100, 0, kUneven});
  std::set<std::int64_t> lengths;
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(few.tokens(i), many.tokens(i));
    lengths.insert(few.tokens(i));
  }
  EXPECT_GT(lengths.size(), 5U);
}

// 600 tokens are two whole blocks of 256 and 88 tokens of a third, in which the prompt's own tokens begin.
TEST(SharedPrefixes, PromptsShareTheWholeBlocksOfTheirPrefixAndNoOthers) {
  const SharedPrefixes shared = of_length(600);
  const auto a = shared.blocks(0, 3'000, 7), b = shared.blocks(0, 5'000, 8), other = shared.blocks(1, 3'000, 7);
  EXPECT_EQ(a.size(), 12U);  // 11.7
  EXPECT_EQ(b.size(), 20U);  // 19.5
  EXPECT_EQ(common(a, b), 2U);
  EXPECT_EQ(common(a, other), 0U);
  std::set<std::uint64_t> different(a.begin(), a.end());
  different.insert(b.begin(), b.end());
  different.insert(other.begin(), other.end());
  EXPECT_EQ(different.size(), 12U + 20U - 2U + 12U);
  EXPECT_EQ(shared.blocks(0, 3'000, 7), a);
  EXPECT_EQ(of_length(600).blocks(0, 3'000, 7), a);
}

TEST(SharedPrefixes, OfWholeBlocksAreSharedToTheEnd) {
  const SharedPrefixes shared = of_length(512);
  EXPECT_EQ(common(shared.blocks(2, 768, 0), shared.blocks(2, 768, 1)), 2U);
  EXPECT_EQ(shared.blocks(2, 768, 0).size(), 3U);
  EXPECT_EQ(shared.blocks(2, 769, 0).size(), 4U);
}

TEST(SharedPrefixes, ShorterThanABlockShareNothing) {
  const SharedPrefixes shared = of_length(255);
  EXPECT_EQ(common(shared.blocks(0, 1'000, 0), shared.blocks(0, 1'000, 1)), 0U);
}

TEST(SharedPrefixes, NoTwoRequestsShareATail) {
  const SharedPrefixes shared = prefixes({40, 1, kUneven});
  const auto random = stream("prefixes");
  std::set<std::uint64_t> tails;
  std::size_t tail_blocks = 0;
  for (std::uint64_t request = 0; request < 5'000; ++request) {
    const std::size_t prefix = shared.draw(*random);
    const auto blocks = shared.blocks(prefix, shared.tokens(prefix) + 2'000, request);
    const auto own = blocks.begin() + shared.tokens(prefix) / 256;
    tails.insert(own, blocks.end());
    tail_blocks += static_cast<std::size_t>(blocks.end() - own);
  }
  EXPECT_EQ(tails.size(), tail_blocks);
}

DatasetSpec dataset(const char* name, double mean_tokens, double cv = 0) {
  DatasetSpec d;
  d.name = name;
  d.mean_tokens.value = mean_tokens;
  d.tokens_cv.value = cv;
  return d;
}

TEST(SharedPrefixes, AreDealtToDatasetsInTurn) {
  const SharedPrefixSpec spec{.count = 5, .datasets = {dataset("long", 9'000), dataset("short", 100)}};
  const SharedPrefixes shared = prefixes(spec);
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(shared.tokens(i), i % 2 == 0 ? 9'000 : 100) << i;
    EXPECT_EQ(spec.dataset_of(i)->name, i % 2 == 0 ? "long" : "short") << i;
  }
  EXPECT_EQ(SharedPrefixSpec{}.dataset_of(0), nullptr);
}

// 20,000 lengths with a coefficient of variation of 0.5: their mean is known to 0.35 %.
TEST(SharedPrefixes, HaveTheMeanAndSpreadOfTheirDataset) {
  const SharedPrefixes shared = prefixes({.count = 20'000, .datasets = {dataset("one", 4'885, 0.5)}});
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < shared.count(); ++i) {
    const auto tokens = static_cast<double>(shared.tokens(i));
    sum += tokens;
    squares += tokens * tokens;
  }
  const double mean = sum / 20'000;
  EXPECT_NEAR(mean, 4'885, 0.0125 * 4'885);
  EXPECT_NEAR(std::sqrt(squares / 20'000 - mean * mean) / mean, 0.5, 0.03);
}

// Of one kind, a request's prefix is as long as `tokens` says. Of three prefixes with weights 1, 1/2 and 1/3, the first
// and the third are of the first data set: (1 + 1/3)/(11/6) = 8/11 of the requests.
TEST(SharedPrefixes, HaveAMeanThatPopularityWeighs) {
  EXPECT_EQ(mean_prefix_tokens({3, 1, {.mean = 700}}), 700);
  const SharedPrefixSpec spec{.count = 3, .datasets = {dataset("long", 9'000), dataset("short", 100, 0.5)}};
  EXPECT_NEAR(mean_prefix_tokens(spec), 9'000 * 8.0 / 11 + 100 * 3.0 / 11, 1e-9);
  EXPECT_EQ(prefix_kinds({.count = 1, .datasets = spec.datasets}).at(1).requests, 0) << "no prefix of this kind";
}

// Lengths in characters, four to a token, of a model whose window leaves 2,000 tokens for them.
TEST(SharedPrefixes, OfDatasetsAreScaledAndThenCut) {
  const SharedPrefixes shared = prefixes(
      {.count = 2, .datasets = {dataset("long", 9'000), dataset("short", 100)}, .scale = 0.25, .longest = 2'000});
  EXPECT_EQ(shared.tokens(0), 2'000);
  EXPECT_EQ(shared.tokens(1), 25);
}

TEST(SharedPrefixes, SaysWhatIsWrong) {
  EXPECT_EQ(problem_with(SharedPrefixSpec{.datasets = {dataset("one", 9)}, .scale = 0}),
            "scale is 0, expected above 0");
  EXPECT_EQ(problem_with(SharedPrefixSpec{.datasets = {dataset("empty", 0)}}),
            "empty: mean is 0 tokens, expected 1 to 10000000");

  EXPECT_EQ(problem_with(SharedPrefixSpec{}), "tokens: mean is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(problem_with(SharedPrefixSpec{1, 1, {}}), "");
  EXPECT_EQ(problem_with(SharedPrefixSpec{0, 1, {}}), "count is 0, expected 1 to 1000000 prefixes");
  EXPECT_EQ(problem_with(SharedPrefixSpec{1, -1, {}}), "popularity is -1, expected 0 to 10");
  EXPECT_EQ(problem_with(SharedPrefixSpec{1, std::nan(""), {}}), "popularity is nan, expected 0 to 10");
  EXPECT_EQ(problem_with(SharedPrefixSpec{1, 1, {.min = 0}}), "tokens: min is 0 tokens, expected 1 to 10000000");
  EXPECT_EQ(failure_of([] { prefixes({0, 1, {}}); }), "count is 0, expected 1 to 1000000 prefixes");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
