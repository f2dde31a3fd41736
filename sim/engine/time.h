// Simulated time: integer nanoseconds in two strong types, so that a point in time and a span are never confused and
// no simulated instant depends on floating-point rounding order.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace kvsim::engine {

/// a + b, or the end of the type's range that it lies beyond: a time past the end of the clock is never, not one before
/// the beginning.
constexpr std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) [[likely]]
    return sum;
  return b > 0 ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
}

/// A span of simulated time in nanoseconds. May be negative as an intermediate of arithmetic.
struct Duration {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const Duration&) const = default;
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  constexpr Duration& operator+=(Duration d) {
    ns = saturating_sum(ns, d.ns);
    return *this;
  }
};

constexpr Duration operator+(Duration a, Duration b) {
  return {saturating_sum(a.ns, b.ns)};
}
constexpr Duration operator-(Duration a, Duration b) {
  return {a.ns - b.ns};
}
constexpr Duration operator*(Duration a, std::int64_t n) {
  std::int64_t product = 0;
  if (!__builtin_mul_overflow(a.ns, n, &product)) [[likely]]
    return {product};
  return {(a.ns > 0) == (n > 0) ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min()};
}

/// A point in simulated time, in nanoseconds since the start of the run.
struct SimTime {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  static constexpr SimTime never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr SimTime operator+(SimTime t, Duration d) {
  return {saturating_sum(t.ns, d.ns)};
}
constexpr SimTime operator-(SimTime t, Duration d) {
  return {t.ns - d.ns};
}
constexpr Duration operator-(SimTime a, SimTime b) {
  return {a.ns - b.ns};
}

/// Rounds seconds to the nearest nanosecond, halves away from zero; saturates at the range of the type.
/// NaN is a programming error (asserted).
Duration from_seconds(double seconds);

/// As from_seconds, but rounded up: use it where a shorter time would let work finish early. A double that is the one
/// nearest to a whole number of nanoseconds stands for that number: 0.1 s is 100,000,000 ns, although the double 0.1
/// lies 5.6e-18 s above a tenth.
Duration from_seconds_ceil(double seconds);

// How long a number of bytes takes, in whole nanoseconds: every link asks here, so that all round alike.

/// The fewest whole nanoseconds n with n * bytes_per_s >= bytes * 1e9, the products compared exactly (for operands
/// below 2^53): no transfer ends earlier than it could, nor a nanosecond late because of rounding. 0 for bytes <= 0 or
/// an infinite bandwidth. `forever` when the bytes will not be across within a century (a link that is down).
Duration transfer_time(double bytes, double bytes_per_s);

/// transfer_time() never returns longer than this, except for `forever`.
constexpr Duration longest_transfer{4'000'000'000'000'000'000};
constexpr Duration forever{std::numeric_limits<std::int64_t>::max()};

/// A remainder that went through floating point is taken as moved when less than this is left: under a hundredth of a
/// bit. Without it, a split transfer would end a nanosecond later than a whole one.
constexpr double negligible_bytes = 1.0 / 1024;

}  // namespace kvsim::engine
