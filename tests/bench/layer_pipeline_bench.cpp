// A forward pass whose layers wait for KV on its way: in closed form, against an event for every layer and transfer
// (the baseline, LayersStepByStep). Both run the same steps; the ratio is that of their times an iteration.
#include <benchmark/benchmark.h>

#include <memory>

#include "sim/serving/layer_pipeline.h"
#include "tests/transport/own_link.h"

namespace {

using namespace kvsim;
using engine::Callback;
using serving::FetchTime;

class Steps {
 public:
  Steps(FetchTime fetches, std::int64_t layers, bool planned) {
    const transport::LinkConfig link{.name = "link", .bytes_per_s = 55e9, .latency = {1000}, .setup = {630}};
    const serving::LayerPipelineConfig config{layers, fetches, std::min<std::int64_t>(layers, 2)};
    if (planned) {
      auto a = std::make_unique<transport::PlannedLink>(simulator_, nullptr, link.lane(), link.bytes_per_s);
      auto b = std::make_unique<transport::PlannedLink>(simulator_, nullptr, link.lane(), link.bytes_per_s);
      pipeline_ = serving::make_planned_layers(simulator_, config, *a, *b);
      to_gpu_ = std::move(a);
      to_host_ = std::move(b);
    } else {
      to_gpu_ = transport::make_link(simulator_, link);
      to_host_ = transport::make_link(simulator_, link);
      pipeline_ = serving::make_simulated_layers(gpus_, config, *to_gpu_, *to_host_);
    }
    step_.before = {90'000};
    step_.scoring = {40'000};
    step_.attention = {80'000};
    step_.after = {250'000};
    step_.tail = {900'000};
    step_.offload_bytes = 400'000;
    step_.waits = true;
  }

  void run() {
    ended_ = false;
    // Neither too short nor too long: some steps wait and some do not.
    step_.fetch_bytes = 15'000'000 + 1'000'000 * (steps_++ % 16);
    pipeline_->start(step_, Callback::to<&Steps::on_end>(this));
    while (!ended_) simulator_.step();
  }

 private:
  void on_end() { ended_ = true; }

  engine::Simulator simulator_;
  machine::GpuWork gpus_{simulator_};
  std::unique_ptr<transport::Link> to_gpu_, to_host_;
  std::unique_ptr<serving::LayerPipeline> pipeline_;
  serving::LayerStep step_;
  std::int64_t steps_ = 0;
  bool ended_ = false;
};

void run(benchmark::State& state, FetchTime fetches, bool planned) {
  Steps steps(fetches, state.range(0), planned);
  for (auto _ : state) steps.run();
}

void LayersStepByStep(benchmark::State& state, FetchTime fetches) {
  run(state, fetches, false);
}
void LayersInClosedForm(benchmark::State& state, FetchTime fetches) {
  run(state, fetches, true);
}

BENCHMARK_CAPTURE(LayersStepByStep, speculative, FetchTime::next_step)->Arg(32)->Arg(80);
BENCHMARK_CAPTURE(LayersInClosedForm, speculative, FetchTime::next_step)->Arg(32)->Arg(80);
BENCHMARK_CAPTURE(LayersStepByStep, on_demand, FetchTime::on_demand)->Arg(32)->Arg(80);
BENCHMARK_CAPTURE(LayersInClosedForm, on_demand, FetchTime::on_demand)->Arg(32)->Arg(80);
BENCHMARK_CAPTURE(LayersStepByStep, streamed, FetchTime::next_layers)->Arg(32)->Arg(80);
BENCHMARK_CAPTURE(LayersInClosedForm, streamed, FetchTime::next_layers)->Arg(32)->Arg(80);

}  // namespace
