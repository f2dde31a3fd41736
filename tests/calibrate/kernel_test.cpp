// The other kernels, the emulator they run on, and the data they are checked with.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "tests/calibrate/emulator.h"
#include "tools/calibrate/host/plan.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/kv_format.h"
#include "tools/calibrate/kernels/quantised.h"
#include "tools/calibrate/kernels/random_data.h"
#include "tools/calibrate/kernels/topk.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

TEST(Emulator, ShufflesAndBarriersMeetTheRightThreads) {
  std::vector<std::uint32_t> got(64);
  int before = 0;
  test::run_kernel({1, 1, 1, 64}, [&] {
    atomic_add(&before, 1);
    sync_block();
    EXPECT_EQ(64, before);
    got[static_cast<std::size_t>(thread_index())] = shuffle_xor(static_cast<std::uint32_t>(thread_index()), 5);
  });
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_EQ(i ^ 5U, got[i]);
}

TEST(Emulator, ABarrierThatHalfTheBlockSkipsIsAnError) {
  EXPECT_THROW(test::run_kernel({1, 1, 1, 32},
                                [] {
                                  if (thread_index() < 16) sync_block();
                                }),
               std::logic_error);
}

template <class Format>
void expect_each_element_once() {
  std::set<int> keys, values;
  for (int quad = 0; quad < 4; ++quad) {
    for (int pair = 0; pair < Format::kKeyPairs; ++pair) keys.insert(Format::key_element(quad, pair));
  }
  for (int group = 0; group < 8; ++group) {
    for (int pair = 0; pair < Format::kValuePairs; ++pair) values.insert(Format::value_element(group, pair));
  }
  constexpr int kKeyDim = Format::kKeyDim, kPart = Format::kPart;
  EXPECT_EQ(kKeyDim / 2, static_cast<int>(keys.size())) << "pairs of neighbours";
  EXPECT_EQ(kPart / 2, static_cast<int>(values.size()));
  EXPECT_EQ(kKeyDim - 2, *keys.rbegin());
  EXPECT_EQ(kPart - 2, *values.rbegin());
}

TEST(KvFormat, LanesShareOutEveryElementOnce) {
  expect_each_element_once<FloatFormat<16, 64>>();
  expect_each_element_once<FloatFormat<16, 128>>();
  expect_each_element_once<FloatFormat<16, 256>>();
  expect_each_element_once<FloatFormat<8, 64>>();
  expect_each_element_once<FloatFormat<8, 128>>();
  expect_each_element_once<FloatFormat<8, 256>>();
  expect_each_element_once<QuantisedFormat<4>>();
  expect_each_element_once<QuantisedFormat<2>>();
  expect_each_element_once<QuantisedFormat<1>>();
}

template <int kBits>
void expect_quantise_reaches_the_nearest_level() {
  constexpr std::size_t vectors = 32;
  struct alignas(16) Vector {
    Bf16 element[kHeadDim];
  };
  std::vector<Vector> values(vectors), back(vectors);
  for (std::size_t i = 0; i < vectors * kHeadDim; ++i) {
    values[i / kHeadDim].element[i % kHeadDim] = to_bf16(random_value(3, i));
  }
  std::vector<std::uint32_t> words(vectors * Packing<kBits>::kWords, 0xdeadbeef), scales(vectors * kGroups);
  const test::Grid grid{static_cast<int>(vectors) * kLanesPerVector / kQuantiseThreads, 1, 1, kQuantiseThreads};
  test::run_kernel(grid, [&] { quantise<kBits>(values[0].element, words.data(), scales.data(), vectors); });
  test::run_kernel(grid, [&] { dequantise<kBits>(words.data(), scales.data(), back[0].element, vectors); });
  for (std::size_t i = 0; i < vectors * kHeadDim; ++i) {
    const float scale = from_bf16(static_cast<Bf16>(scales[i / kGroup] & 0xffffU));
    const float original = from_bf16(values[i / kHeadDim].element[i % kHeadDim]);
    const float restored = from_bf16(back[i / kHeadDim].element[i % kHeadDim]);
    EXPECT_LE(std::abs(original - restored), scale / 2 + 0.05F) << kBits << " bits, element " << i;
  }
}

TEST(Quantise, GivesBackEachElementWithinHalfAStep) {
  expect_quantise_reaches_the_nearest_level<4>();
  expect_quantise_reaches_the_nearest_level<2>();
  expect_quantise_reaches_the_nearest_level<1>();
}

