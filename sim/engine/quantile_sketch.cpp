#include "sim/engine/quantile_sketch.h"

#include <limits>
#include <numeric>

#include "sim/engine/invariant.h"

namespace kvsim::engine {

void QuantileSketch::add(const QuantileSketch& other) {
  for (std::size_t octave = 0; octave < other.page_of_.size(); ++octave) {
    if (other.page_of_[octave] == 0) continue;
    Page& mine = page(octave);
    const Page& theirs = other.pages_[other.page_of_[octave] - 1U];
    for (std::size_t i = 0; i < kPerOctave; ++i) mine[i] += theirs[i];
  }
}

double QuantileSketch::middle_of(std::size_t bucket) {
  constexpr std::size_t zero = kOctaves * kPerOctave;
  const bool negative = bucket < zero;
  const std::uint64_t up = negative ? zero - 1 - bucket : bucket - zero;
  if (up == 0) return 0.0;
  const std::uint64_t octave = up / kPerOctave;  // 1 to 52 denormal
  std::uint64_t magnitude = (up % kPerOctave) << (kMantissaBits - kKept) | std::uint64_t{1}
                                                                               << (kMantissaBits - kKept - 1);
  if (octave > kMantissaBits) {
    magnitude |= (octave - kMantissaBits) << kMantissaBits;
  } else {  // what a number has no bits for falls away: with 10 or less of them the middle is the number
    magnitude = (magnitude | std::uint64_t{1} << kMantissaBits) >> (kMantissaBits + 1 - octave);
  }
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double value = octave + 1 == kOctaves ? infinity : std::bit_cast<double>(magnitude);
  return negative ? -value : value;
}

double QuantileSketch::at_rank(std::uint64_t rank) const {
  for (std::size_t octave = 0; octave < page_of_.size(); ++octave) {
    if (page_of_[octave] == 0) continue;
    const Page& counts = pages_[page_of_[octave] - 1U];
    const std::uint64_t all = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
    if (rank >= all) {
      rank -= all;
      continue;
    }
    std::size_t i = 0;
    for (; rank >= counts[i]; ++i) rank -= counts[i];
    return middle_of(octave * kPerOctave + i);
  }
  KVSIM_ALWAYS(false, "no value has this rank");
  return 0;
}

}  // namespace kvsim::engine
