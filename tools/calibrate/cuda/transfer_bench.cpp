// Between host and device memory by size, one way and both ways at once, from page-locked and from ordinary memory.
#include <bit>
#include <memory>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

struct TransferCase {
  bool pinned = true;
  std::size_t bytes = 0;
};

void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, const Stream& stream) {
  check(cudaMemcpyAsync(to, from, bytes, kind, stream.get()));
}

}  // namespace

CsvFile bench_transfer(Session& session) {
  CsvFile file([] {
    auto columns = with_spread({"gpu", "version", "direction", "host_memory", "bytes"});
    columns.emplace_back("gb_per_s");
    return columns;
  }());
  const std::size_t limit = session.arguments.quick ? std::size_t{64} << 20 : std::size_t{1} << 30;
  const std::size_t most =
      std::bit_floor(std::min({limit, session.usable_bytes() / 2, Session::usable_host_bytes() / 4}));
  const PinnedBuffer pinned_in(most), pinned_out(most);
  std::vector<std::byte> pageable_in(most), pageable_out(most);
  const DeviceBuffer<std::byte> device_in(most), device_out(most);
  fill_host(pinned_in.get(), most, session.arguments.seed);
  fill_host(pageable_in.data(), most, session.arguments.seed + 1);
  const Stream& stream = session.timer.stream();

  std::vector<TransferCase> cases;
  for (const std::int64_t bytes : sizes_between(4096, static_cast<std::int64_t>(most), session.arguments.quick)) {
    cases.push_back({true, static_cast<std::size_t>(bytes)});
    cases.push_back({false, static_cast<std::size_t>(bytes)});
  }
  session.run_cases("transfer", cases, [&](const TransferCase& c) {
    std::byte* const in = c.pinned ? pinned_in.get() : pageable_in.data();
    std::byte* const out = c.pinned ? pinned_out.get() : pageable_out.data();
    const char* const memory = c.pinned ? "pinned" : "pageable";
    const auto down = [&](const Stream& s) { copy(device_in.get(), in, c.bytes, cudaMemcpyHostToDevice, s); };
    const auto up = [&](const Stream& s) { copy(out, device_out.get(), c.bytes, cudaMemcpyDeviceToHost, s); };
    const auto add = [&](const char* direction, const Spread& spread) {
      file.add(CsvRow(session.gpu, session.version, direction, memory, c.bytes, spread,
                      static_cast<double>(c.bytes) / spread.median / 1e6));
    };
    // There and back: what left the host must come home.
    down(stream);
    check(cudaMemcpyAsync(device_out.get(), device_in.get(), c.bytes, cudaMemcpyDeviceToDevice, stream.get()));
    up(stream);
    stream.synchronise();
    expect_same(out, in, c.bytes, fmt::format("{} bytes to the device and back ({})", c.bytes, memory));
    add("h2d", session.timer.time(down, Caches::warm));
    add("d2h", session.timer.time(up, Caches::warm));
    if (c.pinned) {  // from ordinary memory the CPU would take part in both and they would not overlap
      const auto [with_up, with_down] = session.timer.time_both(down, up);
      add("h2d_with_d2h", with_up);
      add("d2h_with_h2d", with_down);
    }
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
