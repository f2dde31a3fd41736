// Sums and ranks of a sample of any size in bounded memory, the same in any order and grouping of its values: the sum
// is without error.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvsim::engine {

/// The exact sum of doubles, rounded only when it is asked for. The sum is an integer number of the smallest double,
/// 2^-1074, in digits of 32 bits that are carried seldom (R. M. Neal, "Fast exact summation using small and large
/// superaccumulators", arXiv:1505.05571, 2015). Addition of integers has no order, so neither has the result.
class ExactSum {
 public:
  /// Adds a value `count` times, in constant time. Not NaN.
  void add(double value, std::uint64_t count = 1) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto exponent = static_cast<std::size_t>(bits >> kMantissaBits & kExponents);
    if (exponent == kExponents) return add_infinity(value > 0);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << kMantissaBits) - 1);
    const std::uint64_t mantissa = exponent == 0 ? fraction : fraction | std::uint64_t{1} << kMantissaBits;
    if (mantissa == 0) return;
    const bool negative = bits >> 63U != 0;
    for (std::size_t at = std::max(exponent, std::size_t{1}) - 1; count != 0; count >>= kCountBits, at += kCountBits) {
      const std::uint64_t part = count & ((std::uint64_t{1} << kCountBits) - 1);
      add_at(at, mantissa, static_cast<std::int64_t>(negative ? ~part + 1 : part), part);
    }
  }
  void add(const ExactSum& other);
  /// The double that is nearest, of two the even one; infinite beyond the largest, NaN where +inf and -inf were added.
  [[nodiscard]] double value() const;
  /// Equals value(), faster where it is asked for often.
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

/// How often values came, in buckets so narrow that the middle of one is within 1/1024 (0.098 %) of each value in it.
///
/// A bucket is what doubles have in common in sign, exponent and the first 9 bits of the mantissa: 512 to an octave.
/// That is the idea of DDSketch (C. Masson, J. E. Rim, H. K. Lee, PVLDB 12(12), 2019), whose buckets are those of
/// log(value): they need a fifth fewer counters, and a logarithm for every value, the last bit of which differs between
/// C libraries. Here a bucket is a shift of the bits, so that results have equal bytes everywhere. Sketches that keep
/// some of the values (t-digest, KLL, GK) bound the error of a rank, which says nothing of the value in a tail as
/// sparse as that of latencies, and most depend on the order of what was added. Counts have no order: any order and
/// grouping of the same values gives the same answers. No bucket is ever dropped, so every quantile has the bound.
///
/// Zero has a bucket of its own, negative values have those of their magnitude, denormal ones those of their own
/// octaves (the last 10 are exact), infinities one each. Memory: 4 kB for each octave with a value, at most 4,199.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 1.0 / 1024;

  /// Adds a value `count` times, in constant time; allocates for the first of an octave. Not NaN.
  void add(double value, std::uint64_t count) {
    const std::size_t bucket = bucket_of(value);
    page(bucket / kPerOctave)[bucket % kPerOctave] += count;
  }
  void add(const QuantileSketch& other);
  /// The middle of the bucket of the value that has `rank` others before it; less than were added.
  [[nodiscard]] double at_rank(std::uint64_t rank) const;
  /// Counters that there is memory for.
  [[nodiscard]] std::size_t buckets() const { return pages_.size() * kPerOctave; }

 private:
  static constexpr unsigned kMantissaBits = 52, kKept = 9;
  static constexpr std::size_t kPerOctave = std::size_t{1} << kKept;
  static constexpr std::size_t kOctaves = 52 + 2047 + 1;  // denormal, normal and infinite; the lowest is that of zero
  using Page = std::array<std::uint64_t, kPerOctave>;

  /// In the order of values; zero is the first of the upper half.
  static std::size_t bucket_of(double value) {
    const auto bits = std::bit_cast<std::int64_t>(value + 0.0);  // -0 + 0 is 0
    const std::uint64_t magnitude = static_cast<std::uint64_t>(bits) << 1U >> 1U;
    constexpr std::uint64_t normal = std::uint64_t{1} << kMantissaBits;
    const std::int64_t up =
        static_cast<std::int64_t>(magnitude < normal ? of_denormal(magnitude) : of_normal(magnitude));
    return kOctaves * kPerOctave + static_cast<std::size_t>(up ^ (bits >> 63U));  // ~up if it is negative
  }
  static std::uint64_t of_normal(std::uint64_t magnitude) {
    return (magnitude >> (kMantissaBits - kKept)) + kMantissaBits * kPerOctave;
  }
  /// That of the same bits in the octave of the smallest normal number, and so many octaves below.
  static std::uint64_t of_denormal(std::uint64_t magnitude) {
    if (magnitude == 0) return 0;
    const unsigned below = kMantissaBits + 1 - static_cast<unsigned>(std::bit_width(magnitude));
    return of_normal(magnitude << below) - below * kPerOctave;
  }
  static double middle_of(std::size_t bucket);

  Page& page(std::size_t octave) {
    if (page_of_.empty()) page_of_.resize(2 * kOctaves, 0);
    std::uint16_t& number = page_of_[octave];
    if (number == 0) {
      pages_.emplace_back();
      number = static_cast<std::uint16_t>(pages_.size());
    }
    return pages_[number - 1U];
  }

  std::vector<std::uint16_t> page_of_;  // by octave: from 1; 0 where there is no value
  std::vector<Page> pages_;
};

}  // namespace kvsim::engine
