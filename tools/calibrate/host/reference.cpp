#include "tools/calibrate/host/reference.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "tools/calibrate/kernels/quantised.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

/// Levels of an element and its neighbour.
template <int kBits>
std::uint32_t levels_of(std::uint64_t seed, std::int64_t vector, int element) {
  using Layout = Packing<kBits>;
  const int even = element - element % 2;
  const std::uint32_t word =
      random_word(seed, static_cast<std::uint64_t>(vector * Layout::kWords + Layout::word_of(even)));
  return Layout::levels(word, Layout::shift_of(even));
}

float half_of(std::uint32_t pair, int element) {
  return from_bf16(static_cast<Bf16>(element % 2 == 0 ? pair & 0xffffU : pair >> 16));
}

template <int kBits>
float by_channel(std::uint64_t seed, std::int64_t vector, std::int64_t scales, int element) {
  const auto first = static_cast<std::uint64_t>(scales * kChannelWords + element - element % 2);
  return half_of(
      dequantise_channels(levels_of<kBits>(seed, vector, element), random_channel_word(seed + 1, first, kBits),
                          random_channel_word(seed + 1, first + 1, kBits)),
      element);
}

template <int kBits>
float quantised_element(std::uint64_t seed, std::int64_t vector, int element) {
  const std::uint32_t scale_offset =
      random_scale_offset(seed + 1, static_cast<std::uint64_t>(vector * kGroups + element / kGroup), kBits);
  return half_of(dequantise_pair(levels_of<kBits>(seed, vector, element), scale_offset), element);
}

}  // namespace

std::vector<double> reference_attention(std::span<const float> query, std::int64_t tokens, const VectorAt& key,
                                        const VectorAt& value, std::size_t value_size) {
  const std::size_t size = query.size();
  const double scale = 1 / std::sqrt(static_cast<double>(size));
  std::vector<float> vector(size);
  std::vector<double> scores(static_cast<std::size_t>(tokens));
  for (std::int64_t t = 0; t < tokens; ++t) {
    key(t, vector);
    double dot = 0;
    for (std::size_t i = 0; i < size; ++i) dot += static_cast<double>(query[i]) * static_cast<double>(vector[i]);
    scores[static_cast<std::size_t>(t)] = dot * scale;
  }
  const double top = scores.empty() ? 0 : *std::max_element(scores.begin(), scores.end());
  std::vector<double> result(value_size, 0.0);
  vector.resize(value_size);
  double sum = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const double weight = std::exp(scores[static_cast<std::size_t>(t)] - top);
    sum += weight;
    value(t, vector);
    for (std::size_t i = 0; i < value_size; ++i) result[i] += weight * static_cast<double>(vector[i]);
  }
  for (double& element : result) element /= sum;
  return result;
}

float pool_element(std::uint64_t seed, std::int64_t vector, int element, int bits, int head_dim) {
  switch (bits) {
    case 4:
      return quantised_element<4>(seed, vector, element);
    case 2:
      return quantised_element<2>(seed, vector, element);
    case 1:
      return quantised_element<1>(seed, vector, element);
    case 8:
      return random_coarse(seed, static_cast<std::uint64_t>(vector * head_dim + element));
    default:
      return random_value(seed, static_cast<std::uint64_t>(vector * head_dim + element));
  }
}

float channel_element(std::uint64_t seed, std::int64_t vector, std::int64_t scales, int element, int bits) {
  if (bits == 4) return by_channel<4>(seed, vector, scales, element);
  return bits == 2 ? by_channel<2>(seed, vector, scales, element) : by_channel<1>(seed, vector, scales, element);
}

std::string compare_row(std::span<const float> output, std::span<const double> reference, double relative) {
  double squares = 0;
  for (const double value : reference) squares += value * value;
  const double spread = std::sqrt(squares / static_cast<double>(std::max<std::size_t>(reference.size(), 1)));
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double error = std::abs(static_cast<double>(output[i]) - reference[i]);
    const double allowed = relative * spread + std::abs(reference[i]) / 128;
    if (!(error <= allowed)) {  // NaN is wrong too
      return fmt::format("element {} is {:.6g}, the reference says {:.6g} (allowed difference {:.2g})", i,
                         static_cast<double>(output[i]), reference[i], allowed);
    }
  }
  return {};
}

std::string check_topk(std::span<const float> scores, std::span<const int> indices) {
  std::vector<int> sorted(indices.begin(), indices.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return "an index is named twice";
  if (!sorted.empty() && (sorted.front() < 0 || static_cast<std::size_t>(sorted.back()) >= scores.size())) {
    return "an index is out of range";
  }
  std::vector<float> found;
  for (const int index : sorted) found.push_back(scores[static_cast<std::size_t>(index)]);
  std::vector<float> all(scores.begin(), scores.end());
  std::sort(found.begin(), found.end(), std::greater<>());
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(found.size()), all.end(), std::greater<>());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] < all[i]) return fmt::format("the {}-th largest is {}, found {}", i + 1, all[i], found[i]);
  }
  return {};
}

}  // namespace kvsim::calibrate
