// A kernel that device memory bounds and host copies at once. Whichever is timed runs while the other one goes on from
// before its beginning until after its end: the slowdown of each is its time then over its time alone.
#include <algorithm>
#include <bit>
#include <cmath>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/kernels/random_data.h"

namespace kvsim::calibrate {
namespace {

struct InterferenceCase {
  std::string kernel;
  std::string copies;
};

/// Times `timed` on one stream while `background` (of `background_ms` alone) repeats on the other.
Spread time_against(const Session& session, const Timer::Work& timed, double timed_ms, const Timer::Work& background,
                    double background_ms) {
  const Timer& timer = session.timer;
  const Stream& stream = timer.stream();
  const Stream& other = timer.other_stream();
  const Event begin, end, started, stopped;
  // Three times as long as the timed work takes alone, and two more: it is checked below that this was enough.
  const int times = 2 + static_cast<int>(std::ceil(3 * timed_ms / background_ms));
  std::vector<double> samples;
  constexpr int kRepeats = 12;
  for (int i = 0; i <= kRepeats; ++i) {
    stop_if_interrupted();
    background(other);
    started.record(other);
    stream.wait_for(started.get());
    for (int n = 0; n < times; ++n) background(other);
    stopped.record(other);
    begin.record(stream);
    timed(stream);
    end.record(stream);
    end.synchronise();
    stopped.synchronise();
    if (i > 0 && stopped.ms_since(end) >= 0) samples.push_back(end.ms_since(begin));
  }
  if (samples.empty()) throw WrongResult("the background ended before the work that was timed against it");
  return spread_of(std::move(samples));
}

}  // namespace

CsvFile bench_interference(Session& session) {
  CsvFile file([] {
    auto columns = with_spread({"gpu", "version", "timed", "against", "bytes", "alone_ms"});
    columns.emplace_back("slowdown");
    return columns;
  }());
  constexpr std::size_t kLimit = std::size_t{256} << 20;
  const std::size_t copied =
      std::bit_floor(std::min({kLimit, session.usable_bytes() / 8, Session::usable_host_bytes() / 2}));
  const std::size_t streamed = 8 * copied <= session.usable_bytes() / 4 ? 8 * copied : copied;
  const PinnedBuffer host_in(copied), host_out(copied);
  fill_host(host_in.get(), copied, session.arguments.seed);
  const DeviceBuffer<std::byte> device_in(copied), device_out(copied);
  const DeviceBuffer<std::uint32_t> from(streamed / 4), to(streamed / 4);
  const DeviceBuffer<std::uint32_t> sums(static_cast<std::size_t>(session.blocks()));
  fill_words(from.get(), from.size(), session.arguments.seed, session.timer.stream());
  fill_words(reinterpret_cast<std::uint32_t*>(device_out.get()), copied / 4, session.arguments.seed + 1,
             session.timer.stream());

  std::vector<InterferenceCase> cases;
  for (const char* kernel : {"read", "write", "copy"}) {
    for (const char* copies : {"h2d", "d2h"}) cases.push_back({kernel, copies});
  }
  session.run_cases("interference", cases, [&](const InterferenceCase& c) {
    const Timer::Work kernel = [&](const Stream& stream) {
      if (c.kernel == "read") read_memory(from.get(), streamed, sums.get(), session.blocks(), stream);
      if (c.kernel == "write") write_memory(to.get(), streamed, 0x5eed1234, session.blocks(), stream);
      if (c.kernel == "copy") copy_memory(to.get(), from.get(), streamed, session.blocks(), stream);
    };
    const Timer::Work copy = [&](const Stream& stream) {
      if (c.copies == "h2d")
        check(cudaMemcpyAsync(device_in.get(), host_in.get(), copied, cudaMemcpyHostToDevice, stream.get()));
      if (c.copies == "d2h")
        check(cudaMemcpyAsync(host_out.get(), device_out.get(), copied, cudaMemcpyDeviceToHost, stream.get()));
    };
    const double kernel_ms = session.timer.time(kernel, Caches::cold).median;
    const double copy_ms = session.timer.time(copy, Caches::cold).median;
    const Spread slowed_kernel = time_against(session, kernel, kernel_ms, copy, copy_ms);
    const Spread slowed_copy = time_against(session, copy, copy_ms, kernel, kernel_ms);
    file.add(CsvRow(session.gpu, session.version, "kernel_" + c.kernel, c.copies, streamed, kernel_ms, slowed_kernel,
                    slowed_kernel.median / kernel_ms));
    file.add(CsvRow(session.gpu, session.version, c.copies, "kernel_" + c.kernel, copied, copy_ms, slowed_copy,
                    slowed_copy.median / copy_ms));
    if (c.copies == "h2d") {  // what came while the kernel ran is what was sent
      const auto got = device_in.download(0, copied);
      expect_same(got.data(), host_in.get(), copied, fmt::format("{} under a {} kernel", c.copies, c.kernel));
    }
    return true;
  });
  return file;
}

}  // namespace kvsim::calibrate
