// Paged attention of `query_tokens` new tokens a sequence over its KV, which includes them: decode (1), verify (2 to
// 64) and causal prefill (all). Rows of one KV head's tile are (query token, head of the group), sixteen to a warp, so
// that grouped queries share every load of KV; the KV may be split into chunks for different blocks (flash-decoding),
// whose partial results combine_attention puts together.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/attention_args.h"
#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/kv_format.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr float kMinusInfinity = -__builtin_inff();

/// A warp's 16 rows, of which it carries some parts of the output along. A lane has rows group and group + 8.
template <int kParts, int kValuePairs>
struct WarpState {
  /// By part; tile of the product n holds elements value_element(.., n / 2) + n % 2.
  float output[kParts][2 * kValuePairs][4] = {};
  float maximum[2] = {kMinusInfinity, kMinusInfinity};
  float sum[2] = {0, 0};  ///< over the lane's own columns
};

/// The largest score of a page in one of the lane's two rows.
KVSIM_DEVICE float top_of(const float (&scores)[2][4], int half) {
  float top = kMinusInfinity;
  KVSIM_UNROLL
  for (int n = 0; n < 2; ++n) {
    top = scores[n][2 * half] > top ? scores[n][2 * half] : top;
    top = scores[n][2 * half + 1] > top ? scores[n][2 * half + 1] : top;
  }
  const float across = shuffle_xor(top, 1);
  top = across > top ? across : top;
  const float farther = shuffle_xor(top, 2);
  return farther > top ? farther : top;
}

/// Softmax weights of a page for one of the lane's two rows, as operand of the second product; rescales what was
/// before. `top` is the largest score of the tokens that are added together, in powers of two.
template <int kParts, int kValuePairs>
KVSIM_DEVICE void soften(WarpState<kParts, kValuePairs>& state, const float (&scores)[2][4], int half, float top,
                         float scale_log2, std::uint32_t (&weights)[4]) {
  const float before = state.maximum[half];
  const float now = top > before ? top : before;
  const float origin = now == kMinusInfinity ? 0.0F : now;  // a row that sees nothing yet
  const float shrink = exp2_fast(before - origin);
  state.maximum[half] = now;
  float sum = 0;
  KVSIM_UNROLL
  for (int n = 0; n < 2; ++n) {
    const float first = exp2_fast(scores[n][2 * half] * scale_log2 - origin);
    const float second = exp2_fast(scores[n][2 * half + 1] * scale_log2 - origin);
    sum += first + second;
    weights[2 * n + half] = pack_bf16(first, second);
  }
  state.sum[half] = state.sum[half] * shrink + sum;
  KVSIM_UNROLL
  for (int part = 0; part < kParts; ++part) {
    KVSIM_UNROLL
    for (int n = 0; n < 2 * kValuePairs; ++n) {
      state.output[part][n][2 * half] *= shrink;
      state.output[part][n][2 * half + 1] *= shrink;
    }
  }
}

/// The sum of a row over the lanes that share it.
template <int kParts, int kValuePairs>
KVSIM_DEVICE float sum_of(const WarpState<kParts, kValuePairs>& state, int half) {
  float sum = state.sum[half];
  sum += shuffle_xor(sum, 1);
  return sum + shuffle_xor(sum, 2);
}

/// Hides the tokens of a page that a row may not attend to.
KVSIM_DEVICE void mask(float (&scores)[2][4], int token0, int quad, int visible0, int visible8) {
  KVSIM_UNROLL
  for (int n = 0; n < 2; ++n) {
    KVSIM_UNROLL
    for (int c = 0; c < 4; ++c) {
      const int token = token0 + 8 * n + 2 * quad + c % 2;
      if (token >= (c < 2 ? visible0 : visible8)) scores[n][c] = kMinusInfinity;
    }
  }
}

