#include "tools/calibrate/cuda/kernels.h"

#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/kernels/quantised.h"
#include "tools/calibrate/kernels/random_data.h"
#include "tools/calibrate/kernels/topk.h"

namespace kvsim::calibrate {
namespace {

unsigned blocks_for(std::int64_t vectors) {
  return static_cast<unsigned>(vectors * kLanesPerVector / kQuantiseThreads);
}

template <int kBits>
void quantise_as(bool by_channel, const Bf16* values, std::uint32_t* words, std::uint32_t* scales, std::int64_t vectors,
                 cudaStream_t stream) {
  if (by_channel) {
    const auto blocks = static_cast<unsigned>(vectors / kChannelBlockVectors);
    quantise_channels<kBits><<<blocks, kQuantiseThreads, 0, stream>>>(values, words, scales, vectors);
  } else {
    quantise<kBits><<<blocks_for(vectors), kQuantiseThreads, 0, stream>>>(values, words, scales, vectors);
  }
}

template <int kBits>
void dequantise_as(bool by_channel, const std::uint32_t* words, const std::uint32_t* scales, Bf16* values,
                   std::int64_t vectors, cudaStream_t stream) {
  const unsigned blocks = blocks_for(vectors);
  if (by_channel) {
    dequantise_by_channel<kBits><<<blocks, kQuantiseThreads, 0, stream>>>(words, scales, values, vectors);
  } else {
    dequantise<kBits><<<blocks, kQuantiseThreads, 0, stream>>>(words, scales, values, vectors);
  }
}

__global__ void fill_scores_kernel(float* to, std::size_t count, std::uint64_t seed) {
  const std::size_t stride = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    to[i] = static_cast<float>(random_bits(seed, i) >> 40) / 4194304.0F - 2.0F;
  }
}

}  // namespace

void quantise_vectors(const KvBits& kv, const Bf16* values, std::uint32_t* words, std::uint32_t* scales,
                      std::int64_t vectors, cudaStream_t stream) {
  if (kv.bits == 4) quantise_as<4>(kv.keys_by_channel, values, words, scales, vectors, stream);
  if (kv.bits == 2) quantise_as<2>(kv.keys_by_channel, values, words, scales, vectors, stream);
  if (kv.bits == 1) quantise_as<1>(kv.keys_by_channel, values, words, scales, vectors, stream);
  check_launch();
}

void dequantise_vectors(const KvBits& kv, const std::uint32_t* words, const std::uint32_t* scales, Bf16* values,
                        std::int64_t vectors, cudaStream_t stream) {
  if (kv.bits == 4) dequantise_as<4>(kv.keys_by_channel, words, scales, values, vectors, stream);
  if (kv.bits == 2) dequantise_as<2>(kv.keys_by_channel, words, scales, values, vectors, stream);
  if (kv.bits == 1) dequantise_as<1>(kv.keys_by_channel, words, scales, values, vectors, stream);
  check_launch();
}

void fill_scores(float* to, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  constexpr int kBlocks = 2048;
  constexpr int kThreads = 256;
  fill_scores_kernel<<<kBlocks, kThreads, 0, stream>>>(to, count, seed);
  check_launch();
}

void select_topk(const float* scores, int* indices, std::int64_t rows, int columns, int k, cudaStream_t stream) {
  topk<0><<<static_cast<unsigned>(rows), kTopkThreads, 0, stream>>>(scores, indices, columns, k);
  check_launch();
}

}  // namespace kvsim::calibrate
