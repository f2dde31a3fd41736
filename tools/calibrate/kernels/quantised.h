// How quantised KV lies in memory. A vector of 128 elements at b bits is 4 b words of 32 bits; element e is in word
// e / (32/b), and neighbours 2 i and 2 i + 1 lie 16 bits apart (at bits b i and 16 + b i), so that one shift and one
// mask give a pair of bf16. Each group of 64 elements has a word of scale (low half) and offset (high half), both bf16:
// value = level * scale + offset.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr int kHeadDim = 128;
constexpr int kGroup = 64;  ///< elements that share a scale and an offset
constexpr int kGroups = kHeadDim / kGroup;

template <int kBits>
struct Packing {
  static_assert(kBits == 1 || kBits == 2 || kBits == 4);
  static constexpr int kPerWord = 32 / kBits;
  static constexpr int kWords = kHeadDim / kPerWord;  ///< of one vector
  /// The word of an even element within its vector.
  static KVSIM_BOTH int word_of(int element) { return element / kPerWord; }
  /// The bit of an even element within its word; its neighbour's is 16 higher.
  static KVSIM_BOTH int shift_of(int element) { return (element % kPerWord) / 2 * kBits; }
  /// Levels of elements 2 i and 2 i + 1 in the halves of a word.
  static KVSIM_BOTH std::uint32_t levels(std::uint32_t word, int shift) {
    constexpr std::uint32_t mask = (1U << kBits) - 1;
    return (word >> shift) & (mask | (mask << 16));
  }
};

/// Two levels times scale plus offset, rounded to bf16 once.
KVSIM_DEVICE std::uint32_t dequantise_pair(std::uint32_t levels, std::uint32_t scale_offset) {
#ifdef __CUDA_ARCH__
  // 0x4300 is 128 in bf16 and its last mantissa bit is worth 1: 128 + level by an OR, then exactly 128 less.
  const std::uint32_t biased = levels | 0x43004300U;
  const std::uint32_t bias_word = 0x43004300U;
  const std::uint32_t scale_word = __byte_perm(scale_offset, 0, 0x1010);
  const std::uint32_t offset_word = __byte_perm(scale_offset, 0, 0x3232);
  __nv_bfloat162 value, bias, scale, offset;
  memcpy(&value, &biased, sizeof value);
  memcpy(&bias, &bias_word, sizeof bias);
  memcpy(&scale, &scale_word, sizeof scale);
  memcpy(&offset, &offset_word, sizeof offset);
  const __nv_bfloat162 result = __hfma2(__hsub2(value, bias), scale, offset);
  std::uint32_t word = 0;
  memcpy(&word, &result, sizeof word);
  return word;
#else
  const float scale = from_bf16(static_cast<Bf16>(scale_offset & 0xffffU));
  const float offset = from_bf16(static_cast<Bf16>(scale_offset >> 16));
  // A level of 4 bits times 8 bits of mantissa, plus an offset of like size: exact in fp32.
  return pack_bf16(static_cast<float>(levels & 0xffffU) * scale + offset,
                   static_cast<float>(levels >> 16) * scale + offset);
#endif
}

}  // namespace kvsim::calibrate
