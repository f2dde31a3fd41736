// How quantised KV lies in memory. A vector of 128 elements at b bits is 4 b words of 32 bits; element e is in word
// e / (32/b), and neighbours 2 i and 2 i + 1 lie 16 bits apart (at bits b i and 16 + b i), so that one shift and one
// mask give a pair of bf16. Each group of 64 elements has a word of scale (low half) and offset (high half), both bf16:
// value = level * scale + offset. Keys may instead have a scale and an offset for each element (channel) of some tokens
// in a row, as KIVI quantises them. And how vectors come to lie so: quantised to 1, 2 or 4 bits, and back.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr int kHeadDim = 128;  ///< of KV in few bits, and of other heads where nothing else is said
constexpr int kGroup = 64;     ///< elements that share a scale and an offset
constexpr int kGroups = kHeadDim / kGroup;
constexpr int kChannelTokens = 32;                ///< tokens that share their channels' scales, KIVI's own number
constexpr int kChannelPairs = kHeadDim / 2;       ///< of neighbouring channels, whose scales lie together
constexpr int kChannelWords = 2 * kChannelPairs;  ///< a word of two scales, then one of two offsets, for each pair

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

/// Two levels, each times a scale plus an offset of its own, rounded to bf16 once.
KVSIM_DEVICE std::uint32_t dequantise_channels(std::uint32_t levels, std::uint32_t scales, std::uint32_t offsets) {
#ifdef __CUDA_ARCH__
  // 0x4300 is 128 in bf16 and its last mantissa bit is worth 1: 128 + level by an OR, then exactly 128 less.
  const std::uint32_t biased = levels | 0x43004300U;
  const std::uint32_t bias_word = 0x43004300U;
  __nv_bfloat162 value, bias, scale, offset;
  memcpy(&value, &biased, sizeof value);
  memcpy(&bias, &bias_word, sizeof bias);
  memcpy(&scale, &scales, sizeof scale);
  memcpy(&offset, &offsets, sizeof offset);
  const __nv_bfloat162 result = __hfma2(__hsub2(value, bias), scale, offset);
  std::uint32_t word = 0;
  memcpy(&word, &result, sizeof word);
  return word;
#else
  const auto one = [&](int shift) {
    // A level of 4 bits times 8 bits of mantissa, plus an offset of like size: exact in fp32.
    const float level = static_cast<float>((levels >> shift) & 0xffffU);
    return level * from_bf16(static_cast<Bf16>((scales >> shift) & 0xffffU)) +
           from_bf16(static_cast<Bf16>((offsets >> shift) & 0xffffU));
  };
  return pack_bf16(one(0), one(16));
#endif
}

/// Two levels times scale plus offset, rounded to bf16 once.
KVSIM_DEVICE std::uint32_t dequantise_pair(std::uint32_t levels, std::uint32_t scale_offset) {
#ifdef __CUDA_ARCH__
  return dequantise_channels(levels, __byte_perm(scale_offset, 0, 0x1010), __byte_perm(scale_offset, 0, 0x3232));
#else
  return dequantise_channels(levels, (scale_offset & 0xffffU) * 0x10001U, (scale_offset >> 16) * 0x10001U);
#endif
}

// Quantising: eight lanes share a group of 64; a lane has eight elements.

constexpr int kQuantiseThreads = 256;
constexpr int kLaneElements = 8;
constexpr int kLanesPerVector = kHeadDim / kLaneElements;

/// Scale and offset that spread 2^bits levels over [low, high], each rounded to bf16.
KVSIM_BOTH std::uint32_t scale_offset_of(float low, float high, int bits) {
  const float scale = (high - low) / static_cast<float>((1 << bits) - 1);
  return static_cast<std::uint32_t>(to_bf16(scale)) | (static_cast<std::uint32_t>(to_bf16(low)) << 16);
}

