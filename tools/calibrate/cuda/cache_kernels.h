// Quantisation and top-k as functions.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"

namespace kvsim::calibrate {

/// `bits` is 4, 2 or 1; `vectors`, of 128 elements, a multiple of 16.
void quantise_vectors(int bits, const Bf16* values, std::uint32_t* words, std::uint32_t* scales, std::int64_t vectors,
                      cudaStream_t stream);
void dequantise_vectors(int bits, const std::uint32_t* words, const std::uint32_t* scales, Bf16* values,
                        std::int64_t vectors, cudaStream_t stream);

/// Scores spread evenly over [-2, 2) in 2^24 steps.
void fill_scores(float* to, std::size_t count, std::uint64_t seed, cudaStream_t stream);

/// Indices of the k largest of each row, in no order.
void select_topk(const float* scores, int* indices, std::int64_t rows, int columns, int k, cudaStream_t stream);

}  // namespace kvsim::calibrate
