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
  int bits = 4;
  std::int64_t vectors = 0;
};

struct Buffers {
  DeviceBuffer<Bf16> values, restored;
  DeviceBuffer<std::uint32_t> words, scales;
};

void launch(int bits, bool back, const Buffers& b, std::int64_t vectors, const Stream& stream) {
  if (back) {
    dequantise_vectors(bits, b.words.get(), b.scales.get(), b.restored.get(), vectors, stream.get());
  } else {
    quantise_vectors(bits, b.values.get(), b.words.get(), b.scales.get(), vectors, stream.get());
  }
}

/// After both kernels: the groups at the ends are what the original was, within half a step and the roundings.
void verify(const QuantiseCase& c, const Buffers& b, std::uint64_t seed) {
  for (const std::int64_t vector : {std::int64_t{0}, c.vectors / 2, c.vectors - 1}) {
    const auto restored = b.restored.download(static_cast<std::size_t>(vector * kHeadDim), kHeadDim);
    for (int group = 0; group < kGroups; ++group) {
      float low = INFINITY, high = -INFINITY;
      const auto original = [&](int i) {
        return random_value(seed, static_cast<std::uint64_t>(vector * kHeadDim + group * kGroup + i));
      };
      for (int i = 0; i < kGroup; ++i) {
        low = std::min(low, original(i));
        high = std::max(high, original(i));
      }
      const float step = (high - low) / static_cast<float>((1 << c.bits) - 1);
      for (int i = 0; i < kGroup; ++i) {
        const float got = from_bf16(restored[static_cast<std::size_t>(group * kGroup + i)]);
        constexpr float roundings = 0.05F;
        if (!(std::abs(got - original(i)) <= step / 2 + roundings)) {
          throw WrongResult(fmt::format("{} bits, {} vectors: element {} of vector {} is {} and was {}", c.bits,
                                        c.vectors, group * kGroup + i, vector, got, original(i)));
        }
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
    return columns;
  }());
  constexpr std::size_t kBytesEach = 2 * (2 * kHeadDim) + kHeadDim / 2 + 4 * kGroups;  // twice in full, packed, scales
  const std::int64_t most = std::min<std::int64_t>(
      std::int64_t{1} << 22, static_cast<std::int64_t>(std::bit_floor(session.usable_bytes() / kBytesEach)));
  const auto vectors = static_cast<std::size_t>(most);
  const Buffers buffers{DeviceBuffer<Bf16>(vectors * kHeadDim), DeviceBuffer<Bf16>(vectors * kHeadDim),
                        DeviceBuffer<std::uint32_t>(vectors * Packing<4>::kWords),
                        DeviceBuffer<std::uint32_t>(vectors * kGroups)};
  fill_values(buffers.values.get(), buffers.values.size(), session.arguments.seed, session.timer.stream());
  std::vector<QuantiseCase> cases;
  for (const int bits : {4, 2, 1}) {
    for (const std::int64_t count : sizes_between(256, most, session.arguments.quick)) cases.push_back({bits, count});
  }
  session.run_cases("quantise", cases, [&](const QuantiseCase& c) {
    const std::int64_t full = c.vectors * kHeadDim * 2;
    const std::int64_t packed = c.vectors * (kHeadDim * c.bits / 8 + kGroups * 4);
    for (const bool back : {false, true}) launch(c.bits, back, buffers, c.vectors, session.timer.stream());
    verify(c, buffers, session.arguments.seed);
    for (const bool back : {false, true}) {
      const auto work = [&](const Stream& stream) { launch(c.bits, back, buffers, c.vectors, stream); };
      const Spread spread = session.timer.time(work, Caches::cold);
      file.add(CsvRow(session.gpu, session.version, back ? "dequantise" : "quantise", c.bits, kGroup, c.vectors, full,
                      packed, spread, static_cast<double>(full + packed) / spread.median / 1e6));
    }
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
