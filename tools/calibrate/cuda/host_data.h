// Random bytes in host memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "tools/calibrate/cuda/check.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {

/// `bytes` is a multiple of 8.
inline void fill_host(std::byte* to, std::size_t bytes, std::uint64_t seed) {
  for (std::size_t i = 0; i < bytes / sizeof(std::uint64_t); ++i) {
    const std::uint64_t bits = random_bits(seed, i);
    std::memcpy(to + i * sizeof bits, &bits, sizeof bits);
  }
}

inline void expect_same(const std::byte* got, const std::byte* expected, std::size_t bytes, const std::string& what) {
  if (std::memcmp(got, expected, bytes) != 0) throw WrongResult(what + ": wrong data");
}

}  // namespace kvsim::calibrate
