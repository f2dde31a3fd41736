// Quantising KV as it is made, and giving it back at full width.
#include <bit>
#include <cmath>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/quantised.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

struct QuantiseCase {
  KvBits kv;
  std::int64_t vectors = 0;

  /// Bytes of scales and offsets.
  [[nodiscard]] std::int64_t scale_words() const {
    return kv.keys_by_channel ? vectors / kChannelTokens * kChannelWords : vectors * kGroups;
  }
};

struct Buffers {
  DeviceBuffer<Bf16> values, restored;
  DeviceBuffer<std::uint32_t> words, scales;
};

void launch(const KvBits& kv, bool back, const Buffers& b, std::int64_t vectors, const Stream& stream) {
  if (back) {
    dequantise_vectors(kv, b.words.get(), b.scales.get(), b.restored.get(), vectors, stream.get());
  } else {
    quantise_vectors(kv, b.values.get(), b.words.get(), b.scales.get(), vectors, stream.get());
  }
}

/// After both kernels: some vectors are what the original was, within half a step and the roundings. The elements that
/// share a scale are a group of the vector, or the channel of the tokens around it.
void verify(const QuantiseCase& c, const Buffers& b, std::uint64_t seed) {
  const auto original = [&](std::int64_t vector, int element) {
    return random_value(seed, static_cast<std::uint64_t>(vector * kHeadDim + element));
  };
  for (const std::int64_t vector : {std::int64_t{0}, c.vectors / 2, c.vectors - 1}) {
    const auto restored = b.restored.download(static_cast<std::size_t>(vector * kHeadDim), kHeadDim);
    for (int element = 0; element < kHeadDim; ++element) {
      float low = INFINITY, high = -INFINITY;
      const auto see = [&](float value) {
        low = std::min(low, value);
        high = std::max(high, value);
      };
      if (c.kv.keys_by_channel) {
        const std::int64_t first = vector - vector % kChannelTokens;
        for (int t = 0; t < kChannelTokens; ++t) see(original(first + t, element));
      } else {
        for (int i = 0; i < kGroup; ++i) see(original(vector, element - element % kGroup + i));
      }
      const float step = (high - low) / static_cast<float>((1 << c.kv.bits) - 1);
      const float got = from_bf16(restored[static_cast<std::size_t>(element)]);
      constexpr float roundings = 0.05F;
      if (!(std::abs(got - original(vector, element)) <= step / 2 + roundings)) {
        throw WrongResult(fmt::format("{} bits, {} vectors, scales by {}: element {} of vector {} is {} and was {}",
                                      c.kv.bits, c.vectors, c.kv.keys_by_channel ? "channel" : "token", element, vector,
                                      got, original(vector, element)));
      }
    }
  }
}

}  // namespace

CsvFile bench_quantise(Session& session) {
  CsvFile file([] {
    auto columns =
        with_spread({"gpu", "version", "operation", "bits", "group", "vectors", "bytes_full", "bytes_packed"});
    columns.emplace_back("gb_per_s");
    columns.emplace_back("scales");
    return columns;
  }());
  // Twice in full, packed, scales by channel, which are more than by token.
  constexpr std::size_t kBytesEach = 2 * (2 * kHeadDim) + kHeadDim / 2 + 4 * kChannelWords / kChannelTokens;
  const std::int64_t most = std::min<std::int64_t>(
      std::int64_t{1} << 22, static_cast<std::int64_t>(std::bit_floor(session.usable_bytes() / kBytesEach)));
  const auto vectors = static_cast<std::size_t>(most);
  const Buffers buffers{DeviceBuffer<Bf16>(vectors * kHeadDim), DeviceBuffer<Bf16>(vectors * kHeadDim),
                        DeviceBuffer<std::uint32_t>(vectors * Packing<4>::kWords),
                        DeviceBuffer<std::uint32_t>(vectors / kChannelTokens * kChannelWords)};
  fill_values(buffers.values.get(), buffers.values.size(), session.arguments.seed, session.timer.stream());
  std::vector<QuantiseCase> cases;
  for (const int bits : {4, 2, 1}) {
    for (const std::int64_t count : sizes_between(kChannelBlockVectors, most, session.arguments.quick)) {
      for (const bool by_channel : {false, true}) cases.push_back({{bits, by_channel}, count});
    }
  }
  session.run_cases("quantise", cases, [&](const QuantiseCase& c) {
    const std::int64_t full = c.vectors * kHeadDim * 2;
    const std::int64_t packed = c.vectors * kHeadDim * c.kv.bits / 8 + c.scale_words() * 4;
    for (const bool back : {false, true}) launch(c.kv, back, buffers, c.vectors, session.timer.stream());
    verify(c, buffers, session.arguments.seed);
    for (const bool back : {false, true}) {
      const auto work = [&](const Stream& stream) { launch(c.kv, back, buffers, c.vectors, stream); };
      const Spread spread = session.timer.time(work, Caches::cold);
      file.add(CsvRow(session.gpu, session.version, back ? "dequantise" : "quantise", c.kv.bits,
                      c.kv.keys_by_channel ? kChannelTokens : kGroup, c.vectors, full, packed, spread,
                      static_cast<double>(full + packed) / spread.median / 1e6,
                      c.kv.keys_by_channel ? "channel" : "token"));
    }
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
