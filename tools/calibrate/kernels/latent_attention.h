// Paged attention over latents (MLA, absorbed): all query heads share one vector a token, all elements of which are the
// key and the first of which are the value. A block has 16 or 32 rows and goes through the pages four at a time: each
// warp scores one of them over all elements, and adds all four to an own part of the values' elements. Chunks are put
// together by combine_attention.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/attention.h"

namespace kvsim::calibrate {

constexpr int kLatentKeyDim = 576;    ///< latent and rotary key
constexpr int kLatentValueDim = 512;  ///< latent
constexpr int kLatentRowWarps = 2;    ///< most tiles of 16 rows in a block
constexpr int kExpandedKeyDim = 192;  ///< of a head, as prefill expands the latent: 128 elements, and the rotary key
constexpr int kExpandedValueDim = 128;
constexpr int kLoadElements = 8;  ///< of bf16 in 16 bytes
using LatentFormat = FloatFormat<16, kLatentKeyDim, kLatentValueDim, kLatentKeyDim>;

/// Scores of a page for the 16 rows of a tile, whose queries lie in shared memory.
template <class Format, int kRowTiles, int kPitch>
KVSIM_DEVICE void score_page(float (&scores)[kRowTiles][2][4], const Vec16 (&queries)[kRowTiles * kWarpRows][kPitch],
                             const KvPools& pools, std::int64_t vector0, int lane) {
  const int group = lane / 4;
  const int quad = lane % 4;
  KVSIM_UNROLL
  for (int load = 0; load < Format::kKeyLoads; ++load) {
    Vec16 keys[2];
    KVSIM_UNROLL
    for (int n = 0; n < 2; ++n) keys[n] = Format::load_keys(pools, vector0 + 8 * n + group, quad, load);
    KVSIM_UNROLL
    for (int tile = 0; tile < kRowTiles; ++tile) {
      const int at = Format::key_element(quad, load * Format::kLoad) / kLoadElements;
      const Vec16 upper = queries[tile * kWarpRows + group][at];
      const Vec16 lower = queries[tile * kWarpRows + group + 8][at];
      KVSIM_UNROLL
      for (int pair = 0; pair < Format::kLoad; pair += 2) {
        const std::uint32_t rows[4] = {upper.word[pair], lower.word[pair], upper.word[pair + 1], lower.word[pair + 1]};
        KVSIM_UNROLL
        for (int n = 0; n < 2; ++n) {
          mma_16x8x16(scores[tile][n], rows, Format::pair_of(keys[n], pair), Format::pair_of(keys[n], pair + 1));
        }
      }
    }
  }
}

/// Grid: (sequences x tiles, 1, chunks), kAttentionThreads a block. A tile is 16 kRowTiles rows.
template <class Format, int kRowTiles>
#ifdef __CUDACC__
__launch_bounds__(kAttentionThreads)
#endif
    KVSIM_KERNEL latent_attention(AttentionArgs args) {
  static_assert(Format::kParts == kAttentionWarps, "a warp a part of the values");
  constexpr int kRows = kRowTiles * kWarpRows;
  constexpr int kRowLoads = Format::kKeyDim / kLoadElements;
  KVSIM_SHARED Vec16 queries[kRows][kRowLoads + 4];  // neighbouring rows begin half the banks apart
  KVSIM_SHARED std::uint32_t weights[kAttentionWarps][kRowTiles][4][kWarpSize];  // by the page's warp
  KVSIM_SHARED float tops[kAttentionWarps][kRows];
  KVSIM_SHARED float sums[kAttentionWarps][kRows];

  const int sequence = block_x() / args.tiles;
  const int tile_row0 = block_x() % args.tiles * kRows;
  const int chunk = block_z();
  const int length = args.lengths[sequence];
  const int page_begin = chunk * args.chunk_pages;
  if (page_begin >= pages_of(length)) return;  // combine_attention does not look at this chunk

  const int lane = thread_index() % kWarpSize;
  const int warp = thread_index() / kWarpSize;
  const int group = lane / 4;
  const int quad = lane % 4;
  const int rows = args.query_tokens * args.heads;
  const int last_row = (tile_row0 + kRows < rows ? tile_row0 + kRows : rows) - 1;
  const int seen = pages_of(visible_tokens(args, length, last_row));
  const int page_end = seen < page_begin + args.chunk_pages ? seen : page_begin + args.chunk_pages;
  const int* table = args.page_table + static_cast<std::int64_t>(sequence) * args.pages_per_sequence;
  const auto vector_of = [&](int page) { return static_cast<std::int64_t>(table[page]) * kPageTokens; };

  for (int i = thread_index(); i < kRows * kRowLoads; i += kAttentionThreads) {
    const int row = tile_row0 + i / kRowLoads;
    const int load = i % kRowLoads;
    const std::int64_t at = row_index(args, sequence, 0, row) * Format::kKeyDim + load * kLoadElements;
    queries[i / kRowLoads][load] = row < rows ? load16(args.queries + at) : Vec16{};
  }
  sync_block();

  WarpState<1, Format::kValuePairs> state[kRowTiles];
  for (int page0 = page_begin; page0 < page_end; page0 += kAttentionWarps) {
    const int page = page0 + warp;
    float scores[kRowTiles][2][4] = {};
    if (page < page_end) score_page<Format, kRowTiles>(scores, queries, args.pools, vector_of(page), lane);
    KVSIM_UNROLL
    for (int tile = 0; tile < kRowTiles; ++tile) {
      const int row = tile * kWarpRows + group;
      const bool there = page < page_end;
      mask(scores[tile], page * kPageTokens, quad, there ? visible_tokens(args, length, tile_row0 + row) : 0,
           there ? visible_tokens(args, length, tile_row0 + row + 8) : 0);
      KVSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        const float top = top_of(scores[tile], half) * args.scale_log2;
        if (quad == 0) tops[warp][row + 8 * half] = top;
      }
    }
    sync_block();
    KVSIM_UNROLL
    for (int tile = 0; tile < kRowTiles; ++tile) {
      std::uint32_t operand[4];
      KVSIM_UNROLL
      for (int half = 0; half < 2; ++half) {
        float top = kMinusInfinity;
        KVSIM_UNROLL
        for (int w = 0; w < kAttentionWarps; ++w) {
          const float of_page = tops[w][tile * kWarpRows + group + 8 * half];
          top = of_page > top ? of_page : top;
        }
        soften(state[tile], scores[tile], half, top, args.scale_log2, operand);
      }
      KVSIM_UNROLL
      for (int i = 0; i < 4; ++i) weights[warp][tile][i][lane] = operand[i];
    }
    sync_block();
    for (int w = 0; w < kAttentionWarps && page0 + w < page_end; ++w) {
      typename Format::RawValue values[4];
      load_values<Format>(values, args.pools, vector_of(page0 + w), lane, warp);
      KVSIM_UNROLL
      for (int tile = 0; tile < kRowTiles; ++tile) {
        std::uint32_t operand[4];
        KVSIM_UNROLL
        for (int i = 0; i < 4; ++i) operand[i] = weights[w][tile][i][lane];
        add_values<Format>(state[tile].output[0], operand, values, lane);
      }
    }
  }

