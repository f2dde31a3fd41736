#include "sim/engine/exact_sum.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

/// Of digits that were carried and are not negative.
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

}  // namespace kvsim::engine
