#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr int kThreads = 256;
constexpr int kFillBlocks = 2048;
constexpr int kUnroll = 8;  ///< loads of 16 bytes under way per thread

__device__ std::size_t first_index() {
  return static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ std::size_t stride() {
  return static_cast<std::size_t>(gridDim.x) * blockDim.x;
}

template <class T, class Make>
__global__ void fill(T* to, std::size_t count, Make make) {
  for (std::size_t i = first_index(); i < count; i += stride()) to[i] = make(i);
}

struct MakeValue {
  std::uint64_t seed;
  __device__ std::uint16_t operator()(std::size_t i) const { return to_bf16(random_value(seed, i)); }
};
struct MakeWord {
  std::uint64_t seed;
  __device__ std::uint32_t operator()(std::size_t i) const { return random_word(seed, i); }
};
struct MakeE4m3 {
  std::uint64_t seed;
  __device__ std::uint8_t operator()(std::size_t i) const { return random_e4m3(seed, i); }
};
struct MakeScale {
  std::uint64_t seed;
  int bits;
  bool by_channel;
  __device__ std::uint32_t operator()(std::size_t i) const {
    return by_channel ? random_channel_word(seed, i, bits) : random_scale_offset(seed, i, bits);
  }
};

__global__ void read_kernel(const uint4* from, std::size_t count, std::uint32_t* sums) {
  __shared__ std::uint32_t sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  std::uint32_t mine = 0;
  std::size_t i = first_index();
  const std::size_t step = stride();
  for (; i + (kUnroll - 1) * step < count; i += kUnroll * step) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = from[i + u * step];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) mine ^= v[u].x ^ v[u].y ^ v[u].z ^ v[u].w;
  }
  for (; i < count; i += step) {
    const uint4 v = from[i];
    mine ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  atomicXor(&sum, mine);
  __syncthreads();
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void write_kernel(uint4* to, std::size_t count, std::uint32_t word) {
  for (std::size_t i = first_index(); i < count; i += stride()) {
    const auto low = static_cast<std::uint32_t>(i);
    to[i] = make_uint4(word ^ low, word + low, ~word ^ low, word - low);
  }
}

__global__ void copy_kernel(uint4* to, const uint4* from, std::size_t count) {
  std::size_t i = first_index();
  const std::size_t step = stride();
  for (; i + (kUnroll - 1) * step < count; i += kUnroll * step) {
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = from[i + u * step];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) to[i + u * step] = v[u];
  }
  for (; i < count; i += step) to[i] = from[i];
}

/// A thread an element of 16 bytes; neighbours in a row are neighbours in a warp.
__global__ void gather_kernel(uint4* to, const uint4* from, const std::uint32_t* rows, std::size_t count,
                              std::size_t row_elements) {
  const std::size_t all = count * row_elements;
  for (std::size_t i = first_index(); i < all; i += stride()) {
    to[i] = from[rows[i / row_elements] * row_elements + i % row_elements];
  }
}

__global__ void nothing() {}

__global__ void spin() {
  constexpr long long kClocks = 50000;
  const long long begin = clock64();
  while (clock64() - begin < kClocks) {
  }
}

}  // namespace

void fill_values(std::uint16_t* bf16, std::size_t count, std::uint64_t seed, const Stream& stream) {
  fill<<<kFillBlocks, kThreads, 0, stream.get()>>>(bf16, count, MakeValue{seed});
  check_launch();
}
void fill_words(std::uint32_t* words, std::size_t count, std::uint64_t seed, const Stream& stream) {
  fill<<<kFillBlocks, kThreads, 0, stream.get()>>>(words, count, MakeWord{seed});
  check_launch();
}
void fill_e4m3(std::uint8_t* values, std::size_t count, std::uint64_t seed, const Stream& stream) {
  fill<<<kFillBlocks, kThreads, 0, stream.get()>>>(values, count, MakeE4m3{seed});
  check_launch();
}
void fill_scales(std::uint32_t* words, std::size_t count, std::uint64_t seed, int bits, bool by_channel,
                 const Stream& stream) {
  fill<<<kFillBlocks, kThreads, 0, stream.get()>>>(words, count, MakeScale{seed, bits, by_channel});
  check_launch();
}

int read_blocks(int multiprocessors) {
  constexpr int kBlocksEach = 8;
  return multiprocessors * kBlocksEach;
}

void read_memory(const void* from, std::size_t bytes, std::uint32_t* sums, int blocks, const Stream& stream) {
  read_kernel<<<blocks, kThreads, 0, stream.get()>>>(static_cast<const uint4*>(from), bytes / 16, sums);
  check_launch();
}
void write_memory(void* to, std::size_t bytes, std::uint32_t word, int blocks, const Stream& stream) {
  write_kernel<<<blocks, kThreads, 0, stream.get()>>>(static_cast<uint4*>(to), bytes / 16, word);
  check_launch();
}
void copy_memory(void* to, const void* from, std::size_t bytes, int blocks, const Stream& stream) {
  copy_kernel<<<blocks, kThreads, 0, stream.get()>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from),
                                                     bytes / 16);
  check_launch();
}
void gather_rows(void* to, const void* from, const std::uint32_t* rows, std::size_t count, std::size_t row_bytes,
                 int blocks, const Stream& stream) {
  gather_kernel<<<blocks, kThreads, 0, stream.get()>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from), rows,
                                                       count, row_bytes / 16);
  check_launch();
}
void empty_kernel(const Stream& stream) {
  nothing<<<1, 1, 0, stream.get()>>>();
  check_launch();
}
void hold(const Stream& stream) {
  spin<<<1, 1, 0, stream.get()>>>();
  check_launch();
}

}  // namespace kvsim::calibrate
