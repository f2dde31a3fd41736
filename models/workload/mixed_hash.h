// Hashes of generated blocks.
#pragma once

#include <cstdint>

namespace kvsim::models {

/// A bijection of 64 bits that leaves no pattern (the finalizer of SplitMix64; Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mixed_hash(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

}  // namespace kvsim::models
