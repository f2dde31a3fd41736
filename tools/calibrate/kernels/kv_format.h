// How a lane reads a page of KV into the operands of the tensor cores, for each way of storing it. A page holds 16
// tokens of one KV head. Both products may visit the elements of a head in any order as long as the two factors agree,
// so each format chooses the order in which a lane's elements lie side by side in memory:
//   keys:   lane quad q owns, of a token, 16 pairs of neighbours; pair w starts at element key_element(q, w);
//   values: lane group g owns, of a token, 8 pairs of neighbours; pair w starts at element value_element(g, w).
// No shared memory, no transposition, loads of up to 16 bytes that fill whole 64- or 128-byte segments.
#pragma once

#include <cstdint>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"
#include "tools/calibrate/kernels/quantised.h"

namespace kvsim::calibrate {

constexpr int kPageTokens = 16;
constexpr int kKeyPairs = 16;   ///< of a token, per lane
constexpr int kValuePairs = 8;  ///< of a token, per lane

/// Pools of pages, [page][KV head][token][element], and the scales of quantised ones, [page][KV head][token][group].
/// Scales of keys by channel, [page][KV head][kChannelWords], stand where the first page of their tokens is.
struct KvPools {
  const void* keys = nullptr;
  const void* values = nullptr;
  const std::uint32_t* key_scales = nullptr;
  const std::uint32_t* value_scales = nullptr;
};

/// Sixteen bits an element.
struct Bf16Format {
  struct Raw {
    Vec16 part[4];
  };
  struct RawValue {
    Vec16 part[2];
  };
  static constexpr int kBits = 16;
  static constexpr int kScalePages = 1;

  static KVSIM_BOTH int key_element(int quad, int pair) { return 32 * (pair / 4) + 8 * quad + 2 * (pair % 4); }
  static KVSIM_BOTH int value_element(int group, int pair) { return 64 * (pair / 4) + 8 * group + 2 * (pair % 4); }
  /// `vector` counts tokens over the whole pool; the last argument is the first one of the pages that share scales.
  static KVSIM_DEVICE Raw load_key(const KvPools& pools, std::int64_t vector, int quad, std::int64_t /*scales*/) {
    const Bf16* at = static_cast<const Bf16*>(pools.keys) + vector * kHeadDim;
    Raw raw;
    KVSIM_UNROLL
    for (int i = 0; i < 4; ++i) raw.part[i] = load16(at + 32 * i + 8 * quad);
    return raw;
  }
  static KVSIM_DEVICE RawValue load_value(const KvPools& pools, std::int64_t vector, int group) {
    const Bf16* at = static_cast<const Bf16*>(pools.values) + vector * kHeadDim;
    return {{load16(at + 8 * group), load16(at + 64 + 8 * group)}};
  }
  static KVSIM_DEVICE std::uint32_t key_pair(const Raw& raw, int pair) { return raw.part[pair / 4].word[pair % 4]; }
  static KVSIM_DEVICE std::uint32_t value_pair(const RawValue& raw, int /*group*/, int pair) {
    return raw.part[pair / 4].word[pair % 4];
  }
};

/// Two e4m3 numbers, in the low bytes of the halves of a word, as a pair of bf16. Sign, exponent and mantissa move to
/// their places; the exponents' biases differ by 120. Numbers below the least exponent come out right, too.
KVSIM_DEVICE std::uint32_t widen_e4m3(std::uint32_t bytes) {
  const std::uint32_t moved = ((bytes & 0x00800080U) << 8) | ((bytes & 0x007f007fU) << 4);
#ifdef __CUDA_ARCH__
  const std::uint32_t bias_word = 0x7b807b80U;  // 2^120 in bf16, twice
  __nv_bfloat162 value, bias;
  memcpy(&value, &moved, sizeof value);
  memcpy(&bias, &bias_word, sizeof bias);
  const __nv_bfloat162 result = __hmul2(value, bias);
  std::uint32_t word = 0;
  memcpy(&word, &result, sizeof word);
  return word;
#else
  constexpr float kBias = 0x1p120F;
  return pack_bf16(from_bf16(static_cast<Bf16>(moved & 0xffffU)) * kBias,
                   from_bf16(static_cast<Bf16>(moved >> 16)) * kBias);
#endif
}

/// Eight bits an element, e4m3 with one scale for all, which costs a kernel nothing.
struct Fp8Format {
  struct Raw {
    Vec16 part[2];
  };
  struct RawValue {
    Vec16 part;
  };
  static constexpr int kBits = 8;
  static constexpr int kScalePages = 1;

  static KVSIM_BOTH int key_element(int quad, int pair) { return 64 * (pair / 8) + 16 * quad + 2 * (pair % 8); }
  static KVSIM_BOTH int value_element(int group, int pair) { return 16 * group + 2 * pair; }
  static KVSIM_DEVICE Raw load_key(const KvPools& pools, std::int64_t vector, int quad, std::int64_t /*scales*/) {
    const std::uint8_t* at = static_cast<const std::uint8_t*>(pools.keys) + vector * kHeadDim;
    return {{load16(at + 16 * quad), load16(at + 64 + 16 * quad)}};
  }
  static KVSIM_DEVICE RawValue load_value(const KvPools& pools, std::int64_t vector, int group) {
    return {load16(static_cast<const std::uint8_t*>(pools.values) + vector * kHeadDim + 16 * group)};
  }
  static KVSIM_DEVICE std::uint32_t key_pair(const Raw& raw, int pair) { return pair_of(raw.part[pair / 8], pair % 8); }
  static KVSIM_DEVICE std::uint32_t value_pair(const RawValue& raw, int /*group*/, int pair) {
    return pair_of(raw.part, pair);
  }

