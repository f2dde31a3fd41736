// Completions per second of one fair-share lane with a constant number of transfers under way: in proportion to one
// over that number, because the rates of all are worked out anew when one comes or goes.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <memory>

#include "sim/engine/random.h"
#include "tests/transport/own_link.h"

namespace {

using namespace kvsim::engine;
using namespace kvsim::transport;

// Every completion starts another transfer.
class ClosedLoop {
 public:
  explicit ClosedLoop(std::int64_t flows)
      : link_(make_link(
            simulator_,
            {.name = "link", .bytes_per_s = 1e11, .latency = {}, .setup = {}, .queueing = Queueing::fair_share},
            nullptr)) {
    for (std::int64_t i = 0; i < flows; ++i) submit();
  }

  void complete(std::uint64_t transfers) {
    const std::uint64_t target = completed_ + transfers;
    while (completed_ < target) simulator_.step();
  }

 private:
  void submit() {
    const auto bytes = 1 + static_cast<std::int64_t>(sizes_.exponential(1e6));
    link_->submit({.bytes = bytes, .on_complete = Callback::to<&ClosedLoop::on_complete>(this)});
  }

  void on_complete() {
    ++completed_;
    submit();
  }

  Simulator simulator_;
  RandomStream sizes_{1, "sizes"};
  std::unique_ptr<OwnLink> link_;
  std::uint64_t completed_ = 0;
};

void fair_share_completions(benchmark::State& state) {
  ClosedLoop loop(state.range(0));
  loop.complete(static_cast<std::uint64_t>(2 * state.range(0)));
  constexpr std::uint64_t slice = 10'000;
  for (auto _ : state) loop.complete(slice);
  state.SetItemsProcessed(static_cast<std::int64_t>(slice) * static_cast<std::int64_t>(state.iterations()));
}

BENCHMARK(fair_share_completions)->Arg(10)->Arg(100)->Arg(1'000)->Arg(10'000);

}  // namespace
