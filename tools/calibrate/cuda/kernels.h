// The kernels as functions: memory is filled, read, written and copied, vectors are quantised, scores selected,
// attention computed.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/kernels/attention_args.h"
#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/experts.h"

namespace kvsim::calibrate {

// Memory (basic_kernels.cu).

/// Random data of random_data.h, by element index from 0.
void fill_values(std::uint16_t* bf16, std::size_t count, std::uint64_t seed, const Stream& stream);
void fill_words(std::uint32_t* words, std::size_t count, std::uint64_t seed, const Stream& stream);
void fill_e4m3(std::uint8_t* values, std::size_t count, std::uint64_t seed, const Stream& stream);
/// `by_channel`: of random_channel_word.
void fill_scales(std::uint32_t* words, std::size_t count, std::uint64_t seed, int bits, bool by_channel,
                 const Stream& stream);

/// Bytes are a multiple of 16. `sums` has a place for each of read_blocks() blocks: the XOR of the words it read.
int read_blocks(int multiprocessors);
void read_memory(const void* from, std::size_t bytes, std::uint32_t* sums, int blocks, const Stream& stream);
void write_memory(void* to, std::size_t bytes, std::uint32_t word, int blocks, const Stream& stream);
void copy_memory(void* to, const void* from, std::size_t bytes, int blocks, const Stream& stream);

/// Rows of `row_bytes` (a multiple of 16) from `rows[i] * row_bytes` of one memory, which may be the host's, to i *
/// row_bytes of the other; eight lanes or more to a row.
void gather_rows(void* to, const void* from, const std::uint32_t* rows, std::size_t count, std::size_t row_bytes,
                 int blocks, const Stream& stream);

/// Does nothing.
void empty_kernel(const Stream& stream);
/// Keeps the stream busy for some 30 us, so that what is put behind it is all there when it begins.
void hold(const Stream& stream);

// Quantisation and top-k (cache_kernels.cu).

/// How KV is held.
struct KvBits {
  int bits = 16;                 ///< an element: 16, 8 (e4m3), 4, 2 or 1
  bool keys_by_channel = false;  ///< scales of keys of few bits; else by token
  int head_dim = kHeadDim;       ///< elements of a key: of few bits 128, else one of kHeadDims or a latent's
  int value_dim = kHeadDim;      ///< of a value
};

/// `kv.bits` is 4, 2 or 1; `vectors`, of 128 elements, a multiple of 16, by channel of 256.
void quantise_vectors(const KvBits& kv, const Bf16* values, std::uint32_t* words, std::uint32_t* scales,
                      std::int64_t vectors, cudaStream_t stream);
void dequantise_vectors(const KvBits& kv, const std::uint32_t* words, const std::uint32_t* scales, Bf16* values,
                        std::int64_t vectors, cudaStream_t stream);

/// Scores spread evenly over [-2, 2) in 2^24 steps.
void fill_scores(float* to, std::size_t count, std::uint64_t seed, cudaStream_t stream);

/// Indices of the k largest of each row, in no order.
void select_topk(const float* scores, int* indices, std::int64_t rows, int columns, int k, cudaStream_t stream);

// Routed experts (experts_launch.cu).

/// The rows of `tiles` tiles of at most 16 `row_tiles` (1 or 4) rows times their experts' weights; gated: as
/// grouped_product() has it.
void launch_grouped_product(const ExpertArgs& args, int tiles, int row_tiles, bool gated, cudaStream_t stream);

// Attention (attention_launch.cu).

/// Puts the kernels for `args` onto a stream. `cut` is what args was made from; KV of few bits is for at most 16 rows
/// (query tokens times heads) for each KV head, more throws std::invalid_argument.
void launch_attention(const AttentionArgs& args, const AttentionCut& cut, int sequences, const KvBits& kv,
                      cudaStream_t stream);

}  // namespace kvsim::calibrate
