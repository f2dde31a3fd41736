// The k largest of each row of scores, as indices in no particular order: four passes of radix selection over the bits
// of the scores, then one that gathers. One block a row.
#pragma once

#include <cstdint>
#include <cstring>

#include "tools/calibrate/kernels/portable.h"

namespace kvsim::calibrate {

constexpr int kTopkThreads = 512;

/// Orders like the float as an unsigned number.
KVSIM_BOTH std::uint32_t sortable(float value) {
  std::uint32_t bits = 0;
  memcpy(&bits, &value, sizeof bits);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

/// Grid: (rows); `k` is at most `columns`. Where several scores equal the k-th, any of them are taken.
template <int kUnused = 0>
KVSIM_KERNEL topk(const float* scores, int* indices, int columns, int k) {
  constexpr int kBins = 256;
  KVSIM_SHARED int histogram[kBins];
  KVSIM_SHARED std::uint32_t prefix;
  KVSIM_SHARED int wanted;
  KVSIM_SHARED int taken;
  KVSIM_SHARED int ties;
  const float* row = scores + static_cast<std::int64_t>(block_x()) * columns;
  int* result = indices + static_cast<std::int64_t>(block_x()) * k;
  if (thread_index() == 0) {
    prefix = 0;
    wanted = k;
    taken = 0;
    ties = 0;
  }
  for (int shift = 24; shift >= 0; shift -= 8) {
    for (int i = thread_index(); i < kBins; i += block_threads()) histogram[i] = 0;
    sync_block();
    const std::uint32_t above = prefix;
    for (int i = thread_index(); i < columns; i += block_threads()) {
      const std::uint32_t key = sortable(row[i]);
      // Bits above this digit must be the prefix so far; a shift by 32 is undefined, hence the split.
      if (shift == 24 || (key >> (shift + 8)) == above) atomic_add(&histogram[(key >> shift) & 0xffU], 1);
    }
    sync_block();
    if (thread_index() == 0) {
      int digit = kBins - 1;
      while (digit > 0 && histogram[digit] < wanted) wanted -= histogram[digit--];
      prefix = (above << 8) | static_cast<std::uint32_t>(digit);
    }
    sync_block();
  }
  const std::uint32_t threshold = prefix;  // the k-th largest key; `wanted` of those equal to it belong to the result
  for (int i = thread_index(); i < columns; i += block_threads()) {
    const std::uint32_t key = sortable(row[i]);
    if (key > threshold) {
      result[atomic_add(&taken, 1)] = i;
    } else if (key == threshold) {
      const int tie = atomic_add(&ties, 1);
      if (tie < wanted) result[k - 1 - tie] = i;
    }
  }
}

}  // namespace kvsim::calibrate