template <int kBits>
void expect_channels_reach_the_nearest_level() {
  constexpr std::size_t vectors = kChannelBlockVectors;
  struct alignas(16) Vector {
    Bf16 element[kHeadDim];
  };
  std::vector<Vector> values(vectors), back(vectors);
  for (std::size_t i = 0; i < vectors * kHeadDim; ++i) {  // one channel is ten times as wide as the others
    values[i / kHeadDim].element[i % kHeadDim] = to_bf16(random_value(3, i) * (i % kHeadDim == 5 ? 10.0F : 1.0F));
  }
  std::vector<std::uint32_t> words(vectors * Packing<kBits>::kWords, 0xdeadbeef);
  std::vector<std::uint64_t> scales(vectors / kChannelTokens * kChannelPairs);
  auto* scale = reinterpret_cast<std::uint32_t*>(scales.data());
  test::run_kernel({1, 1, 1, kQuantiseThreads},
                   [&] { quantise_channels<kBits>(values[0].element, words.data(), scale, vectors); });
  const int blocks = static_cast<int>(vectors) * kLanesPerVector / kQuantiseThreads;
  test::run_kernel({blocks, 1, 1, kQuantiseThreads},
                   [&] { dequantise_by_channel<kBits>(words.data(), scale, back[0].element, vectors); });
  for (std::size_t v = 0; v < vectors; ++v) {
    for (std::size_t e = 0; e < kHeadDim; ++e) {
      float low = 100, high = -100;
      for (std::size_t t = 0; t < kChannelTokens; ++t) {
        const float value = from_bf16(values[v / kChannelTokens * kChannelTokens + t].element[e]);
        low = std::min(low, value);
        high = std::max(high, value);
      }
      const float step = (high - low) / static_cast<float>((1 << kBits) - 1);
      const float error = std::abs(from_bf16(values[v].element[e]) - from_bf16(back[v].element[e]));
      ASSERT_LE(error, step / 2 + 0.01F * (high - low) + 0.01F) << kBits << " bits, vector " << v << ", channel " << e;
    }
  }
}

TEST(Quantise, KeysByChannelKeepAWideChannelFromTheOthers) {
  expect_channels_reach_the_nearest_level<4>();
  expect_channels_reach_the_nearest_level<2>();
  expect_channels_reach_the_nearest_level<1>();
}

TEST(GroupedProduct, IsEachExpertsProductOfTheRowsSentToIt) {
  // Five tokens, two of six experts each, of which one GPU of two holds three: 64 inputs and 48 gated outputs.
  constexpr int kHidden = 64, kInner = 48;
  const ExpertCase c{{kHidden, kInner, 2, 6, 1, 2}, 5};
  const Routing routing = route_evenly(c);
  ASSERT_EQ(routing.sources.size(), 5U);
  struct alignas(16) Line {
    Bf16 element[8];
  };
  const auto random = [](std::uint64_t seed, std::size_t count) {
    std::vector<Line> lines(count / 8);
    for (std::size_t i = 0; i < count; ++i) lines[i / 8].element[i % 8] = to_bf16(random_value(seed, i) / 8);
    return lines;
  };
  const auto tokens = random(1, 5 * kHidden), up = random(2, 3 * 2 * kInner * kHidden);
  const auto at = [](const std::vector<Line>& lines, std::size_t i) { return from_bf16(lines[i / 8].element[i % 8]); };
  for (const bool gated : {true, false}) {
    constexpr int kColumns = 2 * kInner;
    const std::size_t written = gated ? kInner : kColumns;
    std::vector<Bf16> output(routing.sources.size() * written + 1, 0x7fff);
    const ExpertArgs args{tokens[0].element,    up[0].element, output.data(), routing.sources.data(),
                          routing.tiles.data(), kColumns,      kHidden};
    const test::Grid grid{static_cast<int>(routing.tiles.size()), 1, 1, kExpertThreads};
    for (const int row_tiles : {1, 4}) {
      std::fill(output.begin(), output.end(), Bf16{0x7fff});
      test::run_kernel(grid, [&] {
        if (gated)
          row_tiles == 1 ? grouped_product<1, true>(args) : grouped_product<4, true>(args);
        else
          row_tiles == 1 ? grouped_product<1, false>(args) : grouped_product<4, false>(args);
      });
      for (const ExpertTile& tile : routing.tiles) {
        for (int r = 0; r < tile.rows; ++r) {
          const auto row = static_cast<std::size_t>(tile.first + r);
          const auto token = static_cast<std::size_t>(routing.sources[row]);
          std::vector<double> sums(kColumns, 0.0), expected(written);
          for (std::size_t j = 0; j < sums.size(); ++j) {
            const std::size_t weight = (static_cast<std::size_t>(tile.expert) * kColumns + j) * kHidden;
            for (std::size_t k = 0; k < kHidden; ++k) {
              sums[j] += static_cast<double>(at(tokens, token * kHidden + k)) * static_cast<double>(at(up, weight + k));
            }
          }
          for (std::size_t j = 0; j < written; ++j) {
            const double gate = sums[gated ? 2 * j : j];
            expected[j] = gated ? gate / (1 + std::exp(-gate)) * sums[2 * j + 1] : gate;
          }
          std::vector<float> got(written);
          for (std::size_t j = 0; j < written; ++j) got[j] = from_bf16(output[row * written + j]);
          EXPECT_EQ("", compare_row(got, expected, 0.01)) << "expert " << tile.expert << ", row " << row;
        }
      }
      EXPECT_EQ(output.back(), 0x7fff) << "nothing is written behind the rows";
    }
  }
}

