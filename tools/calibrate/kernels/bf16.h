// bfloat16 as sixteen bits, the same on the CPU and on the GPU.
#pragma once

#include <cstdint>
#include <cstring>

#include "tools/calibrate/kernels/portable.h"
#ifdef __CUDACC__
#include <cuda_bf16.h>
#endif

namespace kvsim::calibrate {

using Bf16 = std::uint16_t;

KVSIM_BOTH float from_bf16(Bf16 value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float result = 0;
  memcpy(&result, &bits, sizeof result);
  return result;
}

/// Rounds to nearest, ties to even; no NaN may come in.
KVSIM_BOTH Bf16 to_bf16(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  bits += 0x7fffU + ((bits >> 16) & 1U);
  return static_cast<Bf16>(bits >> 16);
}

/// Two neighbours in one word, the first in the low half.
KVSIM_DEVICE std::uint32_t pack_bf16(float low, float high) {
#ifdef __CUDA_ARCH__
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  std::uint32_t word = 0;
  memcpy(&word, &pair, sizeof word);
  return word;
#else
  return static_cast<std::uint32_t>(to_bf16(low)) | (static_cast<std::uint32_t>(to_bf16(high)) << 16);
#endif
}

/// The low halves of two words, then their high halves.
KVSIM_DEVICE std::uint32_t low_halves(std::uint32_t first, std::uint32_t second) {
#ifdef __CUDA_ARCH__
  return __byte_perm(first, second, 0x5410);
#else
  return (first & 0xffffU) | (second << 16);
#endif
}
KVSIM_DEVICE std::uint32_t high_halves(std::uint32_t first, std::uint32_t second) {
#ifdef __CUDA_ARCH__
  return __byte_perm(first, second, 0x7632);
#else
  return (first >> 16) | (second & 0xffff0000U);
#endif
}

}  // namespace kvsim::calibrate
