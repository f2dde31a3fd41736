// Device memory by size, with the L2 cache flushed and, for what was just read, not.
#include <bit>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

constexpr std::size_t kWord = sizeof(std::uint32_t);
constexpr std::size_t kCheckedBytes = std::size_t{64} << 20;

struct MemoryCase {
  std::string kind;
  std::size_t bytes = 0;
};

void expect(bool right, const std::string& kind, std::size_t bytes) {
  if (!right) throw WrongResult(fmt::format("{} of {} bytes: wrong data", kind, bytes));
}

/// One run of each kernel whose every word is looked at.
void verify(const Session& session, const DeviceBuffer<std::uint32_t>& from, const DeviceBuffer<std::uint32_t>& to,
            const DeviceBuffer<std::uint32_t>& sums) {
  const std::size_t bytes = std::min(kCheckedBytes, from.size() * kWord);
  const Stream& stream = session.timer.stream();
  read_memory(from.get(), bytes, sums.get(), session.blocks(), stream);
  std::uint32_t read = 0;
  for (const std::uint32_t sum : sums.download(0, sums.size())) read ^= sum;
  std::uint32_t expected = 0;
  for (std::size_t i = 0; i < bytes / kWord; ++i) expected ^= random_word(session.arguments.seed, i);
  expect(read == expected, "read", bytes);

  copy_memory(to.get(), from.get(), bytes, session.blocks(), stream);
  const auto copied = to.download(0, bytes / kWord);
  for (std::size_t i = 0; i < copied.size(); ++i)
    expect(copied[i] == random_word(session.arguments.seed, i), "copy", bytes);

  constexpr std::uint32_t word = 0x5eed1234;
  write_memory(to.get(), bytes, word, session.blocks(), stream);
  const auto written = to.download(0, bytes / kWord);
  for (std::size_t i = 0; i < written.size(); i += 4) {
    const auto low = static_cast<std::uint32_t>(i / 4);
    expect(written[i] == (word ^ low) && written[i + 1] == word + low && written[i + 2] == (~word ^ low) &&
               written[i + 3] == word - low,
           "write", bytes);
  }
}

}  // namespace

CsvFile bench_memory(Session& session) {
  CsvFile file([] {
    auto columns = with_spread({"gpu", "version", "kind", "caches", "bytes"});
    columns.emplace_back("gb_per_s");
    return columns;
  }());
  const std::size_t most = std::bit_floor(std::min<std::size_t>(session.usable_bytes() / 2, std::size_t{4} << 30));
  const DeviceBuffer<std::uint32_t> from(most / kWord), to(most / kWord);
  const DeviceBuffer<std::uint32_t> sums(static_cast<std::size_t>(session.blocks()));
  fill_words(from.get(), from.size(), session.arguments.seed, session.timer.stream());
  verify(session, from, to, sums);

  std::vector<MemoryCase> cases;
  for (const char* kind : {"read", "write", "copy"}) {
    for (const std::int64_t bytes : sizes_between(1 << 16, static_cast<std::int64_t>(most), session.arguments.quick)) {
      cases.push_back({kind, static_cast<std::size_t>(bytes)});
    }
  }
  session.run_cases("memory", cases, [&](const MemoryCase& c) {
    const auto work = [&](const Stream& stream) {
      if (c.kind == "read") read_memory(from.get(), c.bytes, sums.get(), session.blocks(), stream);
      if (c.kind == "write") write_memory(to.get(), c.bytes, 0x5eed1234, session.blocks(), stream);
      if (c.kind == "copy") copy_memory(to.get(), from.get(), c.bytes, session.blocks(), stream);
    };
    for (const Caches caches : {Caches::cold, Caches::warm}) {
      const Spread spread = session.timer.time(work, caches);
      const double moved = static_cast<double>(c.bytes) * (c.kind == "copy" ? 2 : 1);  // read and written
      file.add(CsvRow(session.gpu, session.version, c.kind, caches == Caches::cold ? "cold" : "warm", c.bytes, spread,
                      moved / spread.median / 1e6));
    }
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
