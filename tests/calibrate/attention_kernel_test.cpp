// The attention kernels' own code, run on the CPU, against the plain reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/calibrate/emulator.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/latent_attention.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate::KVSIM_FILE {
namespace {

struct Case {
  std::string name;
  int heads = 1;
  int kv_heads = 1;
  int query_tokens = 1;
  std::vector<int> lengths;
  int blocks_wanted = 1;
  int bits = 16;
  bool by_channel = false;  // scales of keys
  int head_dim = kHeadDim;

  /// Whether values are the first elements of the keys, as those of a latent are.
  [[nodiscard]] bool latent() const { return head_dim == kLatentKeyDim; }
  [[nodiscard]] int value_dim() const {
    return latent() ? kLatentValueDim : head_dim == kExpandedKeyDim ? kExpandedValueDim : head_dim;
  }
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}

constexpr std::uint64_t kQuerySeed = 1;
constexpr std::uint64_t kKeySeed = 10;
constexpr std::uint64_t kValueSeed = 20;

struct alignas(16) Line {
  std::uint8_t byte[16];
};

/// A pool of random pages of one format, aligned as the kernels load them.
struct Pool {
  std::vector<Line> data;
  std::vector<std::uint32_t> scales;

  Pool(std::uint64_t seed, std::int64_t vectors, int bits, bool by_channel, int head_dim) {
    const auto words =
        static_cast<std::size_t>(vectors) * static_cast<std::size_t>(head_dim) * static_cast<std::size_t>(bits) / 32;
    data.resize((words + 3) / 4);
    auto* word = reinterpret_cast<std::uint32_t*>(data.data());
    for (std::size_t i = 0; i < words; ++i) {
      word[i] = bits == 16 ? pack_bf16(random_value(seed, 2 * i), random_value(seed, 2 * i + 1)) : random_word(seed, i);
    }
    if (bits == 8) {
      auto* byte = reinterpret_cast<std::uint8_t*>(data.data());
      for (std::size_t i = 0; i < words * 4; ++i) byte[i] = random_e4m3(seed, i);
    }
    if (bits >= 8) return;
    if (by_channel) {
      scales.resize(static_cast<std::size_t>(vectors / kPageTokens) * kChannelWords);
      for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = random_channel_word(seed + 1, i, bits);
      return;
    }
    scales.resize(static_cast<std::size_t>(vectors) * kGroups);
    for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = random_scale_offset(seed + 1, i, bits);
  }
};

void run(const Case& c, const AttentionCut& cut, AttentionArgs args) {
  const test::Grid grid{static_cast<int>(c.lengths.size()) * cut.tiles, c.kv_heads, cut.chunks, kAttentionThreads};
  const auto with_rows = [&]<class Format>(Format /*format*/) {
    if (cut.row_warps == 1) test::run_kernel(grid, [&] { attention<Format, 1>(args); });
    if (cut.row_warps == 2) test::run_kernel(grid, [&] { attention<Format, 2>(args); });
    if (cut.row_warps == 4) test::run_kernel(grid, [&] { attention<Format, 4>(args); });
  };
  const auto with_bits = [&]<int kBits>(std::integral_constant<int, kBits> /*bits*/) {
    if (c.head_dim == 64) with_rows(FloatFormat<kBits, 64>{});
    if (c.head_dim == 128) with_rows(FloatFormat<kBits, 128>{});
    if (c.head_dim == 256) with_rows(FloatFormat<kBits, 256>{});
  };
  if (c.latent()) {
    if (cut.row_warps == 1) test::run_kernel(grid, [&] { latent_attention<LatentFormat, 1>(args); });
    if (cut.row_warps == 2) test::run_kernel(grid, [&] { latent_attention<LatentFormat, 2>(args); });
  }
  if (c.head_dim == kExpandedKeyDim) with_rows(FloatFormat<16, kExpandedKeyDim, kExpandedValueDim>{});
  if (c.bits == 16) with_bits(std::integral_constant<int, 16>{});
  if (c.bits == 8) with_bits(std::integral_constant<int, 8>{});
  if (c.by_channel) {
    if (c.bits == 4) with_rows(ChannelFormat<4>{});
    if (c.bits == 2) with_rows(ChannelFormat<2>{});
    if (c.bits == 1) with_rows(ChannelFormat<1>{});
  } else {
    if (c.bits == 4) with_rows(QuantisedFormat<4>{});
    if (c.bits == 2) with_rows(QuantisedFormat<2>{});
    if (c.bits == 1) with_rows(QuantisedFormat<1>{});
  }
  if (cut.chunks > 1) {
    const int rows = c.query_tokens * (c.heads / c.kv_heads);
    test::run_kernel({rows, c.kv_heads, static_cast<int>(c.lengths.size()), c.value_dim()},
                     [&] { combine_attention(args); });
  }
}

class AttentionKernel : public ::testing::TestWithParam<Case> {};

TEST_P(AttentionKernel, AgreesWithTheReferenceInEveryElement) {
  const Case& c = GetParam();
  const auto sequences = static_cast<int>(c.lengths.size());
  const int longest = *std::max_element(c.lengths.begin(), c.lengths.end());
  const int group = c.heads / c.kv_heads;
  const int rows = c.query_tokens * group;
  const AttentionCut cut = cut_attention(rows, c.kv_heads, sequences, longest, c.blocks_wanted,
                                         c.latent() ? kLatentRowWarps : kAttentionWarps);
  ASSERT_EQ(c.blocks_wanted > 1, cut.chunks > 1)
      << "the case is meant to " << (c.blocks_wanted > 1 ? "" : "not ") << "split";

  const int pages = pages_of(longest);
  std::vector<int> table(static_cast<std::size_t>(sequences * pages));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), std::mt19937(7));  // NOLINT: the same pages every time
  const std::int64_t vectors = static_cast<std::int64_t>(table.size()) * c.kv_heads * kPageTokens;
  const Pool keys(kKeySeed, vectors, c.bits, c.by_channel, c.head_dim);
  const Pool values(kValueSeed, vectors, c.bits, false, c.value_dim());
  const auto dim = static_cast<std::size_t>(c.head_dim), value_dim = static_cast<std::size_t>(c.value_dim());
  const auto all_rows = static_cast<std::size_t>(sequences * c.query_tokens * c.heads);
  const std::size_t outputs = all_rows * value_dim;
  std::vector<Line> query_lines(all_rows * dim / 8);  // aligned as the kernels load them
  auto* queries = reinterpret_cast<Bf16*>(query_lines.data());
  for (std::size_t i = 0; i < all_rows * dim; ++i) queries[i] = to_bf16(random_value(kQuerySeed, i));
  std::vector<Bf16> output(outputs, 0x7fff);
  const std::size_t partials = static_cast<std::size_t>(sequences * c.kv_heads * rows * cut.chunks);
  std::vector<float> partial_output(partials * value_dim, NAN), partial_maximum(partials, NAN),
      partial_sum(partials, NAN);

  AttentionArgs args;
  args.queries = queries;
  args.output = output.data();
  args.pools = {keys.data.data(), c.latent() ? keys.data.data() : values.data.data(), keys.scales.data(),
                values.scales.data()};
  args.page_table = table.data();
  args.lengths = c.lengths.data();
  args.partial_output = partial_output.data();
  args.partial_maximum = partial_maximum.data();
  args.partial_sum = partial_sum.data();
  args.heads = c.heads;
  args.kv_heads = c.kv_heads;
  args.query_tokens = c.query_tokens;
  args.pages_per_sequence = pages;
  args.chunk_pages = cut.chunk_pages;
  args.chunks = cut.chunks;
  args.tiles = cut.tiles;
  args.scale_log2 = static_cast<float>(std::log2(std::exp(1.0)) / std::sqrt(static_cast<double>(c.head_dim)));
  run(c, cut, args);

  for (int s = 0; s < sequences; ++s) {
    for (int q = 0; q < c.query_tokens; ++q) {
      for (int h = 0; h < c.heads; ++h) {
        const std::size_t at = static_cast<std::size_t>((s * c.query_tokens + q) * c.heads + h);
        std::vector<float> query(dim), got(value_dim);
        for (std::size_t e = 0; e < dim; ++e) query[e] = from_bf16(queries[at * dim + e]);
        for (std::size_t e = 0; e < value_dim; ++e) got[e] = from_bf16(output[at * value_dim + e]);
        const auto place = [&](std::int64_t page) {  // of a page and KV head
          return static_cast<std::int64_t>(table[static_cast<std::size_t>(s * pages + page)]) * c.kv_heads + h / group;
        };
        const auto read = [&](std::uint64_t seed, bool by_channel, int stride) {
          return [&, seed, by_channel, stride](std::int64_t t, std::span<float> vector) {
            const std::int64_t v = place(t / kPageTokens) * kPageTokens + t % kPageTokens;
            const std::int64_t scales = place(t / kChannelTokens * (kChannelTokens / kPageTokens));
            for (std::size_t i = 0; i < vector.size(); ++i) {
              const int e = static_cast<int>(i);
              vector[i] =
                  by_channel ? channel_element(seed, v, scales, e, c.bits) : pool_element(seed, v, e, c.bits, stride);
            }
          };
        };
        const int visible = c.lengths[static_cast<std::size_t>(s)] - c.query_tokens + q + 1;
        const auto value = c.latent() ? read(kKeySeed, false, c.head_dim) : read(kValueSeed, false, c.value_dim());
        const auto expected =
            reference_attention(query, visible, read(kKeySeed, c.by_channel, c.head_dim), value, value_dim);
        EXPECT_EQ("", compare_row(got, expected, 0.02)) << "sequence " << s << ", query " << q << ", head " << h;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, AttentionKernel,
    ::testing::Values(Case{"OneTokenOfKv", 1, 1, 1, {1}, 1, 16}, Case{"DecodeGrouped", 8, 2, 1, {33}, 1, 16},
                      Case{"DecodeMultiHeadPartPage", 2, 2, 1, {100}, 1, 16},
                      Case{"DecodeSplitUneven", 4, 1, 1, {530, 17, 256}, 6, 16},
                      Case{"VerifyTwoRowWarpsSplit", 4, 1, 7, {523}, 2, 16},
                      // Chunks of 272 tokens: of the second sequence's queries the first two see nothing of chunk 1.
                      Case{"VerifyChunkBeyondSomeRows", 4, 1, 7, {544, 277}, 4, 16},
                      Case{"VerifyFourRowWarps", 4, 1, 13, {70}, 1, 16},
                      Case{"VerifyTilesSplitUneven", 8, 1, 9, {515, 9}, 6, 16},
                      Case{"PrefillTwoTiles", 2, 1, 40, {40}, 1, 16}, Case{"DecodeFourBit", 4, 1, 1, {50}, 1, 4},
                      Case{"DecodeTwoBit", 4, 2, 1, {50}, 1, 2}, Case{"DecodeOneBitSplit", 4, 1, 1, {520}, 2, 1},
                      Case{"VerifyFourBit", 4, 1, 9, {40}, 1, 4}, Case{"DecodeFp8", 4, 2, 1, {50}, 1, 8},
                      Case{"VerifyFp8Split", 4, 1, 9, {523}, 2, 8},
                      Case{"DecodeFourBitByChannel", 4, 2, 1, {50, 33}, 1, 4, true},
                      Case{"DecodeTwoBitByChannel", 4, 1, 1, {70}, 1, 2, true},
                      // A chunk may begin with the second page of those that share scales.
                      Case{"DecodeOneBitByChannelSplit", 4, 1, 1, {800, 17}, 6, 1, true},
                      Case{"DecodeHeadsOf64", 8, 2, 1, {33, 5}, 1, 16, false, 64},
                      Case{"VerifyHeadsOf64Split", 4, 1, 9, {523}, 2, 16, false, 64},
                      Case{"DecodeFp8HeadsOf64", 4, 2, 1, {50}, 1, 8, false, 64},
                      Case{"DecodeHeadsOf256Split", 4, 1, 1, {530, 17}, 4, 16, false, 256},
                      Case{"VerifyHeadsOf256", 4, 2, 9, {70}, 1, 16, false, 256},
                      Case{"DecodeFp8HeadsOf256", 4, 2, 1, {50}, 1, 8, false, 256},
                      // Pages are scored four at a time: two whole rounds; and a part of one, of 24 rows, split.
                      Case{"LatentSixteenHeads", 16, 1, 1, {128, 1}, 1, 16, false, kLatentKeyDim},
                      Case{"LatentTwoTilesSplitUneven", 24, 1, 1, {530, 17}, 4, 16, false, kLatentKeyDim},
                      Case{"LatentSeveralQueries", 20, 1, 3, {75}, 1, 16, false, kLatentKeyDim},
                      Case{"PrefillExpandedLatent", 2, 2, 20, {20}, 1, 16, false, kExpandedKeyDim}),
    [](const auto& tested) { return tested.param.name; });

TEST(CutAttention, CoversEveryRowAndPageForAnyShape) {
  for (const int rows : {1, 16, 17, 33, 512}) {
    for (const int longest : {1, 255, 256, 1024, 131072}) {
      for (const int wanted : {1, 100, 1000}) {
        const AttentionCut cut = cut_attention(rows, 8, 3, longest, wanted);
        EXPECT_GE(cut.tiles * cut.row_warps * kWarpRows, rows);
        EXPECT_GE(cut.chunks * cut.chunk_pages, pages_of(longest));
        EXPECT_LT((cut.chunks - 1) * cut.chunk_pages, pages_of(longest)) << "no block without work";
        EXPECT_LE(cut.chunks, 256);
      }
    }
  }
}

TEST(CutAttention, DoesNotSplitWhereSequencesAloneFillTheGpu) {
  EXPECT_EQ(1, cut_attention(4, 8, 256, 4096, 528).chunks);
  EXPECT_EQ(16, cut_attention(4, 8, 1, 4096, 528).chunks) << "256 tokens a chunk at the least";
}

}  // namespace
}  // namespace kvsim::calibrate::KVSIM_FILE
