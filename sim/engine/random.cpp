#include "sim/engine/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "sim/engine/invariant.h"

namespace kvsim::engine {
namespace {

// FNV-1a, 64 bits.
std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}

std::uint64_t multiply_high(std::uint64_t a, std::uint64_t b, std::uint64_t& low) {
  __extension__ typedef unsigned __int128 Wide;
  const Wide product = Wide{a} * b;
  low = static_cast<std::uint64_t>(product);
  return static_cast<std::uint64_t>(product >> 64);
}

// Logarithm of a gamma variate with this shape and scale 1. In logarithms, because a small shape draws values that
// no double holds. G. Marsaglia and W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26(3),
// 2000; for shape < 1 their section 6: gamma(shape) = gamma(shape + 1) u^(1/shape).
double log_standard_gamma(RandomStream& stream, double shape) {
  if (shape < 1) {
    const double boosted = log_standard_gamma(stream, shape + 1);
    return boosted + std::log(stream.uniform_open()) / shape;
  }
  const double d = shape - 1.0 / 3.0;
  const double c = 1.0 / std::sqrt(9.0 * d);
  while (true) {
    const double x = stream.normal();
    const double root = 1.0 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(stream.uniform_open()) < 0.5 * x * x + d - d * v + d * std::log(v)) return std::log(d * v);
  }
}

// log(1 + x) / x and (exp(x) - 1) / x, continued through x = 0.
double log1p_over(double x) {
  return std::abs(x) > 1e-8 ? std::log1p(x) / x : 1 - x * (0.5 - x / 3);
}
double expm1_over(double x) {
  return std::abs(x) > 1e-8 ? std::expm1(x) / x : 1 + x * (0.5 + x / 6);
}

}  // namespace

std::array<std::uint32_t, 4> philox4x32_10(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {high_word(p1) ^ counter[1] ^ key[0], low_word(p1), high_word(p0) ^ counter[3] ^ key[1], low_word(p0)};
    key[0] += 0x9E3779B9;  // golden ratio
    key[1] += 0xBB67AE85;  // sqrt(3) - 1
  }
  return counter;
}

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t index) : stream_index_(index) {
  // The key is itself a Philox block of (name, seed), so that seeds that differ in one bit share nothing. The index
  // goes into the counter: streams of one name never overlap.
  const std::uint64_t hash = hash_of(name);
  const auto mixed = philox4x32_10({low_word(hash), high_word(hash), low_word(seed), high_word(seed)}, {0, 0});
  key_ = {mixed[0], mixed[1]};
}

std::uint64_t RandomStream::next_u64() {
  if (buffered_ == 0) {
    const auto words =
        philox4x32_10({low_word(block_), high_word(block_), low_word(stream_index_), high_word(stream_index_)}, key_);
    ++block_;
    buffer_ = {std::uint64_t{words[3]} << 32 | words[2], std::uint64_t{words[1]} << 32 | words[0]};
    buffered_ = 2;
  }
  return buffer_[static_cast<std::size_t>(--buffered_)];
}

double RandomStream::uniform() {
  return static_cast<double>(next_u64() >> 11) * 0x1p-53;
}

double RandomStream::uniform_open() {
  return (static_cast<double>(next_u64() >> 12) + 0.5) * 0x1p-52;
}

// D. Lemire, "Fast random integer generation in an interval", ACM TOMACS 29(1), 2019.
std::uint64_t RandomStream::below(std::uint64_t n) {
  KVSIM_ALWAYS(n >= 1, "no integer lies below 0");
  std::uint64_t low = 0;
  std::uint64_t high = multiply_high(next_u64(), n, low);
  if (low < n) {
    const std::uint64_t threshold = (0 - n) % n;  // 2^64 mod n
    while (low < threshold) high = multiply_high(next_u64(), n, low);
  }
  return high;
}

double RandomStream::exponential(double mean) {
  KVSIM_ALWAYS(mean > 0, "an exponential's mean must be positive");
  return -mean * std::log(uniform_open());
}

double RandomStream::normal() {
  const double radius = std::sqrt(-2.0 * std::log(uniform_open()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

double RandomStream::lognormal(double mean, double cv) {
  KVSIM_ALWAYS(mean > 0 && cv >= 0, "a log-normal's mean must be positive and its variation not negative");
  const double sigma_squared = std::log1p(cv * cv);
  return mean * std::exp(std::sqrt(sigma_squared) * normal() - 0.5 * sigma_squared);
}

double RandomStream::gamma(double mean, double cv) {
  KVSIM_ALWAYS(mean > 0 && cv > 0, "a gamma's mean and variation must be positive");
  return mean * cv * cv * std::exp(log_standard_gamma(*this, 1.0 / (cv * cv)));
}

double RandomStream::beta(double a, double b) {
  KVSIM_ALWAYS(a > 0 && b > 0, "a beta's parameters must be positive");
  const double log_x = log_standard_gamma(*this, a);
  const double log_y = log_standard_gamma(*this, b);
  return 1.0 / (1.0 + std::exp(log_y - log_x));  // x / (x + y)
}

// W. Hormann and G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions", ACM
// TOMACS 6(3), 1996, in their symbols: h(x) = x^-s on ranks x = 1, 2, ..., n, and H its integral.
std::uint64_t RandomStream::zipf(std::uint64_t n, double s) {
  KVSIM_ALWAYS(n >= 1 && s >= 0, "a Zipf rank needs n >= 1 and an exponent that is not negative");
  if (n == 1 || s == 0) return below(n);
  const auto h = [s](double x) { return std::exp(-s * std::log(x)); };
  const auto H = [s](double x) { return expm1_over((1 - s) * std::log(x)) * std::log(x); };  // (x^(1-s) - 1) / (1-s)
  const auto H_inverse = [s](double u) { return std::exp(log1p_over(std::max(-1.0, (1 - s) * u)) * u); };
  const double size = static_cast<double>(n);
  const double H_first = H(1.5) - 1;
  const double H_last = H(size + 0.5);
  const double squeeze = 2 - H_inverse(H(2.5) - h(2));
  while (true) {
    const double u = H_last + uniform() * (H_first - H_last);
    const double x = H_inverse(u);
    const double k = std::fmin(std::fmax(std::floor(x + 0.5), 1), size);
    if (k - x <= squeeze || u >= H(k + 0.5) - h(k)) return static_cast<std::uint64_t>(k) - 1;
  }
}

}  // namespace kvsim::engine