void expect_topk(const std::vector<float>& scores, int k) {
  std::vector<int> indices(static_cast<std::size_t>(k), -1);
  test::run_kernel({1, 1, 1, 64}, [&] { topk(scores.data(), indices.data(), static_cast<int>(scores.size()), k); });
  EXPECT_EQ("", check_topk(scores, indices));
}

TEST(Topk, FindsTheLargestAmongTiesNegativesAndAll) {
  std::vector<float> scores(1000);
  for (std::size_t i = 0; i < scores.size(); ++i) scores[i] = random_value(9, i);  // 256 distinct values: many ties
  for (const int k : {1, 17, 500, 1000}) expect_topk(scores, k);
  expect_topk({-1.0F, -3.0F, -2.0F}, 2);
  expect_topk(std::vector<float>(50, 0.25F), 7);
}

TEST(CheckTopk, RefusesDoublesAndSmallerOnes) {
  const std::vector<float> scores{3, 1, 2};
  EXPECT_EQ("", check_topk(scores, std::vector<int>{2, 0}));
  EXPECT_NE("", check_topk(scores, std::vector<int>{0, 0}));
  EXPECT_NE("", check_topk(scores, std::vector<int>{0, 1}));
  EXPECT_NE("", check_topk(scores, std::vector<int>{0, 3}));
}

TEST(RandomData, CoarseValuesAreTheirE4m3Bits) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    const std::uint8_t bits = random_e4m3(5, i);
    const int exponent = (bits >> 3) & 15;
    const double magnitude =
        exponent == 0 ? (bits & 7) / 8.0 * std::exp2(-6) : (1 + (bits & 7) / 8.0) * std::exp2(exponent - 7);
    EXPECT_EQ(static_cast<double>(random_coarse(5, i)), (bits & 0x80) != 0 ? -magnitude : magnitude);
  }
}

TEST(KvFormat, E4m3IsWidenedExactlyBelowItsLeastExponentToo) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    if ((bits & 0x7fU) == 0x7fU) continue;  // not a number
    const int exponent = static_cast<int>((bits >> 3) & 15U);
    const double magnitude =
        exponent == 0 ? (bits & 7U) / 8.0 * std::exp2(-6) : (1 + (bits & 7U) / 8.0) * std::exp2(exponent - 7);
    const std::uint32_t pair = widen_e4m3(bits | (bits ^ 0x80U) << 16);
    const double value = (bits & 0x80U) != 0 ? -magnitude : magnitude;
    EXPECT_EQ(static_cast<double>(from_bf16(static_cast<Bf16>(pair & 0xffffU))), value) << bits;
    EXPECT_EQ(static_cast<double>(from_bf16(static_cast<Bf16>(pair >> 16))), -value) << bits;
  }
}

TEST(RandomData, ValuesAreExactInBf16AndNotAllAlike) {
  std::set<float> seen;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const float value = random_value(1, i);
    EXPECT_EQ(value, from_bf16(to_bf16(value)));
    seen.insert(value);
  }
  EXPECT_GT(seen.size(), 200U);
}

TEST(CompareRow, RefusesWhatIsFarOffAndNaN) {
  const std::vector<double> reference{1, -1, 1, -1};
  EXPECT_EQ("", compare_row(std::vector<float>{1, -1, 1.01F, -1}, reference, 0.02));
  EXPECT_NE("", compare_row(std::vector<float>{1, -1, 1.1F, -1}, reference, 0.02));
  EXPECT_NE("", compare_row(std::vector<float>{1, -1, NAN, -1}, reference, 0.02));
}

TEST(ReferenceAttention, AveragesByTheSoftmaxOfScaledScores) {
  // Two tokens; q k / sqrt(4) = 1 and 0: weights e / (e + 1) and 1 / (e + 1); values 1 and 3.
  const std::vector<float> query{2, 0, 0, 0};
  const auto key = [](std::int64_t t, std::span<float> v) { std::fill(v.begin(), v.end(), t == 0 ? 1.0F : 0.0F); };
  const auto value = [](std::int64_t t, std::span<float> v) { std::fill(v.begin(), v.end(), t == 0 ? 1.0F : 3.0F); };
  const double e = std::exp(1.0);
  EXPECT_NEAR((e + 3) / (e + 1), reference_attention(query, 2, key, value, 4)[0], 1e-12);
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
