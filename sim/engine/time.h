// Simulated time: integer nanoseconds in two strong types, so that a point in time and a span are never confused and
// no simulated instant depends on floating-point rounding order.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace kvsim::engine {

/// A span of simulated time in nanoseconds. May be negative as an intermediate of arithmetic.
struct Duration {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const Duration&) const = default;
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  constexpr Duration& operator+=(Duration d) {
    ns += d.ns;
    return *this;
  }
};

constexpr Duration operator+(Duration a, Duration b) {
  return {a.ns + b.ns};
}
constexpr Duration operator-(Duration a, Duration b) {
  return {a.ns - b.ns};
}
constexpr Duration operator*(Duration a, std::int64_t n) {
  return {a.ns * n};
}

/// A point in simulated time, in nanoseconds since the start of the run.
struct SimTime {
  std::int64_t ns = 0;

  constexpr auto operator<=>(const SimTime&) const = default;
  [[nodiscard]] constexpr double seconds() const { return static_cast<double>(ns) * 1e-9; }
  static constexpr SimTime never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

constexpr SimTime operator+(SimTime t, Duration d) {
  return {t.ns + d.ns};
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

}  // namespace kvsim::engine
