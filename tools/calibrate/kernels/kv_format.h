// How a lane reads a page of KV into the operands of the tensor cores, for each way of storing it. A page holds 16
// tokens of one KV head. Both products may visit the elements of a head in any order as long as the two factors agree,
// so each format chooses the order in which a lane's elements lie side by side in memory:
//   keys:   lane quad q owns, of a token, kKeyPairs pairs of neighbours; pair w starts at element key_element(q, w);
//   values: lane group g owns, of a token and part, kValuePairs pairs; pair w starts at element value_element(g, w).
// No shared memory, no transposition, loads of up to 16 bytes that fill whole 64- or 128-byte segments.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tools/calibrate/kernels/bf16.h"
#include "tools/calibrate/kernels/portable.h"
#include "tools/calibrate/kernels/quantised.h"

namespace kvsim::calibrate {

constexpr int kPageTokens = 16;

/// Elements of a key and of a value. Values come in parts of at most 128 elements, so that shared memory holds a part
/// of every row.
template <int kKeys, int kValues>
struct HeadWidths {
  static constexpr int kKeyDim = kKeys;
  static constexpr int kValueDim = kValues;
  static constexpr int kPart = kValues < 128 ? kValues : 128;
  static constexpr int kParts = kValues / kPart;
  static constexpr int kKeyPairs = kKeys / 8;     ///< of a token, per lane
  static constexpr int kValuePairs = kPart / 16;  ///< of a token and part, per lane
  static_assert(kKeys % 32 == 0 && kPart % 64 == 0 && kParts * kPart == kValues);
};

/// Pools of pages, [page][KV head][token][element], and the scales of quantised ones, [page][KV head][token][group].
/// Scales of keys by channel, [page][KV head][kChannelWords], stand where the first page of their tokens is.
struct KvPools {
  const void* keys = nullptr;
  const void* values = nullptr;
  const std::uint32_t* key_scales = nullptr;
  const std::uint32_t* value_scales = nullptr;
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

/// Sixteen bits an element (bf16), or eight (e4m3 with one scale for all, which costs a kernel nothing). Values begin
/// kValueStride elements apart: where keys hold them, as many as a key has.
template <int kBitsPerElement, int kKeys = kHeadDim, int kValues = kKeys, int kValueStride = kValues>
struct FloatFormat : HeadWidths<kKeys, kValues> {
  using Widths = HeadWidths<kKeys, kValues>;
  static constexpr int kBits = kBitsPerElement;
  static constexpr int kScalePages = 1;
  static constexpr int kBytes = kBits / 8;
  static constexpr int kLoad = 8 / kBytes;  ///< pairs in 16 bytes
  static constexpr int kValueLoad = kLoad < Widths::kValuePairs ? kLoad : Widths::kValuePairs;
  static constexpr int kKeyLoads = Widths::kKeyPairs / kLoad;
  using ValueVec = std::conditional_t<kValueLoad == kLoad, Vec16, Vec8>;
  struct Raw {
    Vec16 load[kKeyLoads];
  };
  struct RawValue {
    ValueVec load[Widths::kValuePairs / kValueLoad];
  };

  static KVSIM_BOTH int key_element(int quad, int pair) {
    return 8 * kLoad * (pair / kLoad) + 2 * kLoad * quad + 2 * (pair % kLoad);
  }
  static KVSIM_BOTH int value_element(int group, int pair) {
    return 16 * kValueLoad * (pair / kValueLoad) + 2 * kValueLoad * group + 2 * (pair % kValueLoad);
  }
  /// The pairs from `load` kLoad on of a key; `vector` counts tokens over the whole pool.
  static KVSIM_DEVICE Vec16 load_keys(const KvPools& pools, std::int64_t vector, int quad, int load) {
    return load16(at(pools.keys, vector * kKeys + key_element(quad, load * kLoad)));
  }
  /// Likewise all; the last argument is the first one of the pages that share scales.
  static KVSIM_DEVICE Raw load_key(const KvPools& pools, std::int64_t vector, int quad, std::int64_t /*scales*/) {
    Raw raw;
    KVSIM_UNROLL
    for (int i = 0; i < kKeyLoads; ++i) raw.load[i] = load_keys(pools, vector, quad, i);
    return raw;
  }
  static KVSIM_DEVICE RawValue load_value(const KvPools& pools, std::int64_t vector, int group, int part) {
    RawValue raw;
    KVSIM_UNROLL
    for (int i = 0; i < Widths::kValuePairs / kValueLoad; ++i) {
      load(raw.load[i],
           at(pools.values, vector * kValueStride + part * Widths::kPart + value_element(group, i * kValueLoad)));
    }
    return raw;
  }
  static KVSIM_DEVICE std::uint32_t key_pair(const Raw& raw, int pair) {
    return pair_of(raw.load[pair / kLoad], pair % kLoad);
  }
  static KVSIM_DEVICE std::uint32_t value_pair(const RawValue& raw, int /*group*/, int pair) {
    return pair_of(raw.load[pair / kValueLoad], pair % kValueLoad);
  }

  /// A pair of the elements that one load has.
  template <class Vec>
  static KVSIM_DEVICE std::uint32_t pair_of(const Vec& raw, int pair) {
    if constexpr (kBits == 16) {
      return raw.word[pair];
    } else {
      const std::uint32_t two = raw.word[pair / 2] >> (16 * (pair % 2));
      return widen_e4m3((two & 0xffU) | ((two & 0xff00U) << 8));
    }
  }

 private:
  static KVSIM_DEVICE const void* at(const void* pool, std::int64_t element) {
    return static_cast<const std::uint8_t*>(pool) + element * kBytes;
  }
  static KVSIM_DEVICE void load(Vec16& to, const void* from) { to = load16(from); }
  static KVSIM_DEVICE void load(Vec8& to, const void* from) { to = load8(from); }
};

/// One, two or four bits an element.
template <int kBitsPerElement>
struct QuantisedFormat : HeadWidths<kHeadDim, kHeadDim> {
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
  static KVSIM_DEVICE RawValue load_value(const KvPools& pools, std::int64_t vector, int group, int /*part*/) {
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
