#include "sim/engine/order_free.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "sim/engine/invariant.h"

namespace kvsim::engine {

void ExactSum::carry() {
  uncarried_ = 0;
  std::int64_t over = 0;
  for (std::size_t i = lowest_; i + 1 < kDigits && (i <= highest_ || over != 0); ++i) {
    const std::int64_t digit = digits_[i] + over;
    digits_[i] = digit & static_cast<std::int64_t>(kDigit);
    over = digit >> kDigitBits;
    highest_ = std::max(highest_, i);
  }
  if (over == 0) return;
  digits_.back() += over;
  highest_ = kDigits - 1;
}

void ExactSum::add(const ExactSum& other) {
  for (std::size_t i = 0; i < kDigits; ++i) digits_[i] += other.digits_[i];
  lowest_ = std::min(lowest_, other.lowest_);
  highest_ = std::max(highest_, other.highest_);
  carry();
  plus_infinity_ = plus_infinity_ || other.plus_infinity_;
  minus_infinity_ = minus_infinity_ || other.minus_infinity_;
}

double ExactSum::value() const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (plus_infinity_) return minus_infinity_ ? std::numeric_limits<double>::quiet_NaN() : infinity;
  if (minus_infinity_) return -infinity;
  if (uncarried_ == 0 && digits_.back() >= 0) return rounded();
  ExactSum sum = *this;
  sum.carry();
  if (sum.digits_.back() >= 0) return sum.rounded();
  for (std::int64_t& digit : sum.digits_) digit = -digit;
  sum.carry();
  return -sum.rounded();
}

/// Value of digits that were carried and are not negative.
double ExactSum::rounded() const {
  std::size_t top = highest_;
  while (top > 0 && digits_[top] == 0) --top;
  if (digits_[top] == 0) return 0.0;
  const auto digit = [this](std::size_t i) { return static_cast<std::uint64_t>(digits_[i]); };
  if (top < 2) return std::ldexp(static_cast<double>(digit(1) << kDigitBits | digit(0)), kLeastExponent);
  // The 64 highest bits begin with a 1. If they lose one further down, their last one says so, which is all that
  // rounding to 53 asks.
  const auto zeros = static_cast<unsigned>(std::countl_zero(digit(top) << kDigitBits));
  std::uint64_t bits =
      digit(top) << kDigitBits << zeros | digit(top - 1) << zeros | digit(top - 2) << zeros >> kDigitBits;
  bool more = (digit(top - 2) << zeros & kDigit) != 0;
  for (std::size_t i = lowest_; i + 2 < top && !more; ++i) more = digits_[i] != 0;
  bits |= more ? 1U : 0U;
  const auto low = static_cast<int>((top - 1) * kDigitBits - zeros);
  return std::ldexp(static_cast<double>(bits), low + kLeastExponent);
}

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