template <class Format>
KVSIM_DEVICE void load_values(typename Format::RawValue (&values)[4], const KvPools& pools, std::int64_t vector0,
                              int lane, int part) {
  KVSIM_UNROLL
  for (int slot = 0; slot < 4; ++slot) {
    const int token = 2 * (lane % 4) + slot % 2 + 8 * (slot / 2);
    values[slot] = Format::load_value(pools, vector0 + token, lane / 4, part);
  }
}

/// Adds a page's values times their weights to one part of the output.
template <class Format>
KVSIM_DEVICE void add_values(float (&output)[2 * Format::kValuePairs][4], const std::uint32_t (&weights)[4],
                             const typename Format::RawValue (&values)[4], int lane) {
  KVSIM_UNROLL
  for (int pair = 0; pair < Format::kValuePairs; ++pair) {
    std::uint32_t word[4];
    KVSIM_UNROLL
    for (int slot = 0; slot < 4; ++slot) word[slot] = Format::value_pair(values[slot], lane / 4, pair);
    mma_16x8x16(output[2 * pair], weights, low_halves(word[0], word[1]), low_halves(word[2], word[3]));
    mma_16x8x16(output[2 * pair + 1], weights, high_halves(word[0], word[1]), high_halves(word[2], word[3]));
  }
}

/// Queries of the warp's sixteen rows as operands of the first product, in the order of the format's key elements.
template <class Format>
KVSIM_DEVICE void load_queries(const AttentionArgs& args, int sequence, int kv_head, int row0, int rows, int lane,
                               std::uint32_t (&operand)[Format::kKeyPairs / 2][4]) {
  const int group = lane / 4;
  const int quad = lane % 4;
  KVSIM_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int row = row0 + group + 8 * half;
    const Bf16* at = row < rows ? args.queries + row_index(args, sequence, kv_head, row) * Format::kKeyDim : nullptr;
    KVSIM_UNROLL
    for (int pair = 0; pair < Format::kKeyPairs; ++pair) {
      std::uint32_t word = 0;
      if (at != nullptr) memcpy(&word, __builtin_assume_aligned(at + Format::key_element(quad, pair), 4), sizeof word);
      operand[pair / 2][2 * (pair % 2) + half] = word;
    }
  }
}

/// One page: scores, softmax, values. `load_next` fetches the next page's keys between the two products.
template <class Format, class State, class LoadNext>
KVSIM_DEVICE void attend_page(State& state, const std::uint32_t (&queries)[Format::kKeyPairs / 2][4],
                              typename Format::Raw (&keys)[2], const KvPools& pools, std::int64_t vector0, int lane,
                              int visible0, int visible8, int token0, float scale_log2, const LoadNext& load_next) {
  typename Format::RawValue values[4];
  load_values<Format>(values, pools, vector0, lane, 0);
  float scores[2][4] = {};
  KVSIM_UNROLL
  for (int step = 0; step < Format::kKeyPairs / 2; ++step) {
    KVSIM_UNROLL
    for (int n = 0; n < 2; ++n) {  // two chains that do not wait for each other
      mma_16x8x16(scores[n], queries[step], Format::key_pair(keys[n], 2 * step),
                  Format::key_pair(keys[n], 2 * step + 1));
    }
  }
  load_next(keys);
  mask(scores, token0, lane % 4, visible0, visible8);
  std::uint32_t weights[4];
  KVSIM_UNROLL
  for (int half = 0; half < 2; ++half) {
    soften(state, scores, half, top_of(scores, half) * scale_log2, scale_log2, weights);
  }
  add_values<Format>(state.output[0], weights, values, lane);
  KVSIM_UNROLL
  for (int part = 1; part < Format::kParts; ++part) {
    load_values<Format>(values, pools, vector0, lane, part);
    add_values<Format>(state.output[part], weights, values, lane);
  }
}