  KVSIM_UNROLL
  for (int tile = 0; tile < kRowTiles; ++tile) {
    KVSIM_UNROLL
    for (int half = 0; half < 2; ++half) {
      const float sum = sum_of(state[tile], half);
      if (quad == 0) sums[warp][tile * kWarpRows + group + 8 * half] = sum;
    }
  }
  sync_block();
  KVSIM_UNROLL
  for (int tile = 0; tile < kRowTiles; ++tile) {
    KVSIM_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int row = tile * kWarpRows + group + 8 * half;
      if (tile_row0 + row >= rows) continue;
      float sum = 0;
      KVSIM_UNROLL
      for (int w = 0; w < kAttentionWarps; ++w) sum += sums[w][row];
      const std::int64_t whole = row_index(args, sequence, 0, tile_row0 + row) * Format::kValueDim;
      const std::int64_t partial = partial_index(args, sequence, 0, tile_row0 + row, chunk);
      KVSIM_UNROLL
      for (int n = 0; n < 2 * Format::kValuePairs; ++n) {
        KVSIM_UNROLL
        for (int c = 0; c < 2; ++c) {
          const int element = warp * Format::kPart + Format::value_element(2 * quad + c, n / 2) + n % 2;
          const float value = state[tile].output[0][n][2 * half + c];
          if (args.chunks == 1) {
            args.output[whole + element] = to_bf16(sum > 0 ? value / sum : 0.0F);
          } else {
            args.partial_output[partial * Format::kValueDim + element] = value;
          }
        }
      }
      if (args.chunks > 1 && warp == 0 && quad == 0) {
        args.partial_maximum[partial] = state[tile].maximum[half];
        args.partial_sum[partial] = sum;
      }
    }
  }
}

}  // namespace kvsim::calibrate
