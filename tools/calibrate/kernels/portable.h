// Primitives that kernels are written in. Under nvcc these are CUDA's own; elsewhere they are only declared, and the
// tests define them on fibers (tests/calibrate/emulator.h), so that the very code of a kernel runs on a CPU.
#pragma once

#include <cstdint>

#ifdef __CUDACC__
#define KVSIM_BOTH __host__ __device__ __forceinline__
#define KVSIM_DEVICE __device__ __forceinline__
#define KVSIM_KERNEL __global__ void
#define KVSIM_SHARED __shared__
#define KVSIM_UNROLL _Pragma("unroll")
#else
#define KVSIM_BOTH inline
#define KVSIM_DEVICE inline
#define KVSIM_KERNEL void
#define KVSIM_SHARED static  // emulated blocks run one after another
#define KVSIM_UNROLL
#endif

namespace kvsim::calibrate {

constexpr int kWarpSize = 32;

/// Sixteen bytes that travel in one load or store.
struct alignas(16) Vec16 {
  std::uint32_t word[4];
};
/// Eight bytes that do.
struct alignas(8) Vec8 {
  std::uint32_t word[2];
};

#ifdef __CUDACC__

KVSIM_DEVICE int thread_index() {
  return static_cast<int>(threadIdx.x);
}
KVSIM_DEVICE int block_threads() {
  return static_cast<int>(blockDim.x);
}
KVSIM_DEVICE int block_x() {
  return static_cast<int>(blockIdx.x);
}
KVSIM_DEVICE int block_y() {
  return static_cast<int>(blockIdx.y);
}
KVSIM_DEVICE int block_z() {
  return static_cast<int>(blockIdx.z);
}
KVSIM_DEVICE int grid_x() {
  return static_cast<int>(gridDim.x);
}
KVSIM_DEVICE void sync_block() {
  __syncthreads();
}
/// The value of the lane whose index differs in the bits of `mask`; all lanes of the warp call it together.
KVSIM_DEVICE float shuffle_xor(float value, int mask) {
  return __shfl_xor_sync(0xffffffffU, value, mask);
}
KVSIM_DEVICE std::uint32_t shuffle_xor(std::uint32_t value, int mask) {
  return __shfl_xor_sync(0xffffffffU, value, mask);
}
KVSIM_DEVICE int atomic_add(int* address, int value) {
  return atomicAdd(address, value);
}
KVSIM_DEVICE float exp2_fast(float x) {
  return exp2f(x);
}
KVSIM_DEVICE Vec16 load16(const void* address) {
  const uint4 v = *static_cast<const uint4*>(address);
  return {{v.x, v.y, v.z, v.w}};
}
KVSIM_DEVICE Vec8 load8(const void* address) {
  const uint2 v = *static_cast<const uint2*>(address);
  return {{v.x, v.y}};
}

/// d += a b for a warp: a is 16 x 16, b is 16 x 8 (both bf16), d is 16 x 8 in fp32. With group = lane / 4 and
/// quad = lane % 4 a lane holds, as the PTX manual has it for mma.m16n8k16:
///   a[0] (group, 2 quad + {0,1}), a[1] (group + 8, same), a[2] (group, 2 quad + 8 + {0,1}), a[3] (group + 8, same)
///   b[0] (2 quad + {0,1}, group), b[1] (2 quad + 8 + {0,1}, group)
///   d[0], d[1] (group, 2 quad + {0,1}), d[2], d[3] (group + 8, same)
KVSIM_DEVICE void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

#else

int thread_index();
int block_threads();
int block_x();
int block_y();
int block_z();
int grid_x();
void sync_block();
float shuffle_xor(float value, int mask);
std::uint32_t shuffle_xor(std::uint32_t value, int mask);
int atomic_add(int* address, int value);
float exp2_fast(float x);
Vec16 load16(const void* address);
Vec8 load8(const void* address);
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1);

#endif

}  // namespace kvsim::calibrate
