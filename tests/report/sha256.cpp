#include "tests/report/sha256.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kvsim::report {
namespace {

using RoundWords = std::array<std::uint32_t, 64>;

std::vector<std::uint32_t> primes(std::size_t wanted) {
  std::vector<std::uint32_t> found;
  for (std::uint32_t n = 2; found.size() < wanted; ++n) {
    bool prime = true;
    for (const std::uint32_t p : found) prime = prime && n % p != 0;
    if (prime) found.push_back(n);
  }
  return found;
}

/// The first 32 bits behind the point.
std::uint32_t fraction(long double value) {
  return static_cast<std::uint32_t>((value - std::floor(value)) * 4294967296.0L);
}

/// The standard's constants: of the cube roots of the first 64 primes.
RoundWords constants() {
  RoundWords k{};
  const std::vector<std::uint32_t> p = primes(k.size());
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = fraction(std::cbrt(static_cast<long double>(p[i])));
  return k;
}

void mix(std::array<std::uint32_t, 8>& state, const unsigned char* block, const RoundWords& k) {
  RoundWords w{};
  for (std::size_t i = 0; i < 16; ++i) {
    for (std::size_t b = 0; b < 4; ++b) w[i] = (w[i] << 8U) | block[4 * i + b];
  }
  for (std::size_t i = 16; i < w.size(); ++i) {
    const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ (w[i - 15] >> 3U);
    const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ (w[i - 2] >> 10U);
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + k[i] + w[i];
    const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + t2;
  }
  const std::array<std::uint32_t, 8> add{a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < state.size(); ++i) state[i] += add[i];
}

std::string base64(const std::vector<unsigned char>& bytes) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) three = (three << 8U) | (i + k < bytes.size() ? bytes[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k) {
      out += i + k > bytes.size() ? '=' : letters[(three >> static_cast<unsigned>(18 - 6 * k)) & 63U];
    }
  }
  return out;
}

}  // namespace

std::string sha256_base64(std::string_view text) {
  std::vector<unsigned char> message(text.begin(), text.end());
  const std::uint64_t bits = std::uint64_t{8} * message.size();
  message.push_back(0x80);
  while (message.size() % 64 != 56) message.push_back(0);
  for (unsigned shift = 64; shift > 0; shift -= 8) {
    message.push_back(static_cast<unsigned char>((bits >> (shift - 8)) & 0xFFU));
  }
  std::array<std::uint32_t, 8> state{};
  const std::vector<std::uint32_t> p = primes(state.size());
  for (std::size_t i = 0; i < state.size(); ++i) state[i] = fraction(std::sqrt(static_cast<long double>(p[i])));
  const RoundWords k = constants();
  for (std::size_t at = 0; at < message.size(); at += 64) mix(state, message.data() + at, k);
  std::vector<unsigned char> digest;
  for (const std::uint32_t word : state) {
    for (unsigned shift = 32; shift > 0; shift -= 8) {
      digest.push_back(static_cast<unsigned char>((word >> (shift - 8)) & 0xFFU));
    }
  }
  return base64(digest);
}

}  // namespace kvsim::report