/// The level nearest to a value.
KVSIM_BOTH std::uint32_t level_of(float value, std::uint32_t scale_offset, int bits) {
  const float scale = from_bf16(static_cast<Bf16>(scale_offset & 0xffffU));
  const float offset = from_bf16(static_cast<Bf16>(scale_offset >> 16));
  if (scale <= 0) return 0;
  const float most = static_cast<float>((1 << bits) - 1);
  const float level = (value - offset) / scale + 0.5F;
  return static_cast<std::uint32_t>(level < 0 ? 0 : level > most ? most : level);
}

/// Grid: (vectors x 16 / 256); `vectors` is a multiple of 16, so that no warp is cut.
template <int kBits>
KVSIM_KERNEL quantise(const Bf16* values, std::uint32_t* words, std::uint32_t* scales, std::int64_t vectors) {
  const std::int64_t at = static_cast<std::int64_t>(block_x()) * kQuantiseThreads + thread_index();
  const std::int64_t vector = at / kLanesPerVector;
  const int lane = static_cast<int>(at % kLanesPerVector);
  if (vector >= vectors) return;
  const Vec16 raw = load16(values + vector * kHeadDim + lane * kLaneElements);
  float value[kLaneElements];
  KVSIM_UNROLL
  for (int i = 0; i < kLaneElements; ++i) {
    value[i] = from_bf16(static_cast<Bf16>(raw.word[i / 2] >> (16 * (i % 2))));
  }
  float low = value[0];
  float high = value[0];
  KVSIM_UNROLL
  for (int i = 1; i < kLaneElements; ++i) {
    low = value[i] < low ? value[i] : low;
    high = value[i] > high ? value[i] : high;
  }
  KVSIM_UNROLL
  for (int mask = 1; mask < kGroup / kLaneElements; mask *= 2) {
    const float other_low = shuffle_xor(low, mask);
    const float other_high = shuffle_xor(high, mask);
    low = other_low < low ? other_low : low;
    high = other_high > high ? other_high : high;
  }
  const std::uint32_t scale_offset = scale_offset_of(low, high, kBits);
  using Layout = Packing<kBits>;
  std::uint32_t word = 0;
  KVSIM_UNROLL
  for (int i = 0; i < kLaneElements; i += 2) {
    const int shift = Layout::shift_of(lane * kLaneElements + i);
    word |= level_of(value[i], scale_offset, kBits) << shift;
    word |= level_of(value[i + 1], scale_offset, kBits) << (16 + shift);
  }
  KVSIM_UNROLL
  for (int mask = 1; mask < Layout::kPerWord / kLaneElements; mask *= 2) word |= shuffle_xor(word, mask);
  if (lane % (Layout::kPerWord / kLaneElements) == 0) {
    words[vector * Layout::kWords + Layout::word_of(lane * kLaneElements)] = word;
  }
  if (lane % (kGroup / kLaneElements) == 0) scales[vector * kGroups + lane * kLaneElements / kGroup] = scale_offset;
}

/// Same grid.
template <int kBits>
KVSIM_KERNEL dequantise(const std::uint32_t* words, const std::uint32_t* scales, Bf16* values, std::int64_t vectors) {
  using Layout = Packing<kBits>;
  const std::int64_t at = static_cast<std::int64_t>(block_x()) * kQuantiseThreads + thread_index();
  const std::int64_t vector = at / kLanesPerVector;
  const int lane = static_cast<int>(at % kLanesPerVector);
  if (vector >= vectors) return;
  const int element = lane * kLaneElements;
  const std::uint32_t word = words[vector * Layout::kWords + Layout::word_of(element)];
  const std::uint32_t scale_offset = scales[vector * kGroups + element / kGroup];
  Vec16 result;
  KVSIM_UNROLL
  for (int i = 0; i < kLaneElements; i += 2) {
    result.word[i / 2] = dequantise_pair(Layout::levels(word, Layout::shift_of(element + i)), scale_offset);
  }
  *reinterpret_cast<Vec16*>(values + vector * kHeadDim + element) = result;
}

// By channel: a warp of threads has kChannelTokens vectors of a head in a row, and a thread two pairs of channels of
// them.

constexpr int kChannelBlockVectors = kQuantiseThreads / kWarpSize * kChannelTokens;

