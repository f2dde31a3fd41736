// Named random streams. A stream is a counter-based generator (Philox4x32-10) keyed by (seed, name, index), so that a
// draw depends on nothing but its own stream: changing one policy leaves every other stream's draws untouched.
// Distributions are our own: those of the standard library differ between platforms.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace kvsim::engine {

/// Philox4x32-10: ten rounds over a 128-bit counter with a 64-bit key. Source: J. K. Salmon et al., "Parallel random
/// numbers: as easy as 1, 2, 3", SC'11.
std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key);

class RandomStream {
 public:
  /// `name` says what is drawn ("arrivals"), `index` for whom (a request's number).
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index = 0);

  std::uint64_t next_u64();
  /// Uniform on [0, 1) with 53 bits.
  double uniform();
  /// Uniform on (0, 1): safe under a logarithm.
  double uniform_open();
  /// Uniform integer in [0, n), unbiased; n >= 1.
  std::uint64_t below(std::uint64_t n);

  /// mean > 0.
  double exponential(double mean);
  /// Mean 0, variance 1 (Box-Muller; one value a call, so that draws and calls stay in step).
  double normal();
  /// Log-normal with this mean (> 0) and coefficient of variation (>= 0), of the values themselves, not their logs.
  double lognormal(double mean, double cv);
  /// Gamma with this mean (> 0) and coefficient of variation (> 0) (Marsaglia-Tsang, 2000).
  double gamma(double mean, double cv);
  /// Beta(a, b), a, b > 0, as a ratio of gammas.
  double beta(double a, double b);
  /// Zipf rank in [0, n): P(k) proportional to 1/(k+1)^s, s >= 0 (rejection-inversion, Hormann and Derflinger 1996).
  std::uint64_t zipf(std::uint64_t n, double s);

 private:
  std::array<std::uint32_t, 2> key_{};
  std::uint64_t stream_index_ = 0;
  std::uint64_t block_ = 0;
  std::array<std::uint64_t, 2> buffer_{};
  int buffered_ = 0;
};

}  // namespace kvsim::engine
