// Grouped products, as a layer's routed experts run: the rows that were sent to an expert times its own weights, all
// experts in one launch. Weights are read straight into the operands of the tensor cores, as keys are in attention, in
// the same order of elements as the rows.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr int kExpertWarps = 4;
constexpr int kExpertThreads = kExpertWarps * kWarpSize;
constexpr int kExpertColumns = 32;                                  ///< outputs of a warp
constexpr int kExpertBlockColumns = kExpertWarps * kExpertColumns;  ///< and of a block
constexpr int kExpertStep = 32;                                     ///< elements of k in one load of a warp

/// Rows of one expert that a block takes.
struct ExpertTile {
  int expert = 0;
  int first = 0;  ///< row, of those sorted by expert
  int rows = 0;
};

struct ExpertArgs {
  const Bf16* input = nullptr;    ///< [source row][k]
  const Bf16* weights = nullptr;  ///< [expert][column][k]
  Bf16* output = nullptr;         ///< [row][column], gated: half as many columns
  const int* sources = nullptr;   ///< row of the input of each row; null: the row itself
  const ExpertTile* tiles = nullptr;
  int columns = 0;  ///< a multiple of kExpertColumns
  int k = 0;        ///< a multiple of kExpertStep
};

/// x / (1 + e^-x).
KVSIM_DEVICE float silu(float x) {
  constexpr float kLog2E = 1.44269504F;
  return x / (1.0F + exp2_fast(-kLog2E * x));
}

/// Grid: (tiles, columns / kExpertBlockColumns, rounded up), kExpertThreads a block. A tile has at most 16 kRowTiles
/// rows. Gated: neighbouring columns are a gate and what it lets through, silu(gate) x up.
template <int kRowTiles, bool kGated>
#ifdef __CUDACC__
__launch_bounds__(kExpertThreads)
#endif
    KVSIM_KERNEL grouped_product(ExpertArgs args) {
  constexpr int kColumnTiles = kExpertColumns / 8;
  const ExpertTile tile = args.tiles[block_x()];
  const int lane = thread_index() % kWarpSize;
  const int warp = thread_index() / kWarpSize;
  const int group = lane / 4;
  const int quad = lane % 4;
  const int column0 = block_y() * kExpertBlockColumns + warp * kExpertColumns;
  if (column0 >= args.columns) return;
  const Bf16* weights =
      args.weights + (static_cast<std::int64_t>(tile.expert) * args.columns + column0 + group) * args.k + 8 * quad;
  const Bf16* rows[kRowTiles][2];
  KVSIM_UNROLL
  for (int t = 0; t < kRowTiles; ++t) {
    KVSIM_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int r = 16 * t + 8 * half + group;
      const int row = tile.first + (r < tile.rows ? r : tile.rows - 1);  // further ones are not written
      const std::int64_t source = args.sources == nullptr ? row : args.sources[row];
      rows[t][half] = args.input + source * args.k + 8 * quad;
    }
  }
  float sums[kRowTiles][kColumnTiles][4] = {};
  for (int k = 0; k < args.k; k += kExpertStep) {
    Vec16 in[kRowTiles][2];
    Vec16 weight[kColumnTiles];
    KVSIM_UNROLL
    for (int n = 0; n < kColumnTiles; ++n) weight[n] = load16(weights + static_cast<std::int64_t>(8 * n) * args.k + k);
    KVSIM_UNROLL
    for (int t = 0; t < kRowTiles; ++t) {
      KVSIM_UNROLL
      for (int half = 0; half < 2; ++half) in[t][half] = load16(rows[t][half] + k);
    }
    KVSIM_UNROLL
    for (int pair = 0; pair < 4; pair += 2) {
      KVSIM_UNROLL
      for (int t = 0; t < kRowTiles; ++t) {
        const std::uint32_t operand[4] = {in[t][0].word[pair], in[t][1].word[pair], in[t][0].word[pair + 1],
                                          in[t][1].word[pair + 1]};
        KVSIM_UNROLL
        for (int n = 0; n < kColumnTiles; ++n) {
          mma_16x8x16(sums[t][n], operand, weight[n].word[pair], weight[n].word[pair + 1]);
        }
      }
    }
  }
  KVSIM_UNROLL
  for (int t = 0; t < kRowTiles; ++t) {
    KVSIM_UNROLL
    for (int half = 0; half < 2; ++half) {
      const int r = 16 * t + 8 * half + group;
      if (r >= tile.rows) continue;
      const std::int64_t row = tile.first + r;
      KVSIM_UNROLL
      for (int n = 0; n < kColumnTiles; ++n) {
        const int column = column0 + 8 * n + 2 * quad;
        const float first = sums[t][n][2 * half];
        const float second = sums[t][n][2 * half + 1];
        if (kGated) {
          args.output[row * (args.columns / 2) + column / 2] = to_bf16(silu(first) * second);
        } else {
          const std::uint32_t both = pack_bf16(first, second);
          memcpy(args.output + row * args.columns + column, &both, sizeof both);
        }
      }
    }
  }
}

}  // namespace kvsim::calibrate