/// Grid: (vectors / kChannelBlockVectors); `vectors` is a multiple of that. `scales` has kChannelWords for each
/// kChannelTokens vectors.
template <int kBits>
KVSIM_KERNEL quantise_channels(const Bf16* values, std::uint32_t* words, std::uint32_t* scales, std::int64_t vectors) {
  using Layout = Packing<kBits>;
  constexpr int kPairs = kChannelPairs / kWarpSize;
  constexpr int kLanesPerWord = Layout::kPerWord / (2 * kPairs);
  const int lane = thread_index() % kWarpSize;
  const std::int64_t group =
      static_cast<std::int64_t>(block_x()) * (kQuantiseThreads / kWarpSize) + thread_index() / kWarpSize;
  const std::int64_t first = group * kChannelTokens;
  if (first >= vectors) return;
  const int element = lane * 2 * kPairs;
  float low[2 * kPairs];
  float high[2 * kPairs];
  for (int t = 0; t < kChannelTokens; ++t) {
    const Vec8 raw = load8(values + (first + t) * kHeadDim + element);
    KVSIM_UNROLL
    for (int i = 0; i < 2 * kPairs; ++i) {
      const float v = from_bf16(static_cast<Bf16>(raw.word[i / 2] >> (16 * (i % 2))));
      low[i] = t == 0 || v < low[i] ? v : low[i];
      high[i] = t == 0 || v > high[i] ? v : high[i];
    }
  }
  std::uint32_t scale_offset[2 * kPairs];
  KVSIM_UNROLL
  for (int i = 0; i < 2 * kPairs; ++i) scale_offset[i] = scale_offset_of(low[i], high[i], kBits);
  KVSIM_UNROLL
  for (int p = 0; p < kPairs; ++p) {
    std::uint32_t* at = scales + group * kChannelWords + 2 * (lane * kPairs + p);
    at[0] = (scale_offset[2 * p] & 0xffffU) | (scale_offset[2 * p + 1] << 16);
    at[1] = (scale_offset[2 * p] >> 16) | (scale_offset[2 * p + 1] & 0xffff0000U);
  }
  for (int t = 0; t < kChannelTokens; ++t) {
    const Vec8 raw = load8(values + (first + t) * kHeadDim + element);
    std::uint32_t word = 0;
    KVSIM_UNROLL
    for (int i = 0; i < 2 * kPairs; ++i) {
      const float v = from_bf16(static_cast<Bf16>(raw.word[i / 2] >> (16 * (i % 2))));
      word |= level_of(v, scale_offset[i], kBits) << (16 * (i % 2) + Layout::shift_of(element + i - i % 2));
    }
    KVSIM_UNROLL
    for (int mask = 1; mask < kLanesPerWord; mask *= 2) word |= shuffle_xor(word, mask);
    if (lane % kLanesPerWord == 0) words[(first + t) * Layout::kWords + Layout::word_of(element)] = word;
  }
}

/// Grid as of dequantise.
template <int kBits>
KVSIM_KERNEL dequantise_by_channel(const std::uint32_t* words, const std::uint32_t* scales, Bf16* values,
                                   std::int64_t vectors) {
  using Layout = Packing<kBits>;
  const std::int64_t at = static_cast<std::int64_t>(block_x()) * kQuantiseThreads + thread_index();
  const std::int64_t vector = at / kLanesPerVector;
  const int lane = static_cast<int>(at % kLanesPerVector);
  if (vector >= vectors) return;
  const int element = lane * kLaneElements;
  const std::uint32_t word = words[vector * Layout::kWords + Layout::word_of(element)];
  const std::uint32_t* scale = scales + vector / kChannelTokens * kChannelWords + element;
  Vec16 result;
  KVSIM_UNROLL
  for (int i = 0; i < kLaneElements; i += 2) {
    const Vec8 both = load8(scale + i);
    result.word[i / 2] =
        dequantise_channels(Layout::levels(word, Layout::shift_of(element + i)), both.word[0], both.word[1]);
  }
  *reinterpret_cast<Vec16*>(values + vector * kHeadDim + element) = result;
}

}  // namespace kvsim::calibrate
