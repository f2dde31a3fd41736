// Arguments of the attention kernels, where rows and partial results lie, and how a shape is cut into blocks.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/kv_format.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr int kAttentionWarps = 4;
constexpr int kAttentionThreads = kAttentionWarps * kWarpSize;
constexpr int kWarpRows = 16;

struct AttentionArgs {
  const Bf16* queries = nullptr;  ///< [sequence][query token][head][element]
  Bf16* output = nullptr;         ///< likewise
  KvPools pools;
  const int* page_table = nullptr;   ///< [sequence][page]
  const int* lengths = nullptr;      ///< tokens of KV of each sequence, query tokens included
  float* partial_output = nullptr;   ///< [sequence][KV head][row][chunk][element], not divided by the sum
  float* partial_maximum = nullptr;  ///< [sequence][KV head][row][chunk], in powers of two
  float* partial_sum = nullptr;      ///< likewise
  int heads = 0;
  int kv_heads = 0;
  int query_tokens = 0;
  int pages_per_sequence = 0;  ///< of the page table
  int chunk_pages = 0;         ///< pages that one block reads
  int chunks = 1;              ///< blocks that share the longest sequence; 1: no partial results
  int tiles = 1;               ///< of rows
  float scale_log2 = 0;        ///< log2(e) / sqrt(elements of a key)
};

KVSIM_BOTH int pages_of(int tokens) {
  return (tokens + kPageTokens - 1) / kPageTokens;
}

/// Tokens that the query of a row may attend to.
KVSIM_BOTH int visible_tokens(const AttentionArgs& args, int length, int row) {
  return length - args.query_tokens + row / (args.heads / args.kv_heads) + 1;
}

/// How many rows lie before a row in queries and output.
KVSIM_BOTH std::int64_t row_index(const AttentionArgs& args, int sequence, int kv_head, int row) {
  const int group = args.heads / args.kv_heads;
  const std::int64_t token = static_cast<std::int64_t>(sequence) * args.query_tokens + row / group;
  return token * args.heads + kv_head * group + row % group;
}

KVSIM_BOTH std::int64_t partial_index(const AttentionArgs& args, int sequence, int kv_head, int row, int chunk) {
  const int rows = args.query_tokens * (args.heads / args.kv_heads);
  return ((static_cast<std::int64_t>(sequence) * args.kv_heads + kv_head) * rows + row) * args.chunks + chunk;
}

/// How a shape is cut into blocks.
struct AttentionCut {
  int row_warps = 1;
  int tiles = 1;
  int chunk_pages = 1;
  int chunks = 1;
};

/// Enough chunks for `blocks_wanted` blocks, none under 16 pages (256 tokens) unless the KV is shorter, at most 256
/// chunks. A block has the rows of at most `most_row_warps` tiles of 16.
inline AttentionCut cut_attention(int rows, int kv_heads, int sequences, int longest, int blocks_wanted,
                                  int most_row_warps = kAttentionWarps) {
  AttentionCut cut;
  cut.row_warps = rows <= kWarpRows ? 1 : rows <= 2 * kWarpRows || most_row_warps == 2 ? 2 : most_row_warps;
  const int tile_rows = cut.row_warps * kWarpRows;
  cut.tiles = (rows + tile_rows - 1) / tile_rows;
  const int pages = pages_of(longest);
  const std::int64_t blocks = static_cast<std::int64_t>(sequences) * cut.tiles * kv_heads;
  std::int64_t chunks = (blocks_wanted + blocks - 1) / blocks;
  const std::int64_t most = pages / 16 > 0 ? pages / 16 : 1;
  chunks = chunks < most ? chunks : most;
  chunks = chunks < 256 ? chunks : 256;
  cut.chunk_pages = static_cast<int>((pages + chunks - 1) / chunks);
  cut.chunks = (pages + cut.chunk_pages - 1) / cut.chunk_pages;
  return cut;
}

}  // namespace kvsim::calibrate