/// Puts the warps of one row tile together and writes a part of the result, or of the partial one of this chunk.
template <class Format, int kKvWarps>
KVSIM_DEVICE void write_rows(const AttentionArgs& args,
                             const float (&outputs)[kAttentionWarps][kWarpRows][Format::kPart],
                             const float (&maxima)[kAttentionWarps][kWarpRows],
                             const float (&sums)[kAttentionWarps][kWarpRows], int sequence, int kv_head, int tile_row0,
                             int rows, int chunk, int part) {
  static_assert(Format::kPart <= kAttentionThreads, "a thread an element");
  constexpr int kRowWarps = kAttentionWarps / kKvWarps;
  const int element = thread_index();
  if (element >= Format::kPart) return;
  const int at_element = part * Format::kPart + element;
  for (int r = 0; r < kRowWarps * kWarpRows && tile_row0 + r < rows; ++r) {
    float top = kMinusInfinity;
    for (int k = 0; k < kKvWarps; ++k) {
      const float m = maxima[k * kRowWarps + r / kWarpRows][r % kWarpRows];
      top = m > top ? m : top;
    }
    const float origin = top == kMinusInfinity ? 0.0F : top;
    float sum = 0;
    float value = 0;
    for (int k = 0; k < kKvWarps; ++k) {
      const int warp = k * kRowWarps + r / kWarpRows;
      const float weight = exp2_fast(maxima[warp][r % kWarpRows] - origin);
      sum += weight * sums[warp][r % kWarpRows];
      value += weight * outputs[warp][r % kWarpRows][element];
    }
    if (args.chunks == 1) {
      args.output[row_index(args, sequence, kv_head, tile_row0 + r) * Format::kValueDim + at_element] =
          to_bf16(sum > 0 ? value / sum : 0.0F);
    } else {
      const std::int64_t at = partial_index(args, sequence, kv_head, tile_row0 + r, chunk);
      args.partial_output[at * Format::kValueDim + at_element] = value;
      if (at_element == 0) {
        args.partial_maximum[at] = top;
        args.partial_sum[at] = sum;
      }
    }
  }
}

