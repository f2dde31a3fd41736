#include "models/reuse/importance_signal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Moments {
  double mean = 0;
  double cv = 0;
};

template <class Numbers>
Moments moments_of(const Numbers& numbers) {
  double sum = 0, squares = 0;
  for (const auto x : numbers) sum += static_cast<double>(x);
  const double n = static_cast<double>(numbers.size()), mean = sum / n;
  for (const auto x : numbers) squares += (static_cast<double>(x) - mean) * (static_cast<double>(x) - mean);
  return {mean, std::sqrt(squares / n) / mean};
}

/// Of the logarithms of neighbours.
double correlation_of(const std::vector<float>& importance) {
  std::vector<double> logs;
  for (const float value : importance) logs.push_back(std::log(double{value}));
  double mean = 0, variance = 0, covariance = 0;
  for (const double x : logs) mean += x / static_cast<double>(logs.size());
  for (std::size_t i = 1; i < logs.size(); ++i) {
    variance += (logs[i] - mean) * (logs[i] - mean);
    covariance += (logs[i] - mean) * (logs[i - 1] - mean);
  }
  return covariance / variance;
}

// Of n = 400,000 numbers with correlation c, n (1 - c) / (1 + c) count as independent: 21,000 at c = 0.9, so that the
// mean is within 0.5 / sqrt(21,000) = 0.0035; the correlation within sqrt((1 - c^2) / n) = 0.0007.
TEST(GeneratedImportance, HasMeanOneAndTheCorrelationAndVariationAskedFor) {
  for (const ImportanceShape& shape : {ImportanceShape{0.9, 0.5}, {0, 0.5}, {0.5, 1}, {0.7, 0.1}}) {
    const auto random = stream("importance");
    const std::vector<float> importance = generated_importance(400'000, shape, *random);
    const Moments moments = moments_of(importance);
    EXPECT_NEAR(moments.mean, 1, 0.012) << shape.correlation << " " << shape.cv;
    EXPECT_NEAR(moments.cv, shape.cv, 0.03 * shape.cv) << shape.correlation;
    EXPECT_NEAR(correlation_of(importance), shape.correlation, 0.005) << shape.cv;
  }
}

// 20,000 prompts: the first token's importance is spread as any other's; 0.5 / sqrt(20,000) = 0.0035.
TEST(GeneratedImportance, IsAlikeFromTheFirstTokenOn) {
  const auto random = stream("importance");
  std::vector<std::vector<float>> at(3);
  for (int prompt = 0; prompt < 20'000; ++prompt) {
    const std::vector<float> importance = generated_importance(3, {.correlation = 0.8, .cv = 0.5}, *random);
    for (std::size_t i = 0; i < at.size(); ++i) at[i].push_back(importance[i]);
  }
  for (const std::vector<float>& numbers : at) {
    EXPECT_NEAR(moments_of(numbers).mean, 1, 0.012);
    EXPECT_NEAR(moments_of(numbers).cv, 0.5, 0.02);
  }
}

TEST(GeneratedImportance, IsTheSameForTheSameStream) {
  const auto a = stream("importance", 7), b = stream("importance", 7), c = stream("importance", 8);
  const std::vector<float> first = generated_importance(100, {}, *a);
  EXPECT_EQ(first, generated_importance(100, {}, *b));
  EXPECT_NE(first, generated_importance(100, {}, *c));
  EXPECT_TRUE(generated_importance(0, {}, *a).empty());
}

TEST(GeneratedImportance, SaysWhatIsWrong) {
  const auto random = stream("importance");
  const auto failure = [&](const ImportanceShape& shape) {
    return failure_of([&] { (void)generated_importance(1, shape, *random); });
  };
  EXPECT_EQ(failure({1, 0.5}), "correlation is 1, expected at least 0, below 1");
  EXPECT_EQ(failure({-0.1, 0.5}), "correlation is -0.1, expected at least 0, below 1");
  EXPECT_EQ(failure({kNan, 0.5}), "correlation is nan, expected at least 0, below 1");
  EXPECT_EQ(failure({0.5, 0}), "cv is 0, expected above 0, at most 100");
  EXPECT_EQ(failure({0.5, kNan}), "cv is nan, expected above 0, at most 100");
  EXPECT_EQ(failure({0.5, 101}), "cv is 101, expected above 0, at most 100");
}

TEST(GeneratedOffsets, CutTheWholeTextIntoTokens) {
  const auto random = stream("offsets");
  for (const std::int64_t characters : {1, 2, 10, 10'000}) {
    const std::vector<CharacterRange> offsets = generated_offsets(characters, 4, *random);
    ASSERT_FALSE(offsets.empty());
    std::uint32_t next = 0;
    for (const CharacterRange& range : offsets) {
      EXPECT_EQ(range.begin, next);
      EXPECT_LT(range.begin, range.end);
      next = range.end;
    }
    EXPECT_EQ(next, characters);
    check_offsets(offsets, "offsets");
  }
  EXPECT_TRUE(generated_offsets(0, 4, *random).empty());
}

// 1 + geometric of mean m: mean m, standard deviation sqrt(m (m - 1)), P(length = 1) = 1/m, P(length > k) = (1 -
// 1/m)^k. 400,000 characters are 100,000 tokens of 4 in the mean: their mean is within sqrt(12) / sqrt(100,000) =
// 0.011.
TEST(GeneratedOffsets, HaveGeometricLengthsOfTheMeanAskedFor) {
  const auto random = stream("offsets");
  std::vector<std::uint32_t> lengths;
  for (const CharacterRange& range : generated_offsets(400'000, 4, *random)) lengths.push_back(range.end - range.begin);
  const Moments moments = moments_of(lengths);
  EXPECT_NEAR(moments.mean, 4, 0.04);
  EXPECT_NEAR(moments.mean * moments.cv, std::sqrt(12.0), 0.05);
  for (std::uint32_t k = 1; k < 6; ++k) {
    const auto longer = std::count_if(lengths.begin(), lengths.end(), [k](std::uint32_t length) { return length > k; });
    EXPECT_NEAR(static_cast<double>(longer) / static_cast<double>(lengths.size()), std::pow(0.75, k), 0.006) << k;
  }
}

TEST(GeneratedOffsets, OfOneCharacterInTheMeanAreSingleCharacters) {
  const auto random = stream("offsets");
  const std::vector<CharacterRange> expected{{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  EXPECT_EQ(generated_offsets(4, 1, *random), expected);
}

// Far longer tokens than the text: one token, cut to it.
TEST(GeneratedOffsets, AreCutToTheTextsEnd) {
  const auto random = stream("offsets");
  const std::vector<CharacterRange> expected{{0, 3}};
  EXPECT_EQ(generated_offsets(3, 4e9, *random), expected);
}

TEST(GeneratedOffsets, SayWhatIsWrong) {
  const auto random = stream("offsets");
  const auto failure = [&](std::int64_t characters, double mean) {
    return failure_of([&] { (void)generated_offsets(characters, mean, *random); });
  };
  EXPECT_EQ(failure(-1, 4), "a text has -1 characters, expected 0 to 4294967295");
  EXPECT_EQ(failure(4'294'967'296, 4), "a text has 4294967296 characters, expected 0 to 4294967295");
  EXPECT_EQ(failure(10, 0.9), "a token has 0.9 characters in the mean, expected 1 to 4294967295");
  EXPECT_EQ(failure(10, kNan), "a token has nan characters in the mean, expected 1 to 4294967295");
  EXPECT_EQ(failure(10, 5e9), "a token has 5000000000 characters in the mean, expected 1 to 4294967295");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