 private:
  static KVSIM_DEVICE std::uint32_t pair_of(const Vec16& bytes, int pair) {
    const std::uint32_t two = bytes.word[pair / 2] >> (16 * (pair % 2));
    return widen_e4m3((two & 0xffU) | ((two & 0xff00U) << 8));
  }
};

/// One, two or four bits an element.
template <int kBitsPerElement>
struct QuantisedFormat {
  static constexpr int kBits = kBitsPerElement;
  static constexpr int kScalePages = 1;
  using Layout = Packing<kBits>;
  static constexpr int kKeyWords = kBits;  ///< a lane's 32 elements
  static constexpr int kValueWords = kBits == 4 ? 2 : 1;

  struct Raw {
    std::uint32_t word[kKeyWords];
    std::uint32_t scale_offset;
  };
  struct RawValue {
    std::uint32_t word[kValueWords];
    std::uint32_t scale_offset;
  };

  static KVSIM_BOTH int key_element(int quad, int pair) { return 32 * quad + 2 * pair; }
  static KVSIM_BOTH int value_element(int group, int pair) { return 16 * group + 2 * pair; }

  static KVSIM_DEVICE Raw load_key(const KvPools& pools, std::int64_t vector, int quad, std::int64_t /*scales*/) {
    const std::uint32_t* at = static_cast<const std::uint32_t*>(pools.keys) + vector * Layout::kWords;
    Raw raw;
    load(raw.word, at + quad * kKeyWords);
    raw.scale_offset = pools.key_scales[vector * kGroups + key_element(quad, 0) / kGroup];
    return raw;
  }
  static KVSIM_DEVICE RawValue load_value(const KvPools& pools, std::int64_t vector, int group) {
    const std::uint32_t* at = static_cast<const std::uint32_t*>(pools.values) + vector * Layout::kWords;
    RawValue raw;
    load(raw.word, at + Layout::word_of(value_element(group, 0)));
    raw.scale_offset = pools.value_scales[vector * kGroups + value_element(group, 0) / kGroup];
    return raw;
  }
  static KVSIM_DEVICE std::uint32_t key_pair(const Raw& raw, int pair) {
    return dequantise_pair(Layout::levels(raw.word[Layout::word_of(2 * pair)], Layout::shift_of(2 * pair)),
                           raw.scale_offset);
  }
  static KVSIM_DEVICE std::uint32_t value_pair(const RawValue& raw, int group, int pair) {
    // Sixteen elements are whole words but for one bit each, where a lane's begin in the middle of every second word.
    const int element = kBits == 1 ? 16 * (group % 2) + 2 * pair : 2 * pair;
    const int word = kBits == 1 ? 0 : Layout::word_of(element);
    return dequantise_pair(Layout::levels(raw.word[word], Layout::shift_of(element)), raw.scale_offset);
  }

  static KVSIM_DEVICE void load(std::uint32_t (&to)[1], const std::uint32_t* from) { to[0] = from[0]; }
  static KVSIM_DEVICE void load(std::uint32_t (&to)[2], const std::uint32_t* from) {
    const Vec8 v = load8(from);
    to[0] = v.word[0];
    to[1] = v.word[1];
  }
  static KVSIM_DEVICE void load(std::uint32_t (&to)[4], const std::uint32_t* from) {
    const Vec16 v = load16(from);
    KVSIM_UNROLL
    for (int i = 0; i < 4; ++i) to[i] = v.word[i];
  }
};

/// Low-bit KV with keys by channel, as KIVI has them; values are as above.
template <int kBitsPerElement>
struct ChannelFormat : QuantisedFormat<kBitsPerElement> {
  using Base = QuantisedFormat<kBitsPerElement>;
  using Layout = typename Base::Layout;
  static constexpr int kScalePages = kChannelTokens / kPageTokens;

  struct Raw {
    std::uint32_t word[Base::kKeyWords];
    const std::uint32_t* scales;  ///< of the lane's first pair
  };

  static KVSIM_DEVICE Raw load_key(const KvPools& pools, std::int64_t vector, int quad, std::int64_t scales) {
    const std::uint32_t* at = static_cast<const std::uint32_t*>(pools.keys) + vector * Layout::kWords;
    Raw raw;
    Base::load(raw.word, at + quad * Base::kKeyWords);
    raw.scales = pools.key_scales + scales / kPageTokens * kChannelWords + Base::key_element(quad, 0);
    return raw;
  }
  static KVSIM_DEVICE std::uint32_t key_pair(const Raw& raw, int pair) {
    const Vec8 both = load8(raw.scales + 2 * pair);
    return dequantise_channels(Layout::levels(raw.word[Layout::word_of(2 * pair)], Layout::shift_of(2 * pair)),
                               both.word[0], both.word[1]);
  }
};

}  // namespace kvsim::calibrate