/// Grid: (sequences x tiles, KV heads, chunks), kAttentionThreads a block. Of the four warps kRowWarps have rows of
/// their own (a tile is 16 kRowWarps rows) and the others take turns in reading pages for the same rows.
template <class Format, int kRowWarps>
#ifdef __CUDACC__
__launch_bounds__(kAttentionThreads)
#endif
    KVSIM_KERNEL attention(AttentionArgs args) {
  constexpr int kKvWarps = kAttentionWarps / kRowWarps;
  constexpr bool kAhead = Format::kKeyDim <= kHeadDim;  // wider keys leave no registers for those of the next page
  KVSIM_SHARED float outputs[kAttentionWarps][kWarpRows][Format::kPart];
  KVSIM_SHARED float maxima[kAttentionWarps][kWarpRows];
  KVSIM_SHARED float sums[kAttentionWarps][kWarpRows];

  const int sequence = block_x() / args.tiles;
  // Later rows see more: the longest blocks start first.
  const int tile_row0 = (args.tiles - 1 - block_x() % args.tiles) * kRowWarps * kWarpRows;
  const int kv_head = block_y();
  const int chunk = block_z();
  const int length = args.lengths[sequence];
  const int page_begin = chunk * args.chunk_pages;
  if (page_begin >= pages_of(length)) return;  // combine_attention does not look at this chunk

  const int lane = thread_index() % kWarpSize;
  const int warp = thread_index() / kWarpSize;
  const int group = lane / 4;
  const int quad = lane % 4;
  const int rows = args.query_tokens * (args.heads / args.kv_heads);
  const int row0 = tile_row0 + warp % kRowWarps * kWarpRows;
  const int last_row = (row0 + kWarpRows < rows ? row0 + kWarpRows : rows) - 1;
  int page_end = page_begin + args.chunk_pages;
  const int seen = row0 < rows ? pages_of(visible_tokens(args, length, last_row)) : 0;  // none for a warp without rows
  page_end = seen < page_end ? seen : page_end;

  std::uint32_t queries[Format::kKeyPairs / 2][4];
  load_queries<Format>(args, sequence, kv_head, row0, rows, lane, queries);
  const int visible0 = visible_tokens(args, length, row0 + group);
  const int visible8 = visible_tokens(args, length, row0 + group + 8);
  const int* table = args.page_table + static_cast<std::int64_t>(sequence) * args.pages_per_sequence;
  const auto vector_of = [&](int page) {
    return (static_cast<std::int64_t>(table[page]) * args.kv_heads + kv_head) * kPageTokens;
  };

  WarpState<Format::kParts, Format::kValuePairs> state;
  typename Format::Raw keys[2];
  const int first = page_begin + warp / kRowWarps;
  const auto scales_of = [&](int page) {
    return Format::kScalePages > 1 ? vector_of(page - page % Format::kScalePages) : std::int64_t{0};
  };
  std::int64_t vector = first < page_end ? vector_of(first) : 0;
  std::int64_t scales = first < page_end ? scales_of(first) : 0;
  const auto load_keys = [&](typename Format::Raw(&to)[2]) {
    KVSIM_UNROLL
    for (int n = 0; n < 2; ++n) to[n] = Format::load_key(args.pools, vector + 8 * n + group, quad, scales);
  };
  if (kAhead && first < page_end) load_keys(keys);
  for (int page = first; page < page_end; page += kKvWarps) {
    if (!kAhead) load_keys(keys);
    const std::int64_t here = vector;
    const bool more = page + kKvWarps < page_end;
    if (more) {
      vector = vector_of(page + kKvWarps);
      scales = scales_of(page + kKvWarps);
    }
    attend_page<Format>(state, queries, keys, args.pools, here, lane, visible0, visible8, page * kPageTokens,
                        args.scale_log2, [&](typename Format::Raw(&to)[2]) {
                          if (kAhead && more) load_keys(to);
                        });
  }

  KVSIM_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float sum = sum_of(state, half);
    if (quad == 0) {
      maxima[warp][group + 8 * half] = state.maximum[half];
      sums[warp][group + 8 * half] = sum;
    }
  }
  KVSIM_UNROLL
  for (int part = 0; part < Format::kParts; ++part) {
    if (part > 0) sync_block();
    KVSIM_UNROLL
    for (int n = 0; n < 2 * Format::kValuePairs; ++n) {
      KVSIM_UNROLL
      for (int c = 0; c < 4; ++c) {
        // Column j of a tile of the second product is the element that lane group j read.
        const int element = Format::value_element(2 * quad + c % 2, n / 2) + n % 2;
        outputs[warp][group + 8 * (c / 2)][element] = state.output[part][n][c];
      }
    }
    sync_block();
    write_rows<Format, kKvWarps>(args, outputs, maxima, sums, sequence, kv_head, tile_row0, rows, chunk, part);
  }
}

/// Grid: (rows, KV heads, sequences), a thread an element of a value. Chunks beyond the sequence's end were not
/// written.
template <int kUnused = 0>
KVSIM_KERNEL combine_attention(AttentionArgs args) {
  const int row = block_x();
  const int kv_head = block_y();
  const int sequence = block_z();
  const int used = (pages_of(args.lengths[sequence]) + args.chunk_pages - 1) / args.chunk_pages;
  const std::int64_t first = partial_index(args, sequence, kv_head, row, 0);
  float top = kMinusInfinity;
  for (int i = 0; i < used; ++i) {
    const float m = args.partial_maximum[first + i];
    top = m > top ? m : top;
  }
  float sum = 0;
  float value = 0;
  for (int i = 0; i < used; ++i) {
    const float weight = exp2_fast(args.partial_maximum[first + i] - top);
    sum += weight * args.partial_sum[first + i];
    value += weight * args.partial_output[(first + i) * block_threads() + thread_index()];
  }
  args.output[row_index(args, sequence, kv_head, row) * block_threads() + thread_index()] = to_bf16(value / sum);
}

}  // namespace kvsim::calibrate
