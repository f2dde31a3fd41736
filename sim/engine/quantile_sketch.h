// Ranks of a sample of any size in bounded memory.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvsim::engine {

/// How often values came, in buckets so narrow that the middle of one is within 1/1024 (0.098 %) of each value in it.
///
/// A bucket is what doubles have in common in sign, exponent and the first 9 bits of the mantissa: 512 to an octave.
/// That is the idea of DDSketch (C. Masson, J. E. Rim, H. K. Lee, PVLDB 12(12), 2019), whose buckets are those of
/// log(value): they need a fifth fewer counters, and a logarithm for every value, the last bit of which differs between
/// C libraries. Here a bucket is a shift of the bits, so that results have equal bytes everywhere. Sketches that keep
/// some of the values (t-digest, KLL, GK) bound the error of a rank, which says nothing of the value in a tail as
/// sparse as that of latencies, and most depend on the order of what was added. Counts have no order: any order and
/// grouping of the same values gives the same answers. No bucket is ever given up, so every quantile has the bound.
///
/// Zero has a bucket of its own, negative values have those of their magnitude, denormal ones those of their own
/// octaves (the last 10 are exact), infinities one each. Memory: 4 kB for each octave with a value, at most 4,199.
class QuantileSketch {
 public:
  static constexpr double kRelativeError = 1.0 / 1024;

  /// The same value `count` times, in constant time; allocates for the first of an octave. Not NaN.
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
