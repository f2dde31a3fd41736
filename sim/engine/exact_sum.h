// A sum without error: the same in any order and grouping.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace kvsim::engine {

/// The exact sum of doubles, rounded only when it is asked for. The sum is an integer number of the smallest double,
/// 2^-1074, in digits of 32 bits that are carried seldom (R. M. Neal, "Fast exact summation using small and large
/// superaccumulators", arXiv:1505.05571, 2015). Addition of integers has no order, so neither has the result.
class ExactSum {
 public:
  /// The same value `count` times, in constant time. Not NaN.
  void add(double value, std::uint64_t count = 1) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<std::size_t>(bits >> kMantissaBits & kExponents);
    if (exponent == kExponents) return add_infinity(value > 0);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << kMantissaBits;
    const bool negative = bits >> 63U != 0;
    for (std::size_t at = std::max(exponent, std::size_t{1}) - 1; count != 0; count >>= kCountBits, at += kCountBits) {
      const std::uint64_t part = count & ((std::uint64_t{1} << kCountBits) - 1);
      add_at(at, mantissa, static_cast<std::int64_t>(negative ? ~part + 1 : part), part);
    }
  }
  void add(const ExactSum& other);
  /// The double that is nearest, of two the even one; infinite beyond the largest, NaN where +inf and -inf were added.
  [[nodiscard]] double value() const;
  /// The same, faster where it is asked for often.
  [[nodiscard]] double settle() {
    carry();
    return value();
  }

 private:
  static constexpr unsigned kMantissaBits = 52, kDigitBits = 32, kCountBits = 28;
  static constexpr int kLeastExponent = -1074;
  static constexpr std::uint64_t kExponents = 2047;                     // the field of infinities
  static constexpr std::uint64_t kDigit = 0xffffffff;                   // of digits that were carried
  static constexpr std::size_t kDigits = (2046 + 53 + 64) / 32 + 2;     // the largest double 2^64 times, and a sign
  static constexpr std::uint64_t kUncarried = std::uint64_t{1} << 29U;  // two such sums overflow no digit: 2^(29+32+1)

  void add_at(std::size_t at, std::uint64_t mantissa, std::int64_t times, std::uint64_t part) {
    if (uncarried_ + part > kUncarried) carry();
    uncarried_ += part;
    const std::size_t digit = at / kDigitBits, shift = at % kDigitBits;
    lowest_ = std::min(lowest_, digit);
    highest_ = std::max(highest_, digit + 2);
    const std::uint64_t low = mantissa << shift;
    digits_[digit] += static_cast<std::int64_t>(low & kDigit) * times;
    digits_[digit + 1] += static_cast<std::int64_t>(low >> kDigitBits) * times;
    digits_[digit + 2] += static_cast<std::int64_t>(mantissa >> kDigitBits >> (kDigitBits - shift)) * times;
  }
  void add_infinity(bool positive) { (positive ? plus_infinity_ : minus_infinity_) = true; }
  void carry();
  [[nodiscard]] double rounded() const;

  std::array<std::int64_t, kDigits> digits_{};      // the last one has the sign
  std::size_t lowest_ = kDigits - 1, highest_ = 0;  // all others are 0
  std::uint64_t uncarried_ = 0;                     // values added since the last carry
  bool plus_infinity_ = false, minus_infinity_ = false;
};

}  // namespace kvsim::engine
