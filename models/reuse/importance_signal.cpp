#include "models/reuse/importance_signal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "models/schema/error.h"

namespace kvsim::models {
namespace {

void check(const ImportanceShape& shape) {
  if (!(shape.correlation >= 0 && shape.correlation < 1)) {
    throw schema::InputError(fmt::format("correlation is {}, expected at least 0, below 1", shape.correlation));
  }
  if (!(shape.cv > 0 && shape.cv <= 100)) {
    throw schema::InputError(fmt::format("cv is {}, expected above 0, at most 100", shape.cv));
  }
}

}  // namespace

std::vector<float> generated_importance(std::int64_t tokens, const ImportanceShape& shape, RandomSource& random) {
  check(shape);
  // ln I = sigma x - sigma^2 / 2 with x ~ N(0, 1) has E[I] = 1 and cv^2 = exp(sigma^2) - 1; x' = c x + sqrt(1 - c^2) z
  // is N(0, 1) again.
  const double variance = std::log1p(shape.cv * shape.cv);
  const double sigma = std::sqrt(variance);
  const double innovation = std::sqrt(1 - shape.correlation * shape.correlation);
  std::vector<float> importance(static_cast<std::size_t>(std::max<std::int64_t>(tokens, 0)));
  double x = 0;
  for (std::size_t i = 0; i < importance.size(); ++i) {
    const double z = random.normal();
    x = i == 0 ? z : shape.correlation * x + innovation * z;
    importance[i] = static_cast<float>(std::exp(sigma * x - variance / 2));
  }
  return importance;
}

std::vector<CharacterRange> generated_offsets(std::int64_t characters, double mean, RandomSource& random) {
  constexpr std::int64_t longest_text = std::numeric_limits<std::uint32_t>::max();
  if (characters < 0 || characters > longest_text) {
    throw schema::InputError(fmt::format("a text has {} characters, expected 0 to {}", characters, longest_text));
  }
  if (!(mean >= 1 && mean <= static_cast<double>(longest_text))) {
    throw schema::InputError(
        fmt::format("a token has {} characters in the mean, expected 1 to {}", mean, longest_text));
  }
  std::vector<CharacterRange> offsets;
  offsets.reserve(static_cast<std::size_t>(1.1 * static_cast<double>(characters) / mean) + 16);
  // P(length > k) = (1 - 1/mean)^k: of u uniform on (0, 1), length = 1 + floor(ln u / ln(1 - 1/mean)).
  const double scale = mean > 1 ? 1 / std::log1p(-1 / mean) : 0;
  const auto end = static_cast<std::uint32_t>(characters);
  for (std::uint32_t begin = 0; begin < end;) {
    const double further = std::floor(std::log(random.uniform_open()) * scale);
    const std::uint32_t left = end - begin;
    const std::uint32_t length = further < static_cast<double>(left) ? 1 + static_cast<std::uint32_t>(further) : left;
    offsets.push_back({begin, begin + length});
    begin = offsets.back().end;
  }
  return offsets;
}

}  // namespace kvsim::models
