// Launches are timed many at once and divided; the pair of events alone tells what to subtract from short kernels.
#include <chrono>

#include "tools/calibrate/cuda/benches.h"
#include "tools/calibrate/cuda/kernels.h"

namespace kvsim::calibrate {
namespace {

constexpr int kLaunches = 500;

Spread divided(const Spread& spread, double by) {
  return {spread.median / by, spread.p10 / by, spread.p90 / by, spread.repeats};
}

/// Milliseconds of the CPU per call of `work`.
template <class Work>
Spread host_time(const Stream& stream, int calls, const Work& work) {
  std::vector<double> samples;
  constexpr int kRepeats = 30;
  for (int i = 0; i <= kRepeats; ++i) {
    stop_if_interrupted();
    const auto begin = std::chrono::steady_clock::now();
    for (int call = 0; call < calls; ++call) work();
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - begin;
    stream.synchronise();
    if (i > 0) samples.push_back(elapsed.count() / calls);
  }
  return spread_of(samples);
}

}  // namespace

CsvFile bench_launch(Session& session) {
  CsvFile file(with_spread({"gpu", "version", "what", "launches"}));
  const Timer& timer = session.timer;
  const auto add = [&](const char* what, int launches, const Spread& spread) {
    file.add(CsvRow(session.gpu, session.version, what, launches, spread));
  };
  const auto chain = [](const Stream& stream) {
    for (int i = 0; i < kLaunches; ++i) empty_kernel(stream);
  };
  add("event_pair", 0, timer.time([](const Stream&) {}, Caches::warm));
  add("kernel_alone", 1, timer.time([](const Stream& stream) { empty_kernel(stream); }, Caches::warm));
  add("kernel_in_stream", kLaunches, divided(timer.time(chain, Caches::warm), kLaunches));
  const Graph graph(timer.stream(), chain);
  const auto replay = [&](const Stream& stream) { graph.launch(stream); };
  add("kernel_in_graph", kLaunches, divided(timer.time(replay, Caches::warm), kLaunches));
  add("host_per_launch", 100, host_time(timer.stream(), 100, [&] { empty_kernel(timer.stream()); }));
  add("host_per_graph", kLaunches, host_time(timer.stream(), 1, [&] { graph.launch(timer.stream()); }));
  return file;
}

}  // namespace kvsim::calibrate
