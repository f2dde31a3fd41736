// The routed experts of one layer: a gated product of every pair of a token and an expert, and the product back, with
// cold weights.
#include <algorithm>
#include <cmath>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/host/reference.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

/// Where the operands of a case lie in one buffer of random values, in elements.
struct Operands {
  explicit Operands(const ExpertCase& c)
      : up(c.tokens * c.shape.hidden),
        down(up + c.shape.experts_here() * 2 * c.shape.intermediate * c.shape.hidden),
        end(down + c.shape.experts_here() * c.shape.hidden * c.shape.intermediate) {}
  std::int64_t up;    ///< gate and up of every expert, behind the tokens; their columns take turns
  std::int64_t down;  ///< and the product back
  std::int64_t end;
};

std::int64_t pairs_of(const ExpertCase& c) {
  return (c.tokens * c.shape.top_k + c.shape.expert_parallel - 1) / c.shape.expert_parallel;
}

/// Elements that the two products write.
std::int64_t written_by(const ExpertCase& c) {
  return pairs_of(c) * (c.shape.intermediate + c.shape.hidden);
}

/// Some elements of both products; the second one's input is what the first wrote.
void verify(const ExpertCase& c, const Routing& routing, const DeviceBuffer<Bf16>& output, std::uint64_t seed) {
  constexpr int kChecked = 12;
  const std::int64_t hidden = c.shape.hidden, intermediate = c.shape.intermediate;
  const Operands at(c);
  const std::int64_t pairs = pairs_of(c);
  const auto value = [seed](std::int64_t i) {
    return static_cast<double>(random_value(seed, static_cast<std::uint64_t>(i)));
  };
  std::vector<float> got;
  std::vector<double> expected;
  const auto check_all = [&](const char* product) {
    constexpr double tolerance = 0.02;
    const std::string wrong = compare_row(got, expected, tolerance);
    if (!wrong.empty()) {
      throw WrongResult(fmt::format("{} tokens, {} of {} experts of {} x {}, {}: {}", c.tokens, c.shape.top_k,
                                    c.shape.experts, hidden, intermediate, product, wrong));
    }
    got.clear();
    expected.clear();
  };
  for (const bool back : {false, true}) {
    for (int i = 0; i < kChecked; ++i) {
      const std::uint64_t random = random_bits(seed + 7, static_cast<std::uint64_t>(i));
      const ExpertTile& tile = routing.tiles[i == 0 ? routing.tiles.size() - 1 : random % routing.tiles.size()];
      const int row = tile.first + (i == 0 ? tile.rows - 1
                                           : static_cast<int>((random >> 16) % static_cast<std::uint64_t>(tile.rows)));
      const std::int64_t columns = back ? hidden : intermediate;
      const std::int64_t column = i == 0 ? columns - 1 : static_cast<std::int64_t>(random >> 32) % columns;
      if (back) {
        const auto inner =
            output.download(static_cast<std::size_t>(row * intermediate), static_cast<std::size_t>(intermediate));
        const std::int64_t weight = at.down + (tile.expert * hidden + column) * intermediate;
        double sum = 0;
        for (std::int64_t k = 0; k < intermediate; ++k)
          sum += static_cast<double>(from_bf16(inner[static_cast<std::size_t>(k)])) * value(weight + k);
        expected.push_back(sum);
      } else {
        const std::int64_t token = routing.sources[static_cast<std::size_t>(row)] * hidden;
        const std::int64_t weight = at.up + (tile.expert * intermediate + column) * 2 * hidden;
        double gate = 0, up = 0;
        for (std::int64_t k = 0; k < hidden; ++k) {
          gate += value(token + k) * value(weight + k);
          up += value(token + k) * value(weight + hidden + k);
        }
        expected.push_back(gate / (1 + std::exp(-gate)) * up);
      }
      const std::int64_t place = (back ? pairs * intermediate : 0) + row * columns + column;
      got.push_back(from_bf16(output.download(static_cast<std::size_t>(place), 1).front()));
    }
    check_all(back ? "down" : "gate and up");
  }
}

}  // namespace

CsvFile bench_experts(Session& session) {
  CsvFile file(with_spread({"gpu", "framework", "version", "kernel", "dtype", "m_tokens", "hidden", "intermediate",
                            "top_k", "experts", "moe_tp", "moe_ep", "distribution"}));
  const auto all = expert_cases(session.models, session.arguments.quick);
  const auto limit = static_cast<std::int64_t>(session.usable_bytes() / sizeof(Bf16));
  std::vector<ExpertCase> cases;
  std::int64_t operands = 0, written = 0;
  for (const ExpertCase& c : all) {
    constexpr std::int64_t kRoom = 16;  // of the memory for what is written, at most a part
    if (Operands(c).end > limit - limit / kRoom || written_by(c) > limit / kRoom) continue;
    cases.push_back(c);
    operands = std::max(operands, Operands(c).end);
    written = std::max(written, written_by(c));
  }
  if (cases.size() < all.size())
    session.note("experts",
                 fmt::format("{} of {} cases do not fit into memory", all.size() - cases.size(), all.size()));
  const Stream& stream = session.timer.stream();
  const DeviceBuffer<Bf16> input(static_cast<std::size_t>(operands)), output(static_cast<std::size_t>(written));
  fill_values(input.get(), input.size(), session.arguments.seed, stream);
  session.run_cases("experts", cases, [&](const ExpertCase& c) {
    const Routing routing = route_evenly(c);
    const DeviceBuffer<int> sources{std::span<const int>(routing.sources)};
    const DeviceBuffer<ExpertTile> tiles{std::span<const ExpertTile>(routing.tiles)};
    const Operands at(c);
    Bf16* const inner = output.get();
    const ExpertArgs up{input.get(),
                        input.get() + at.up,
                        inner,
                        sources.get(),
                        tiles.get(),
                        static_cast<int>(2 * c.shape.intermediate),
                        static_cast<int>(c.shape.hidden)};
    const ExpertArgs down{inner,
                          input.get() + at.down,
                          inner + pairs_of(c) * c.shape.intermediate,
                          nullptr,
                          tiles.get(),
                          static_cast<int>(c.shape.hidden),
                          static_cast<int>(c.shape.intermediate)};
    const int count = static_cast<int>(routing.tiles.size());
    check(cudaMemsetAsync(output.get(), 0xff, output.size() * sizeof(Bf16), stream.get()));
    const auto work = [&](const Stream& s) {
      launch_grouped_product(up, count, routing.row_tiles, true, s.get());
      launch_grouped_product(down, count, routing.row_tiles, false, s.get());
    };
    work(stream);
    verify(c, routing, output, session.arguments.seed);
    file.add(CsvRow(session.gpu, "kvsim", session.version, "kvsim_grouped_mma", "bfloat16", c.tokens, c.shape.hidden,
                    c.shape.intermediate * c.shape.tensor_parallel, c.shape.top_k, c.shape.experts,
                    c.shape.tensor_parallel, c.shape.expert_parallel, "balanced",
                    session.timer.time(work, Caches::cold)));
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
