// Random data that the GPU fills buffers with and the CPU can name again by index, so that a check of gigabytes needs
// no copy of them. Never zeros: power and clocks depend on the bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

/// SplitMix64's output function over seed and index.
KVSIM_BOTH std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

KVSIM_BOTH std::uint32_t random_word(std::uint64_t seed, std::uint64_t index) {
  return static_cast<std::uint32_t>(random_bits(seed, index) >> 32);
}

/// Uniform in [-2, 2) in steps of 1/64: exact in bf16, variance 4/3.
KVSIM_BOTH float random_value(std::uint64_t seed, std::uint64_t index) {
  const int step = static_cast<int>(random_bits(seed, index) >> 56) - 128;
  return static_cast<float>(step) / 64.0F;
}

/// Uniform in [-1.75, 1.75] in steps of 1/4: exact in fp8 e4m3 (three bits of mantissa).
KVSIM_BOTH float random_coarse(std::uint64_t seed, std::uint64_t index) {
  const int step = static_cast<int>((random_bits(seed, index) >> 32) % 15) - 7;
  return static_cast<float>(step) / 4.0F;
}

/// e4m3 bits of a random_coarse value: sign, four bits of exponent (bias 7), three of mantissa.
KVSIM_BOTH std::uint8_t random_e4m3(std::uint64_t seed, std::uint64_t index) {
  const int step = static_cast<int>((random_bits(seed, index) >> 32) % 15) - 7;
  const unsigned sign = step < 0 ? 0x80U : 0U;
  const unsigned quarters = static_cast<unsigned>(step < 0 ? -step : step);
  if (quarters == 0) return static_cast<std::uint8_t>(sign);
  unsigned top = 0;
  while ((quarters >> (top + 1)) != 0) ++top;  // quarters = 2^top (1 + fraction), value = quarters / 4
  const unsigned exponent = top + 7 - 2;
  const unsigned mantissa = ((quarters << 3) >> top) & 7U;
  return static_cast<std::uint8_t>(sign | (exponent << 3) | mantissa);
}

/// Scale (low half) and offset (high half) of a group quantised to `bits`: the values then spread like random_value,
/// evenly about zero.
KVSIM_BOTH std::uint32_t random_scale_offset(std::uint64_t seed, std::uint64_t index, int bits) {
  const float levels = static_cast<float>((1 << bits) - 1);
  const float spread = static_cast<float>(128 + (random_bits(seed, index) >> 57)) / 64.0F;  // 2 to 4
  const float scale = from_bf16(to_bf16(spread / levels));
  return static_cast<std::uint32_t>(to_bf16(scale)) |
         (static_cast<std::uint32_t>(to_bf16(-0.5F * levels * scale)) << 16);
}

/// Word `index` of scales by channel: of each pair of channels two scales, then two offsets.
KVSIM_BOTH std::uint32_t random_channel_word(std::uint64_t seed, std::uint64_t index, int bits) {
  const std::uint32_t even = random_scale_offset(seed, index - index % 2, bits);
  const std::uint32_t odd = random_scale_offset(seed, index - index % 2 + 1, bits);
  return index % 2 == 0 ? (even & 0xffffU) | (odd << 16) : (even >> 16) | (odd & 0xffff0000U);
}

/// Random bytes in host memory. `bytes` is a multiple of 8.
inline void fill_host(std::byte* to, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    const std::uint64_t bits = random_bits(seed, i);
    std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

}  // namespace kvsim::calibrate
